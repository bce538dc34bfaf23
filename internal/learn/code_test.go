package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"ftracelab/machine"
	"ftracelab/workload"
)

// TestCallsAreInTheCode: where the machine calls a function, the code of the kernel does.
func TestCallsAreInTheCode(t *testing.T) {
	dir := kernel(t)
	if dir == "" {
		return
	}
	ks, err := machine.LoadKallsyms()
	if err != nil {
		t.Fatal(err)
	}
	code, err := readText(ks, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range workload.Scenarios() {
		m, err := machine.New(machine.Config{CPUs: 2, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(m); err != nil {
			t.Fatal(err)
		}
		name := func(addr uint64) string { s, _ := m.Kallsyms().At(addr); return s.Name }
		type call struct{ from, to, ret, place uint64 }
		seen := map[call]int{}
		m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
			frames := c.Frames()
			for n := len(frames) - 1; n > 0; n-- {
				f := &frames[n]
				k := call{frames[n-1].Func, f.Func, f.Parent(), 0}
				if f.Place() == frames[n-1].Place() {
					k.ret = 0
				}
				seen[k]++
				if seen[k] > 1 && n < len(frames)-1 { break }
			}
		}
		m.Run(2 * machine.Second)
		wrong := map[string]int{}
		total, bad := 0, 0
		for k, n := range seen {
			b := code.branchesOf(k.from)
			total += n
			ok := k.ret == 0 && (slices.Contains(b.jumps, k.to) || b.leaves) ||
				slices.Contains(b.calls, branch{k.to, k.ret}) ||
				slices.ContainsFunc(b.pointers, func(p pointer) bool { return p.ret == k.ret })
			if ok {
				continue
			}
			sy, _ := m.Kallsyms().At(k.from)
			bad += n
			wrong[fmt.Sprintf("%s[%s] calls %s at %#x (tail %v)", name(k.from), sy.Module, name(k.to), k.ret-k.from, k.ret == 0)] += n
		}
		t.Logf("%s: %d of %d, %d of %d", s.Name, bad, total, len(wrong), len(seen))
		for i, w := range slices.SortedFunc(maps.Keys(wrong), func(a, b string) int { return cmp.Compare(wrong[b], wrong[a]) }) {
			if i < 60 { t.Logf("%6d %s", wrong[w], w) }
		}
	}
}
