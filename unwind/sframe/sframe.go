// Package sframe reads and writes SFrame sections. Such a section says for each
// instruction of a program where the caller's registers are: a table with three columns.
//
//	STARTPC  CFA     FP    RA
//	1172     sp+8    u     u      before push %rbp
//	1173     sp+16   c-16  u      after it
//	1176     fp+16   c-16  u      after mov %rsp,%rbp
//
// The CFA is the value that the stack pointer had before the call. The other columns say
// where the caller's frame pointer and the return address lie relative to it; u stands
// for a register that was not saved, or for a place that is the same in all functions.
//
// [Open] takes the section from an ELF file and [Parse] takes its bytes. Versions 1, 2
// and 3 are read and written ([Section.Encode]).
//
// Kernel: the proposed kernel/unwind/sframe.c reads version 3 only; no kernel that was
// released has it.
//
// Departure: the kernel reads a row when it needs it. Here the whole section is checked
// at once, and a section with one wrong row is refused.
package sframe

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// Flags of a section.
const (
	Sorted       = 1 // functions are in the order of their addresses
	FramePointer = 2 // all functions keep the frame pointer
	PCRelative   = 4 // the start of a function counts from the field that holds it
)

// Architectures of a section.
const (
	ARM64Big = 1
	ARM64    = 2
	AMD64    = 3
	S390X    = 4
)

// ErrNoRow says that a section has no row for an address.
var ErrNoRow = errors.New("no frame data")

// Section is what one section holds. Addr is the address of the section in its file; the
// addresses of functions belong to the same address space.
type Section struct {
	Version uint8
	Flags   uint8
	Arch    uint8
	FixedFP int8 // place of the frame pointer from the CFA; 0 means that rows have it
	FixedRA int8 // place of the return address from the CFA; 0 means that rows have it
	Addr    uint64
	Funcs   []Func

	order binary.ByteOrder
}

// Func is one function. With Mask, its code is a series of equal blocks of Repeat bytes,
// and the rows describe one block.
type Func struct {
	Start    uint64
	Size     uint32
	Mask     bool
	Repeat   uint8
	KeyB     bool // return addresses are signed with key B (arm64)
	Signal   bool // the function returns from a signal handler (version 3)
	Flexible bool // rows have pairs of words (version 3)
	Rows     []Row
}

// Row is valid from Start, counted in bytes from the start of the function, until the
// next row. Words are as the section has them; [Section.Rule] says what they mean.
type Row struct {
	Start   uint32
	SP      bool // the CFA counts from the stack pointer, else from the frame pointer
	Mangled bool // the return address is signed (arm64)
	Words   []int32
}

// Open reads the section of an ELF file.
func Open(f *elf.File) (*Section, error) {
	s := f.Section(".sframe")
	if s == nil {
		return nil, errors.New("the file has no section .sframe")
	}
	const most = 64 << 20
	if s.Size > most {
		return nil, fmt.Errorf("section .sframe: %d bytes are more than %d", s.Size, most)
	}
	b, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section .sframe: %w", err)
	}
	return Parse(b, s.Addr)
}

// Find returns the function and the row for pc, or [ErrNoRow].
func (s *Section) Find(pc uint64) (*Func, *Row, error) {
	f := s.find(pc)
	if f == nil {
		return nil, nil, ErrNoRow
	}
	off := uint32(pc - f.Start)
	if f.Mask {
		off %= uint32(f.Repeat)
	}
	var row *Row
	for i := range f.Rows {
		if f.Rows[i].Start > off {
			break
		}
		row = &f.Rows[i]
	}
	if row == nil {
		return nil, nil, ErrNoRow
	}
	return f, row, nil
}

// find returns the last function that starts at or before pc, if pc lies within it. In a
// section without order it returns the first function that pc lies within.
func (s *Section) find(pc uint64) *Func {
	in := func(f *Func) bool { return pc >= f.Start && pc-f.Start < uint64(f.Size) }
	if s.Flags&Sorted == 0 {
		for i := range s.Funcs {
			if in(&s.Funcs[i]) {
				return &s.Funcs[i]
			}
		}
		return nil
	}
	low, high := 0, len(s.Funcs)
	for low < high {
		if mid := (low + high) / 2; s.Funcs[mid].Start <= pc {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 || !in(&s.Funcs[low-1]) {
		return nil
	}
	return &s.Funcs[low-1]
}
