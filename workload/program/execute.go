package program

import (
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// gpr gives DWARF's number of a general register, and how many bytes of it are meant.
func gpr(r x86asm.Reg) (reg, size int, ok bool) {
	order := [16]int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return order[r-x86asm.RAX], 8, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return order[r-x86asm.EAX], 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return order[r-x86asm.AX], 2, true
	}
	return 0, 0, false
}

// execute executes an instruction.
func (t *Thread) execute(in *x86asm.Inst, choose func(n int) int) error {
	at := t.regs[rip]
	next := at + uint64(in.Len)
	switch in.Op {
	case x86asm.RET:
		err := t.ret()
		if n, ok := in.Args[0].(x86asm.Imm); ok { // it takes arguments with it
			t.regs[rsp] += uint64(n)
		}
		return err
	case x86asm.CALL:
		return t.call(in, next, choose)
	case x86asm.JMP:
		return t.jump(in, next, choose)
	case x86asm.HLT, x86asm.UD1, x86asm.UD2:
		return errEnd
	case x86asm.SYSCALL:
		t.kernel = true
		return t.goOn(at, next)
	case x86asm.INT:
		if in.Args[0] != x86asm.Imm(0x80) {
			return errEnd
		}
		t.kernel = true // the system call of 32-bit programs
		return t.goOn(at, next)
	}
	if rel, ok := in.Args[0].(x86asm.Rel); ok { // a branch
		to := next + uint64(int64(rel))
		taken := choose(2) == 1
		if t.dead(next) != t.dead(to) {
			taken = t.dead(next)
		}
		if taken {
			t.regs[rip] = to
			return nil
		}
	} else if err := t.compute(in, next, choose); err != nil {
		return err
	}
	return t.goOn(at, next)
}

// goOn goes to the next instruction, which belongs to the same function unless a call
// that does not return lies between them.
func (t *Thread) goOn(from, to uint64) error {
	if t.im.function(from) != t.im.function(to) {
		return errLost
	}
	t.regs[rip] = to
	return nil
}

// dead reports whether a program ends soon when it comes to an address.
func (t *Thread) dead(at uint64) bool {
	in, err := t.decode(at)
	if err != nil {
		return true
	}
	switch in.Op {
	case x86asm.HLT, x86asm.UD1, x86asm.UD2:
		return true
	case x86asm.CALL:
		if rel, ok := in.Args[0].(x86asm.Rel); ok {
			name, _ := t.linked(at + uint64(in.Len) + uint64(int64(rel)))
			return noReturn[name]
		}
	}
	return false
}

// linked says which function of a library the code at an address jumps to, as an entry of
// the procedure linkage table does.
func (t *Thread) linked(at uint64) (string, bool) {
	for range 2 { // it may begin with endbr64
		in, err := t.decode(at)
		if err != nil {
			return "", false
		}
		at += uint64(in.Len)
		if in.Op == x86asm.JMP {
			return t.imported(in.Args[0], at)
		}
	}
	return "", false
}

// imported says which function of a library an operand holds the address of.
func (t *Thread) imported(a x86asm.Arg, next uint64) (string, bool) {
	m, ok := a.(x86asm.Mem)
	if !ok || m.Index != 0 || m.Base != x86asm.RIP && !t.im.Compat {
		return "", false
	}
	addr, ok := t.address(a, next)
	if !ok {
		return "", false
	}
	name, ok := t.im.imports[addr]
	return name, ok
}

// call executes a call.
func (t *Thread) call(in *x86asm.Inst, next uint64, choose func(n int) int) error {
	depth := t.Depth
	if depth == 0 {
		depth = 24
	}
	if rel, ok := in.Args[0].(x86asm.Rel); ok {
		to := next + uint64(int64(rel))
		// Near the limit fewer and fewer calls are entered.
		if t.im.at(to) != nil && choose(depth) >= len(t.calls) {
			return t.enter(to, next)
		}
		if name, ok := t.linked(to); ok && noReturn[name] {
			return errEnd
		}
	} else if name, ok := t.imported(in.Args[0], next); ok {
		if err := t.enter(0, next); err != nil {
			return err
		}
		return t.library(name)
	}
	t.scratch()
	return t.goOn(t.regs[rip], next)
}

// jump executes a jump: inside of a function, to another one, or into a library. An entry
// of the procedure linkage table that is used for the first time jumps to its own next
// instruction, and from there the dynamic linker is called, which goes on to the function.
// Chance decides which time it is.
func (t *Thread) jump(in *x86asm.Inst, next uint64, choose func(n int) int) error {
	if name, ok := t.imported(in.Args[0], next); ok {
		if push, err := t.decode(next); err == nil && push.Op == x86asm.PUSH && choose(4) == 0 {
			t.linking = name
			t.regs[rip] = next
			return nil
		}
		return t.library(name)
	}
	rel, ok := in.Args[0].(x86asm.Rel)
	if !ok && t.linking != "" {
		t.regs[rsp] += 2 * t.im.word // what the table has pushed
		name := t.linking
		t.linking = ""
		return t.library(name)
	}
	if !ok {
		return errors.New("a jump to a computed address")
	}
	t.regs[rip] = next + uint64(int64(rel))
	return nil
}

// scratch fills the registers that a function may change: only rbx, rbp, rsp and r12 to
// r15 outlive a call, and in a 32-bit program ebx, ebp, esp, esi and edi.
func (t *Thread) scratch() {
	lost := []int{0, 1, 2, 4, 5, 8, 9, 10, 11}
	if t.im.Compat {
		lost = lost[:3]
	}
	for _, r := range lost {
		t.regs[r] = t.any()
	}
}

