package program

import (
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"ftracelab/machine"
	"ftracelab/unwind/user"
)

// DWARF's numbers of the registers that have a part of their own.
const (
	rax, rbx, rdi, rbp, rsp, rip = 0, 3, 5, 6, 7, 16
)

// Thread follows the instructions of a program, as far as they are about its stack: push,
// pop, call, ret, and what computes the stack pointer, the frame pointer and what is saved
// of them. Its registers and its stack are those of a real run at the same place. What
// the program computes is not followed, so at a branch it is chance that decides, and
// registers that hold data hold any number.
//
// A function of a library is entered, stays at one place, and returns.
type Thread struct {
	im    *Image
	regs  [17]uint64
	stack []uint64 // words below stackTop
	calls []call
	// linking is the function that the procedure linkage table is looking for.
	linking string
	lib     string // the function of a library that is under way; "": none
	kernel  bool   // it is in a system call that the file's own code makes
	away    uint64 // from here on the stack cannot be read; 0: all of it can
	noise   uint64
	insns   map[uint64]x86asm.Inst

	// Depth is how many calls may be nested; a call beyond it returns at once. 0 means 24.
	Depth int
}

// call is a call under way: the address to which it returns, and where that is on the stack.
type call struct{ ret, at uint64 }

// NewThread makes a thread that is about to start. Its stack has size bytes, rounded up
// to pages; 0 means 128 KiB.
func (im *Image) NewThread(size int) *Thread {
	if size <= 0 || size > stackSize {
		size = stackSize
	}
	t := &Thread{im: im, stack: make([]uint64, (size+4095)/4096*512), insns: map[uint64]x86asm.Inst{}}
	t.Start()
	return t
}

// aboveStack is what lies above the stack of a program when it begins: its arguments and
// environment. The first frames are on the page where that ends, and the others on the next.
const aboveStack = 0x1000 - 0x40

// Start begins the program again: at its entry point or, if a C library is part of it,
// in main.
func (t *Thread) Start() {
	clear(t.stack)
	t.regs, t.calls, t.lib = [17]uint64{rsp: t.im.stackTop - aboveStack}, t.calls[:0], ""
	t.linking, t.kernel, t.away = "", false, 0
	if t.im.dynamic || t.im.bare {
		t.regs[rip] = t.im.entry
		return
	}
	// The library's own code that has called main is not followed. Its frame lies between
	// main's and that of the entry point.
	_ = t.enter(0, t.im.entry+1) // there is room on an empty stack
	t.regs[rsp] -= t.im.word
	_ = t.enter(t.im.main, t.im.lib+inStart)
}

// Regs are the registers of the thread, as a walk needs them. Others is filled and used
// for Regs.Others; nil leaves that out.
func (t *Thread) Regs(others *[32]uint64) user.Regs {
	r := user.Regs{UserRegs: machine.UserRegs{IP: t.regs[rip], SP: t.regs[rsp], FP: t.regs[rbp]}}
	if others != nil && !t.im.Compat { // a walk of a 32-bit program needs no others
		copy(others[:], t.regs[:])
		r.Others = others
	}
	return r
}

// Place is where in its file the thread is; ok is false in a library.
func (t *Thread) Place() (at machine.Place, ok bool) {
	at.Addr = t.regs[rip]
	code := t.im.at(at.Addr)
	if code == nil {
		return at, false
	}
	copy(at.Insn[:], code)
	for _, m := range t.im.Maps {
		if at.Addr >= m.Start && at.Addr < m.End {
			at.File, at.Offset = m.Inode, at.Addr-m.Start+m.Offset
			return at, true
		}
	}
	return at, false
}

// AtEntry reports whether the thread is at the first instruction of a function that has
// just been called, as at a uprobe there.
func (t *Thread) AtEntry() bool {
	f, n := t.im.function(t.regs[rip]), len(t.calls)
	return f != nil && f.start == t.regs[rip] && n > 0 && t.calls[n-1].at == t.regs[rsp]
}

// Stack appends what a walk should find: where the thread is, and the addresses to which
// the calls under way return, innermost first. It was noted when the calls were made.
func (t *Thread) Stack(dst []uint64) []uint64 {
	dst = append(dst, t.regs[rip])
	for i := len(t.calls) - 1; i >= 0; i-- {
		dst = append(dst, t.calls[i].ret)
	}
	return dst
}

// Library is the function of a library that the thread is in; "": it is in the file.
func (t *Thread) Library() string { return t.lib }

// Syscall is the number of the system call that the file's own code is making, if it is;
// -1 stands for one that cannot be seen.
func (t *Thread) Syscall() (nr int64, ok bool) {
	if !t.kernel {
		return 0, false
	}
	if nr = int64(t.regs[rax]); nr > 500 {
		nr = -1
	}
	return nr, true
}

// PageIn implements machine.PagedMemory.
func (t *Thread) PageIn() { t.away = 0 }

// Away takes pages of the stack away, until the next Step or PageIn: the n-th page above the stack
// pointer and those behind it cannot be read, as if they had been swapped out. n counts
// from 1, so that the page that is in use stays.
func (t *Thread) Away(n int) { t.away = (t.regs[rsp] + 4096*uint64(n)) &^ 4095 }

// Load implements machine.UserMemory.
func (t *Thread) Load(addr uint64) (uint64, bool) {
	w := t.slot(addr)
	if w == nil || addr&7 != 0 || t.away != 0 && addr >= t.away {
		return 0, false
	}
	return *w, true
}

// Objects implements user.AddressSpace.
func (t *Thread) Objects() []user.Object { return t.im.objects }

