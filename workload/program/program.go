// Package program reads programs of the host: where every run of an ELF file begins.
package program

import (
	"debug/elf"
	"fmt"
	"io"
	"os"

	"ftracelab/machine"
)

// base is where a program lies that can lie anywhere; address space layout
// randomisation is off.
const base = 0x555555554000

// Starts are the first instructions of the functions that each run of an ELF file comes
// by, in that order: its entry point, what the C library calls before main, and main
// where the file still has its name. The places have no File.
//
// The error says why the file cannot be read as a program.
func Starts(path string) ([]machine.Place, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	defer file.Close() // nothing was written
	places, err := starts(file)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", path, err)
	}
	return places, nil
}

func starts(r io.ReaderAt) ([]machine.Place, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return nil, fmt.Errorf("its type is %v", f.Type)
	}
	addrs := []uint64{f.Entry}
	if inits, err := f.DynValue(elf.DT_INIT); err == nil {
		addrs = append(addrs, inits...)
	}
	if symbols, err := f.Symbols(); err == nil {
		for _, s := range symbols {
			if s.Name == "main" && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
				addrs = append(addrs, s.Value)
			}
		}
	}
	var places []machine.Place
	for _, addr := range addrs {
		if offset, ok := fileOffset(f, addr); ok {
			place := machine.Place{Offset: offset, Addr: addr}
			if f.Type == elf.ET_DYN {
				place.Addr += base
			}
			places = append(places, place)
		}
	}
	return places, nil
}

// fileOffset is where in the file the code at addr is.
func fileOffset(f *elf.File, addr uint64) (uint64, bool) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}