// any is the number that stands for data: small, so it is no address, and always another one.
func (t *Thread) any() uint64 {
	t.noise = t.noise*6364136223846793005 + 1442695040888963407
	return t.noise >> 52 << 3
}

// compute executes an instruction that goes on with the next one.
func (t *Thread) compute(in *x86asm.Inst, next uint64, choose func(n int) int) error {
	switch in.Op {
	case x86asm.PUSH:
		return t.push(t.value(in.Args[0], next))
	case x86asm.POP:
		v, err := t.pop()
		if err != nil {
			return err
		}
		return t.set(in.Args[0], v)
	case x86asm.LEAVE:
		t.regs[rsp] = t.regs[rbp]
		v, err := t.pop()
		t.regs[rbp] = v
		return err
	case x86asm.MOV:
		return t.move(in, next)
	case x86asm.LEA:
		if addr, ok := t.address(in.Args[1], next); ok {
			return t.set(in.Args[0], addr)
		}
	case x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR:
		return t.arithmetic(in, next, choose)
	case x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.BT, x86asm.BOUND:
		return nil
	case x86asm.CPUID:
		t.regs[rbx] = t.any()
	case x86asm.ENTER, x86asm.POPF, x86asm.PUSHF, x86asm.POPFQ, x86asm.PUSHFQ, x86asm.IRETQ, x86asm.LRET, x86asm.LCALL, x86asm.LJMP,
		x86asm.PUSHA, x86asm.PUSHAD, x86asm.POPA, x86asm.POPAD, x86asm.PUSHFD, x86asm.POPFD, x86asm.IRETD:
		return fmt.Errorf("%v is not known", in.Op)
	}
	for _, a := range in.Args[:2] {
		if r, ok := a.(x86asm.Reg); ok {
			if a == in.Args[1] && in.Op != x86asm.XCHG && in.Op != x86asm.XADD {
				break
			}
			if err := t.set(r, t.any()); err != nil {
				return err
			}
		}
	}
	return nil
}

// set changes a register. One that does not have all its bytes changed keeps its value,
// because it is data.
func (t *Thread) set(a x86asm.Arg, v uint64) error {
	r, ok := a.(x86asm.Reg)
	if !ok {
		return nil
	}
	reg, size, ok := gpr(r)
	switch {
	case !ok || size < 4:
		return nil
	case size == 4:
		v &= 0xffffffff
	}
	if reg == rsp && (v > t.im.stackTop || v < t.im.stackTop-8*uint64(len(t.stack))) {
		return errStack
	}
	t.regs[reg] = v
	return nil
}

// value is what an operand holds.
func (t *Thread) value(a x86asm.Arg, next uint64) uint64 {
	switch a := a.(type) {
	case x86asm.Imm:
		return uint64(int64(a))
	case x86asm.Reg:
		if reg, size, ok := gpr(a); ok && size == 8 {
			return t.regs[reg]
		} else if ok && size == 4 {
			return t.regs[reg] & 0xffffffff
		}
	case x86asm.Mem:
		if addr, ok := t.address(a, next); ok {
			if v, ok := t.load(addr); ok {
				return v
			}
		}
	}
	return t.any()
}

// address is what a memory operand means. One with an index is data.
func (t *Thread) address(a x86asm.Arg, next uint64) (uint64, bool) {
	m, ok := a.(x86asm.Mem)
	if !ok || m.Index != 0 || m.Segment != 0 {
		return 0, false
	}
	if m.Base == x86asm.RIP {
		return next + uint64(m.Disp), true
	}
	mask := ^uint64(0) >> (64 - 8*t.im.word)
	if m.Base == 0 {
		return uint64(m.Disp) & mask, true
	}
	reg, size, ok := gpr(m.Base)
	return (t.regs[reg] + uint64(m.Disp)) & mask, ok && size == int(t.im.word)
}

// move executes mov. What it stores counts only where a compiler saves registers: relative
// to the stack pointer, or below the frame pointer. All else is data; so is a store to
// the place of a return address, with which a program would not run.
func (t *Thread) move(in *x86asm.Inst, next uint64) error {
	m, ok := in.Args[0].(x86asm.Mem)
	if !ok {
		return t.set(in.Args[0], t.value(in.Args[1], next))
	}
	r, ok := in.Args[1].(x86asm.Reg)
	base, _, _ := gpr(m.Base)
	if !ok || m.Base == 0 || base != rsp && (base != rbp || m.Disp >= 0) {
		return nil
	}
	addr, ok := t.address(m, next)
	if _, size, isGPR := gpr(r); !ok || !isGPR || size != int(t.im.word) || addr < t.regs[rsp] {
		return nil
	}
	for _, c := range t.calls {
		if c.at == addr {
			return nil
		}
	}
	t.store(addr, t.value(r, next)) // what lies elsewhere is not kept
	return nil
}

// arithmetic executes instructions that may compute the stack pointer. Where a program takes
// memory from the stack for a number of bytes that it has computed, chance says how many.
func (t *Thread) arithmetic(in *x86asm.Inst, next uint64, choose func(n int) int) error {
	dst, ok := in.Args[0].(x86asm.Reg)
	if !ok {
		return nil
	}
	reg, size, ok := gpr(dst)
	if !ok || size < 4 {
		return nil
	}
	a, b := t.regs[reg], t.value(in.Args[1], next)
	if _, constant := in.Args[1].(x86asm.Imm); reg == rsp && !constant {
		if in.Op != x86asm.SUB {
			return errors.New("the stack pointer is computed")
		}
		b = 16 * uint64(1+choose(16))
	}
	switch in.Op {
	case x86asm.ADD:
		a += b
	case x86asm.SUB:
		a -= b
	case x86asm.AND:
		a &= b
	case x86asm.OR:
		a |= b
	default:
		a ^= b
	}
	return t.set(dst, a)
}
