package report

import (
	"cmp"
	"slices"
	"strconv"
)

// topStacks lists the most frequent stacks of the kernel, then those of user space.
func (r *run) topStacks() []TopStack {
	out := []TopStack{}
	out = r.appendTop(out, "kernel", r.census.kernel, r.census.kernelStacks)
	return r.appendTop(out, "user", r.census.user, r.census.userStacks)
}

func (r *run) appendTop(out []TopStack, kind string, u *uniqueSet, stacks uint64) []TopStack {
	for _, i := range mostFrequent(u, max(0, r.opt.TopStacks)) {
		s := &u.stacks[i]
		t := TopStack{
			Basis: Measured, Kind: kind, Count: s.count, SharePct: pct(s.count, stacks),
			Depth: int(s.depth), Frames: []string{},
		}
		if kind == "kernel" {
			t.Bytes = s.count * kernelStackBytes(t.Depth)
		} else {
			t.Bytes = s.count * userStackBytes
		}
		t.Saved = t.Bytes - min(t.Bytes, s.count*stackIDBytes)
		for _, ip := range u.addresses(s) {
			t.Frames = append(t.Frames, r.frame(kind, ip))
		}
		out = append(out, t)
	}
	return out
}

// mostFrequent returns the indices of the n stacks with the highest counts. If counts
// are equal, the stack that was seen first comes first.
func mostFrequent(u *uniqueSet, n int) []int {
	var top []int
	for i := range u.stacks {
		if len(top) == n && (n == 0 || u.stacks[top[n-1]].count >= u.stacks[i].count) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, i, func(a, b int) int {
			return cmp.Or(cmp.Compare(u.stacks[b].count, u.stacks[a].count), cmp.Compare(a, b))
		})
		top = slices.Insert(top, at, i)
		top = top[:min(len(top), n)]
	}
	return top
}

// trampoline stands in a recorded stack for the address of an ftrace trampoline.
//
// Kernel: FTRACE_TRAMPOLINE_MARKER, kernel/trace/trace.h.
const trampoline = 0x7fffffff

// frame gives the name of an address, or the address if it has none.
func (r *run) frame(kind string, ip uint64) string {
	if kind == "kernel" && ip == trampoline {
		return "[FTRACE TRAMPOLINE]"
	}
	if r.opt.Symbols != nil {
		if name, module, off, _, ok := r.opt.Symbols.Lookup(ip); ok {
			if off != 0 {
				name += "+0x" + strconv.FormatUint(off, 16)
			}
			if module != "" {
				name += " [" + module + "]"
			}
			return name
		}
	}
	return "0x" + strconv.FormatUint(ip, 16)
}
