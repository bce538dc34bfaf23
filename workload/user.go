package workload

import (
	"math/rand/v2"

	"ftracelab/machine"
)

// image is what an unwinder of user stacks sees of a program: where it is mapped, and
// the chains of calls that lead to its system calls.
type image struct {
	maps   []machine.Mapping
	chains [][]uint64 // return addresses, innermost first
	leaves []uint64   // addresses in the C library, one for each system call
}

// Where programs, their library and their stacks lie. Address space layout
// randomisation is off, so that two processes of the same program have the same stacks.
const (
	textBase   = 0x555555554000
	textSize   = 0x100000
	libcBase   = 0x7ffff7dd0000
	libcSize   = 0x1d0000
	linkerBase = 0x7ffff7fc7000
	linkerSize = 0x36000
	stackTop   = 0x7fffffffe000
	stackWords = 512
	maxChains  = 16
)

// linkerEntry is where in the dynamic linker every program begins.
const linkerEntry = 0x1c0c0

func (w *mix) imageOf(comm string) *image {
	if im := w.images[comm]; im != nil {
		return im
	}
	r := w.m.Rand("user/" + comm)
	im := &image{maps: []machine.Mapping{
		{Start: textBase, End: textBase + textSize, Inode: 1000 + uint64(len(w.images)), Dev: DiskMajor << 20, Path: "/usr/bin/" + comm},
		{Start: libcBase, End: libcBase + libcSize, Inode: 900, Dev: DiskMajor << 20, Path: "/lib/x86_64-linux-gnu/libc.so.6"},
		{Start: linkerBase, End: linkerBase + linkerSize, Inode: 901, Dev: DiskMajor << 20, Path: "/lib64/ld-linux-x86-64.so.2"},
		{Start: stackTop - 132<<10, End: stackTop, Path: "[stack]"},
	}}
	for range maxChains {
		im.chains = append(im.chains, newChain(r))
	}
	for range 32 {
		im.leaves = append(im.leaves, libcBase+0x28000+r.Uint64N(0x100000))
	}
	w.images[comm] = im
	return im
}

// newChain makes a chain of calls: some functions of the program, called by main, and
// the start code of the library.
func newChain(r *rand.Rand) []uint64 {
	var chain []uint64
	for range 1 + r.IntN(7) {
		chain = append(chain, textBase+0x1000+r.Uint64N(textSize-0x2000))
	}
	return append(chain, textBase+0x2345, libcBase+0x2724a)
}

// begin gives a process the program comm, which is about to begin in the dynamic linker. On
// the stack there are the number of its arguments, and its name as the only one.
//
// Departure: a program that begins has no environment and no auxiliary vector.
//
// Kernel: load_elf_binary and create_elf_tables, fs/binfmt_elf.c.
func (w *mix) begin(t *machine.Task, comm, _ string) machine.Program {
	if p, ok := t.Data.(interface{ program() machine.Program }); ok {
		return p.program()
	}
	stack := newUserStack()
	const sp, name = stackTop - 0x80, stackTop - 0x20
	stack.store(sp, 1)
	stack.store(sp+8, name)
	for i := range min(len(comm), maxComm) {
		at := uint64(name + i&^7)
		word, _ := stack.Load(at)
		stack.store(at, word|uint64(comm[i])<<(8*(i&7)))
	}
	return machine.Program{Memory: stack, Maps: w.imageOf(comm).maps, User: machine.UserRegs{IP: linkerBase + linkerEntry, SP: sp}}
}

// userStack is the stack of a process: the words below stackTop.
type userStack struct {
	base  uint64
	words [stackWords]uint64
}

func newUserStack() *userStack { return &userStack{base: stackTop - 8*stackWords} }

// Load implements machine.UserMemory.
func (s *userStack) Load(addr uint64) (uint64, bool) {
	if addr < s.base || addr&7 != 0 || addr-s.base >= 8*stackWords {
		return 0, false
	}
	return s.words[(addr-s.base)/8], true
}

// Fork implements machine.ForkedMemory.
func (s *userStack) Fork() machine.UserMemory {
	c := *s
	return &c
}

func (s *userStack) store(addr, word uint64) { s.words[(addr-s.base)/8] = word }

// userAt puts t at a place in its program and returns its registers there. It writes a
// chain of frames, with saved frame pointers and return addresses, to the stack. A
// frame pointer of 0 ends the chain.
func (w *mix) userAt(t *machine.Task, pos int, nr int32) machine.UserRegs {
	im := w.imageOf(t.Comm)
	t.Maps = im.maps
	stack, ok := t.Memory.(*userStack)
	if !ok {
		return machine.UserRegs{}
	}
	chain := im.chains[uint64(pos)*7%maxChains]
	// From the outermost frame down: main's caller has no frame above it.
	fp, addr := uint64(0), uint64(stackTop-0x100)
	for i := len(chain) - 1; i >= 0; i-- {
		addr -= 16 + 16*(chain[i]>>4&3)
		stack.store(addr, fp)
		stack.store(addr+8, chain[i])
		fp = addr
	}
	regs := machine.UserRegs{SP: addr - 32, FP: fp}
	if nr >= 0 {
		regs.IP = im.leaves[uint64(nr)%uint64(len(im.leaves))]
	} else {
		regs.IP = chain[0] + 0x20
	}
	return regs
}