// slot is where the stack has the 8 bytes in which an address lies; nil: outside of it.
func (t *Thread) slot(addr uint64) *uint64 {
	low := t.im.stackTop - 8*uint64(len(t.stack))
	if addr < low || addr >= t.im.stackTop {
		return nil
	}
	return &t.stack[(addr-low)/8]
}

// load reads a word of the program's size from the stack.
func (t *Thread) load(addr uint64) (uint64, bool) {
	w := t.slot(addr)
	switch {
	case w == nil || addr%t.im.word != 0:
		return 0, false
	case t.im.word == 4:
		return *w >> (addr & 4 * 8) & 0xffffffff, true
	}
	return *w, true
}

// store writes a word of the program's size to the stack.
func (t *Thread) store(addr, v uint64) bool {
	w := t.slot(addr)
	switch {
	case w == nil || addr%t.im.word != 0:
		return false
	case t.im.word == 4:
		shift := addr & 4 * 8
		*w = *w&^(0xffffffff<<shift) | v&0xffffffff<<shift
	default:
		*w = v
	}
	return true
}

// Why a thread cannot go on.
var (
	errStack = errors.New("its stack is full")
	errEnd   = errors.New("it ends there")
	errLost  = errors.New("the instructions of the function end there")
)

// Step executes one instruction, or returns from the function of a library. choose gives
// a number from 0 to n-1.
//
// An error says why the thread cannot go on; then it has to Start again. This also happens
// at the end of the program, and where its code cannot be followed: at a computed jump,
// and at an instruction that is not known.
func (t *Thread) Step(choose func(n int) int) error {
	t.away = 0
	switch {
	case t.lib != "":
		t.lib = ""
		t.scratch()
		return t.ret()
	case t.kernel:
		t.kernel = false
		t.scratch()
	}
	at := t.regs[rip]
	in, err := t.decode(at)
	if err == nil {
		err = t.execute(&in, choose)
	}
	if err != nil {
		return fmt.Errorf("at %#x: %w", at-t.im.bias, err)
	}
	return nil
}

// decode reads the instruction at an address.
func (t *Thread) decode(at uint64) (x86asm.Inst, error) {
	if in, ok := t.insns[at]; ok {
		return in, nil
	}
	code := t.im.at(at)
	if code == nil {
		return x86asm.Inst{}, errors.New("no code")
	}
	var in x86asm.Inst
	mode := int(t.im.word) * 8
	if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3]|1 == 0xfb { // endbr64, endbr32
		in = x86asm.Inst{Op: x86asm.NOP, Len: 4, Mode: mode}
	} else {
		var err error
		if in, err = x86asm.Decode(code, mode); err != nil {
			return in, err
		}
	}
	t.insns[at] = in
	return in, nil
}

// push puts a word on the stack.
func (t *Thread) push(v uint64) error {
	t.regs[rsp] -= t.im.word
	if !t.store(t.regs[rsp], v) {
		return errStack
	}
	return nil
}

func (t *Thread) pop() (uint64, error) {
	v, ok := t.load(t.regs[rsp])
	if !ok {
		return 0, errors.New("nothing on the stack")
	}
	t.regs[rsp] += t.im.word
	return v, nil
}

// enter calls a function.
func (t *Thread) enter(to, ret uint64) error {
	if err := t.push(ret); err != nil {
		return err
	}
	t.calls = append(t.calls, call{ret, t.regs[rsp]})
	t.regs[rip] = to
	return nil
}

// ret returns from a function. If the stack is not as it was at the call, the thread has
// lost its way.
func (t *Thread) ret() error {
	if len(t.calls) == 0 {
		return errEnd
	}
	last := t.calls[len(t.calls)-1]
	if t.regs[rsp] != last.at {
		return fmt.Errorf("it returns with the stack pointer %#x instead of %#x", t.regs[rsp], last.at)
	}
	v, err := t.pop()
	if err != nil {
		return err
	}
	if v != last.ret {
		return fmt.Errorf("it returns to %#x instead of %#x", v, last.ret)
	}
	t.calls = t.calls[:len(t.calls)-1]
	t.regs[rip] = v
	if v >= t.im.lib {
		return errEnd // main has returned
	}
	return nil
}

// library enters a function of a library. The one that calls main does so.
func (t *Thread) library(name string) error {
	if name == "__libc_start_main" {
		main := t.regs[rdi]
		if t.im.Compat { // arguments are on the stack, behind the return address
			main, _ = t.load(t.regs[rsp] + 4)
		}
		if t.im.at(main) == nil {
			if main = t.im.main; main == 0 {
				return errors.New("where main is cannot be seen")
			}
		}
		t.regs[rsp] -= t.im.word
		return t.enter(main, t.im.lib+inStart)
	}
	if noReturn[name] {
		return errEnd
	}
	t.lib = name
	t.regs[rip] = t.im.lib + leafCode + place(name)
	return nil
}

// noReturn are functions of the C library that do not return.
var noReturn = map[string]bool{
	"abort": true, "exit": true, "_exit": true, "quick_exit": true, "__stack_chk_fail": true, "__assert_fail": true,
	"longjmp": true, "siglongjmp": true, "__longjmp_chk": true, "_Unwind_Resume": true, "pthread_exit": true, "__fortify_fail": true,
	"__chk_fail": true, "err": true, "errx": true, "verr": true, "verrx": true,
}

// place gives each function of the library a place, always the same.
func place(name string) uint64 {
	return hash(name)%0xff000&^0xf | 9
}

// hash is FNV-1a.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
