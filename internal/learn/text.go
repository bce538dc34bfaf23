package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"ftracelab/internal/vmlinux"
	"ftracelab/machine"
)

// text is the code of the kernel of which the captures are. It has every place from which
// a function calls another one; captures have those that were passed.
type text struct {
	ks    *machine.Kallsyms
	parts []textPart
	known map[uint64]*branches // by function
}

type textPart struct {
	addr uint64
	code []byte
}

// branches are the ways out of a function.
type branches struct {
	calls []branch // in the order of their addresses
	jumps []uint64 // the functions to which it jumps
	// pointers are calls of functions that the code does not name.
	pointers []pointer
	leaves   bool // it jumps to such a function
}

// pointer is a call through a pointer, or a static call.
type pointer struct {
	ret    uint64
	static bool
}

type branch struct{ to, ret uint64 }

// targets are the functions that it calls, and then those to which it jumps.
func (b *branches) targets() []uint64 {
	to := make([]uint64, 0, len(b.calls)+len(b.jumps))
	for _, c := range b.calls {
		to = append(to, c.to)
	}
	return append(to, b.jumps...)
}

// readText reads the code of the kernel in the package that was unpacked into dir.
func readText(ks *machine.Kallsyms, dir string) (*text, error) {
	program, err := vmlinux.Kernel(dir)
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("the kernel in %s: %w", dir, err)
	}
	t := &text{ks: ks, known: map[uint64]*branches{}}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		code, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("the kernel in %s: %s: %w", dir, s.Name, err)
		}
		t.parts = append(t.parts, textPart{s.Addr, code})
	}
	return t, nil
}

func (t *text) name(addr uint64) string { return name(t.ks, addr) }

// bytes gives size bytes of code at addr, or none if they are not in the image.
func (t *text) bytes(addr, size uint64) []byte {
	for _, p := range t.parts {
		if off := addr - p.addr; addr >= p.addr && off < uint64(len(p.code)) {
			return p.code[off:min(off+size, uint64(len(p.code)))]
		}
	}
	return nil
}

// branchesOf decodes a function, and what the compiler has put aside of it.
func (t *text) branchesOf(fn uint64) *branches {
	if b := t.known[fn]; b != nil {
		return b
	}
	b := new(branches)
	t.known[fn] = b
	s, ok := t.ks.At(fn)
	if !ok || s.Addr != fn || s.Module != "" {
		return b
	}
	pieces := []machine.Symbol{s}
	if cold, ok := t.ks.ByName(s.Name + ".cold"); ok {
		pieces = append(pieces, cold)
	}
	inside := func(addr uint64) bool {
		return slices.ContainsFunc(pieces, func(p machine.Symbol) bool { return addr-p.Addr < p.Size })
	}
	for _, p := range pieces {
		code := t.bytes(p.Addr, p.Size)
		for at := 0; at < len(code); {
			in, err := x86asm.Decode(code[at:], 64)
			if err != nil {
				at++ // data, or an instruction that is too new for the decoder
				continue
			}
			at += in.Len
			t.follow(b, in, p.Addr+uint64(at), inside)
		}
	}
	return b
}

// follow adds the branch that an instruction is; next is the address behind it.
func (t *text) follow(b *branches, in x86asm.Inst, next uint64, inside func(uint64) bool) {
	call := in.Op == x86asm.CALL
	if !call && in.Op != x86asm.JMP && !conditional(in) {
		return
	}
	rel, direct := in.Args[0].(x86asm.Rel)
	if !direct {
		if call { // becomes a direct call, which is shorter
			b.pointers = append(b.pointers, pointer{ret: next - uint64(in.Len) + directCall})
		}
		// A jump through a table stays in the function.
		return
	}
	to := next + uint64(int64(rel))
	s, ok := t.ks.At(to)
	switch {
	case inside(to) && !(call && s.Addr == to):
	case !ok:
	case call && strings.HasPrefix(s.Name, "__x86_indirect_"): // becomes an indirect call
		b.pointers = append(b.pointers, pointer{ret: next - thunkSlack})
	case strings.HasPrefix(s.Name, "__x86_indirect_"):
		b.leaves = true
	case strings.HasPrefix(s.Name, "__x86_"): // a return
	case strings.HasPrefix(s.Name, "__SCT__"):
		t.static(b, s.Name, next, call)
	case s.Addr != to:
	case call:
		b.calls = append(b.calls, branch{to, next})
	case !slices.Contains(b.jumps, to):
		b.jumps = append(b.jumps, to)
	}
}

// static adds the call of a static call's trampoline, which jumps to a function that may
// be exchanged while the kernel runs.
//
// Kernel: include/linux/static_call.h; DEFINE_STATIC_CALL of tracepoints has the iterator.
func (t *text) static(b *branches, trampoline string, next uint64, call bool) {
	name := strings.TrimPrefix(trampoline, "__SCT__")
	if event, ok := strings.CutPrefix(name, "tp_func_"); ok {
		name = "__traceiter_" + event
	}
	s, ok := t.ks.ByName(name)
	if !ok {
		s, ok = t.ks.ByName("__" + name) // cond_resched
	}
	switch {
	case !ok && !call:
		b.leaves = true
	case !ok:
		b.pointers = append(b.pointers, pointer{next, true})
	case call:
		b.calls = append(b.calls, branch{s.Addr, next})
	case !slices.Contains(b.jumps, s.Addr):
		b.jumps = append(b.jumps, s.Addr)
	}
}

// How much of an instruction is there in the file, and how much when the kernel runs.
//
// Kernel: apply_retpolines and apply_alternatives, arch/x86/kernel/alternative.c.
const (
	directCall = 5
	thunkSlack = 3
)

func conditional(in x86asm.Inst) bool {
	return in.Op >= x86asm.JA && in.Op <= x86asm.JS && in.Op != x86asm.JMP
}

// returnsTo reports whether a function that caller calls is callee, or jumps to it, or to
// one that does: then callee returns into caller. With ret, the call is the one in front of
// that address. Calls through pointers do not count.
func (t *text) returnsTo(caller, callee, ret uint64) bool {
	var next []uint64
	for _, c := range t.branchesOf(caller).calls {
		if ret == 0 || ret == c.ret {
			next = append(next, c.to)
		}
	}
	done := map[uint64]bool{}
	for len(next) > 0 {
		fn := next[0]
		next = next[1:]
		if fn == callee {
			return true
		}
		if !done[fn] {
			done[fn] = true
			next = append(next, t.branchesOf(fn).jumps...)
		}
	}
	return false
}

// withoutCoded leaves out those parents of the function tracer that the kernel's code has
// and no capture happens to show.
func withoutCoded(diffs []difference, kernel string) ([]difference, error) {
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return nil, err
	}
	code, err := readText(ks, kernel)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(diffs, func(d difference) bool {
		callee, ok := ks.ByName(d.Func)
		caller, found := ks.ByName(d.Says)
		return d.What == functionParent && ok && found && code.returnsTo(caller.Addr, callee.Addr, 0)
	}), nil
}
