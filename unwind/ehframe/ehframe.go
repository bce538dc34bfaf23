// Package ehframe walks from a function to its caller by .eh_frame, the table that
// debuggers and exceptions use. It is here to be compared with SFrame.
//
// .eh_frame says where the caller's registers are with small programs, which have to be
// executed until they come to an address. A program may define each register, by an
// expression if need be. SFrame has three columns and nothing to execute. So .eh_frame
// knows more, and asking it takes longer: it reads more memory and allocates some.
//
// The programs and expressions are read by delve's packages dwarf/frame and dwarf/op.
// What these misread is an error or is left out here; see [Section.Caller].
//
// Kernel: no kernel walks user stacks by .eh_frame.
package ehframe

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// Machine is an architecture whose sections can be read.
type Machine uint8

const (
	AMD64 Machine = iota
	ARM64
)

// Section is the table of one file. Nothing changes it, so goroutines may share it.
type Section struct {
	Machine Machine
	entries frame.FrameDescriptionEntries
}

// most is the size of the largest section that is read.
const most = 64 << 20

// Open reads the section of an ELF file.
func Open(f *elf.File) (*Section, error) {
	s := f.Section(".eh_frame")
	switch {
	case s == nil:
		return nil, errors.New("the file has no section .eh_frame")
	case s.Type == elf.SHT_NOBITS:
		return nil, errors.New("section .eh_frame has no content")
	case f.Type == elf.ET_REL:
		return nil, errors.New("section .eh_frame: the file has to be linked first")
	case f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian:
		return nil, errors.New("section .eh_frame: only 64-bit little-endian files can be read")
	case s.Size > most:
		return nil, fmt.Errorf("section .eh_frame: %d bytes are more than %d", s.Size, most)
	}
	m := AMD64
	switch f.Machine {
	case elf.EM_X86_64:
	case elf.EM_AARCH64:
		m = ARM64
	default:
		return nil, fmt.Errorf("section .eh_frame: %v cannot be read", f.Machine)
	}
	b, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section .eh_frame: %w", err)
	}
	return Parse(b, s.Addr, m)
}

// Parse reads a section that lies at addr, which is not 0. An error names the entry that
// is wrong.
func Parse(b []byte, addr uint64, m Machine) (*Section, error) {
	if addr == 0 {
		return nil, errors.New("eh_frame: a section at address 0")
	}
	if err := check(b); err != nil {
		return nil, err
	}
	s := &Section{Machine: m}
	err := guard(func() (err error) {
		s.entries, err = frame.Parse(b, binary.LittleEndian, 0, 8, addr)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("eh_frame: %w", err)
	}
	for _, e := range s.entries {
		if m == ARM64 {
			e.Instructions = withoutSigns(e.Instructions)
		}
		if e.End() < e.Begin() {
			return nil, fmt.Errorf("eh_frame: the function at %#x runs over the end of the address space", e.Begin())
		}
	}
	// The library looks addresses up as if the entries were sorted; a linker need not do that.
	slices.SortStableFunc(s.entries, func(a, b *frame.FrameDescriptionEntry) int {
		switch {
		case a.Begin() < b.Begin():
			return -1
		case a.Begin() > b.Begin():
			return 1
		}
		return 0
	})
	return s, nil
}

// check looks at the lengths of the entries, which the library believes.
func check(b []byte) error {
	for at := 0; at < len(b); {
		if len(b)-at < 4 {
			return fmt.Errorf("eh_frame: entry at byte %#x: ends early", at)
		}
		n := uint64(binary.LittleEndian.Uint32(b[at:]))
		switch {
		case n == 0: // the end, or a gap
		case n == 0xffffffff:
			return fmt.Errorf("eh_frame: entry at byte %#x: lengths of 64 bits are not read", at)
		case n < 8:
			return fmt.Errorf("eh_frame: entry at byte %#x: %d bytes are less than an entry has", at, n)
		case n > uint64(len(b)-at-4):
			return fmt.Errorf("eh_frame: entry at byte %#x: %d bytes, where %d are left", at, n, len(b)-at-4)
		}
		at += 4 + int(n)
	}
	return nil
}

// guard calls a function of the library, which panics at some input that is damaged.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	return f()
}

// Functions calls f with the first and the last address + 1 of each function, in order.
func (s *Section) Functions(f func(start, end uint64)) {
	for _, e := range s.entries {
		f(e.Begin(), e.End())
	}
}
