package stackmap

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Vmlinux names addresses by the symbol table of an ELF file.
type Vmlinux struct {
	sections []elfSection // by address
}

// elfSection is a part of the file's memory and the symbols in it.
type elfSection struct {
	start, end uint64
	symbols    []elfSymbol // by address
}

type elfSymbol struct {
	addr, size uint64
	index      int // in the symbol table
	function   int // 1; 0 is a label without a type
	name       string
}

// ReadVmlinux reads the functions and labels of an ELF file.
//
// It returns the errors of debug/elf, and an error for a file without a symbol
// table.
func ReadVmlinux(r io.ReaderAt) (*Vmlinux, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("vmlinux: %w", err)
	}
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("vmlinux: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("vmlinux: symbol table: %w", err)
	}
	bySection := map[elf.SectionIndex][]elfSymbol{}
	for i, s := range symbols {
		e := elfSymbol{addr: s.Value, size: s.Size, index: i, name: s.Name}
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_FUNC, elf.STT_GNU_IFUNC:
			e.function = 1
		case elf.STT_NOTYPE:
		default:
			continue
		}
		if s.Name != "" {
			bySection[s.Section] = append(bySection[s.Section], e)
		}
	}
	v := &Vmlinux{}
	for i, s := range f.Sections {
		found := bySection[elf.SectionIndex(i)]
		if s.Flags&elf.SHF_ALLOC == 0 || len(found) == 0 {
			continue
		}
		slices.SortFunc(found, compareELF)
		v.sections = append(v.sections, elfSection{start: s.Addr, end: s.Addr + s.Size, symbols: found})
	}
	slices.SortStableFunc(v.sections, func(a, b elfSection) int { return cmp.Compare(a.start, b.start) })
	return v, nil
}

// compareELF orders symbols by address. Of several at the same address, the one
// that addr2line prefers comes last: it prefers a function to a label, then the
// larger symbol, then the one that is earlier in the table.
func compareELF(a, b elfSymbol) int {
	return cmp.Or(
		cmp.Compare(a.addr, b.addr),
		cmp.Compare(a.function, b.function),
		cmp.Compare(a.size, b.size),
		cmp.Compare(b.index, a.index),
	)
}

// Symbol returns the name of the function or label that is nearest below addr
// or at it, in the same section; "" if there is none.
func (v *Vmlinux) Symbol(addr uint64) string {
	i, _ := slices.BinarySearchFunc(v.sections, addr, func(s elfSection, a uint64) int {
		if s.end <= a {
			return -1
		}
		return 1
	})
	if i == len(v.sections) || addr < v.sections[i].start {
		return ""
	}
	symbols := v.sections[i].symbols
	n, _ := slices.BinarySearchFunc(symbols, addr, func(s elfSymbol, a uint64) int {
		if s.addr <= a {
			return -1
		}
		return 1
	})
	if n == 0 {
		return ""
	}
	return symbols[n-1].name
}
