package program

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"ftracelab/machine"
	"ftracelab/unwind/ehframe"
	"ftracelab/unwind/sframe"
	"ftracelab/unwind/user"
)

// Image is a program for x86-64, or for 32-bit x86, as it lies in memory: an ELF file, and
// in the place of the libraries it needs a stub, whose functions make no frames.
//
// A Thread runs it. Nothing changes an Image, so threads may share it.
type Image struct {
	Path string
	// Maps is what a task that runs the program has mapped.
	Maps []machine.Mapping
	// Compat says that the program has words of 32 bits (i386).
	Compat bool
	// Missing says why a table for unwinding cannot be used, by the section's name.
	Missing map[string]error

	layout
	bias      uint64
	text      []area
	functions []function
	imports   map[uint64]string // the functions of libraries, by the word that has their address
	entry     uint64
	main      uint64 // 0: not known
	dynamic   bool   // its libraries are not part of it
	bare      bool   // it has no C library: its entry point is its own code
	objects   []user.Object
}

// area is code in memory.
type area struct {
	start uint64
	code  []byte
}

// function is a function of the file, in memory.
type function struct {
	start, end uint64
	name       string
}

// Limits of a file: what is larger is not read.
const (
	maxCode      = 256 << 20
	maxFunctions = 1 << 20
	maxSegments  = 64
	maxTables    = 64
)

// libInode is the inode of the library.
const libInode = 900

// inode is the inode of the file. It is made of the file's name and code, so that a run
// does not depend on the folder in which the file happens to lie.
func (im *Image) inode() uint64 {
	h := hash(filepath.Base(im.Path))
	for _, a := range im.text {
		h = h*31 + hash(string(a.code))
	}
	return 4000 + h%1e9
}

// Load reads a program. On the simulated machine it has the same path as here.
func Load(path string) (*Image, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("program %s: not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	defer file.Close() // nothing was written
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	im, err := Read(file, filepath.ToSlash(abs))
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", path, err)
	}
	return im, nil
}

// Read reads a program from r. A table for unwinding that the file does not have, or that
// is damaged, is no error: [Image.Missing] says so, and walks do without it.
func Read(r io.ReaderAt, path string) (*Image, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	compat := f.Machine == elf.EM_386 && f.Class == elf.ELFCLASS32
	switch {
	case !compat && (f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64):
		return nil, fmt.Errorf("it is for %v, not for x86-64 or 32-bit x86", f.Machine)
	case f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN:
		return nil, fmt.Errorf("its type is %v", f.Type)
	case f.Entry == 0:
		return nil, errors.New("it has no entry point")
	}
	im := &Image{Path: path, Missing: map[string]error{}, entry: f.Entry, Compat: compat, layout: layouts[compat]}
	if f.Type == elf.ET_DYN {
		im.bias = im.base
		im.entry += im.base
	}
	im.dynamic = slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if err := im.load(f); err != nil {
		return nil, err
	}
	if err := im.tables(f); err != nil {
		return nil, err
	}
	im.symbols(f)
	im.relocations(f)
	if im.main == 0 && !im.dynamic && !im.bare {
		return nil, errors.New("where its function main is cannot be found: it is static, and its symbols are gone")
	}
	return im, nil
}

// load reads the segments that are loaded.
func (im *Image) load(f *elf.File) error {
	const page = 4096
	if len(f.Progs) > maxSegments {
		return fmt.Errorf("%d segments are more than %d", len(f.Progs), maxSegments)
	}
	total := uint64(0)
	for n, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Memsz == 0 {
			continue
		}
		start, end := p.Vaddr, p.Vaddr+p.Memsz
		if end < start || end > im.lib-im.base || p.Filesz > p.Memsz {
			return fmt.Errorf("segment %d: %#x bytes at %#x do not fit into the address space", n, p.Memsz, p.Vaddr)
		}
		start += im.bias
		end += im.bias
		if len(im.Maps) > 0 && start < im.Maps[len(im.Maps)-1].End&^(page-1) {
			return fmt.Errorf("segment %d: it lies at %#x, before the end of the segment before it", n, p.Vaddr)
		}
		first := start &^ (page - 1)
		if len(im.Maps) > 0 {
			first = max(first, im.Maps[len(im.Maps)-1].End)
		}
		if last := (end + page - 1) &^ (page - 1); last > first {
			im.Maps = append(im.Maps, machine.Mapping{Start: first, End: last, Offset: p.Off - (start - first), Path: im.Path})
		}
		if p.Flags&elf.PF_X == 0 || p.Filesz == 0 {
			continue
		}
		if total += p.Filesz; total > maxCode {
			return fmt.Errorf("segment %d: more than %d bytes of code", n, maxCode)
		}
		code, err := io.ReadAll(io.LimitReader(p.Open(), int64(p.Filesz)))
		if err != nil {
			return fmt.Errorf("segment %d: %w", n, err)
		}
		if uint64(len(code)) != p.Filesz {
			return fmt.Errorf("segment %d: %d bytes, where the file has %d", n, p.Filesz, len(code))
		}
		im.text = append(im.text, area{start, code})
	}
	if im.at(im.entry) == nil {
		return fmt.Errorf("its entry point %#x is not in its code", f.Entry)
	}
	for i := range im.Maps {
		im.Maps[i].Inode = im.inode()
	}
	im.Maps = append(im.Maps,
		machine.Mapping{Start: im.lib, End: im.lib + libSize, Inode: libInode, Path: im.libPath},
		machine.Mapping{Start: im.stackTop - stackSize, End: im.stackTop, Path: "[stack]"})
	return nil
}

// at gives the code from an address on.
func (im *Image) at(addr uint64) []byte {
	for _, a := range im.text {
		if addr >= a.start && addr-a.start < uint64(len(a.code)) {
			return a.code[addr-a.start:]
		}
	}
	return nil
}

// tables reads the tables for unwinding.
func (im *Image) tables(f *elf.File) error {
	frames, err := sframe.Open(f)
	if err != nil {
		im.Missing[".sframe"] = err
	}
	eh, err := ehframe.Open(f)
	if err != nil {
		im.Missing[".eh_frame"] = err
	} else {
		eh.Functions(func(start, end uint64) {
			if len(im.functions) < maxFunctions {
				im.functions = append(im.functions, function{start: start + im.bias, end: end + im.bias})
			}
		})
	}
	for _, a := range im.text {
		im.objects = append(im.objects, user.Object{Start: a.start, End: a.start + uint64(len(a.code)), Bias: im.bias, Frames: frames, EhFrames: eh})
	}
	if im.Compat {
		return nil // no table for unwinding has 32-bit x86
	}
	lib, err := stub()
	im.objects = append(im.objects, lib)
	return err
}

// symbols takes the functions that the file has names for, and sorts them all.
func (im *Image) symbols(f *elf.File) {
	names, library := 0, false
	for _, list := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
		symbols, err := list()
		if err != nil {
			continue // there are none, or they are damaged: names are all that is missed
		}
		for _, s := range symbols {
			names++
			library = library || strings.HasPrefix(s.Name, "__libc_start_")
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value == 0 || im.at(s.Value+im.bias) == nil || len(im.functions) >= 2*maxFunctions {
				continue
			}
			if s.Name == "main" {
				im.main = s.Value + im.bias
			}
			im.functions = append(im.functions, function{s.Value + im.bias, s.Value + s.Size + im.bias, s.Name})
		}
	}
	im.bare = !im.dynamic && names > 0 && !library
	sort.SliceStable(im.functions, func(i, j int) bool {
		a, b := &im.functions[i], &im.functions[j]
		if a.start != b.start {
			return a.start < b.start
		}
		return a.name > b.name // one with a name is first
	})
	im.functions = slices.CompactFunc(im.functions, func(a, b function) bool { return a.start == b.start })
}

// relocations finds the words to which the dynamic linker writes addresses of functions.
func (im *Image) relocations(f *elf.File) {
	im.imports = map[uint64]string{}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return
	}
	tables := 0
	for _, s := range f.Sections {
		size, kind := 24, elf.SHT_RELA
		if im.Compat {
			size, kind = 8, elf.SHT_REL
		}
		if s.Type != kind || s.Size > maxCode {
			continue
		}
		if tables++; tables > maxTables {
			return
		}
		b, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(b) >= size; b = b[size:] {
			at, n, ofFunction := im.relocation(f, b)
			if ofFunction && n > 0 && uint64(n) <= uint64(len(symbols)) {
				im.imports[at+im.bias] = symbols[n-1].Name
			}
		}
	}
}

// relocation reads a relocation: the place, the symbol, and whether the place gets the
// address of a function.
func (im *Image) relocation(f *elf.File, b []byte) (at uint64, symbol uint32, ofFunction bool) {
	if im.Compat {
		info := f.ByteOrder.Uint32(b[4:])
		kind := elf.R_386(elf.R_TYPE32(info))
		return uint64(f.ByteOrder.Uint32(b)), elf.R_SYM32(info), kind == elf.R_386_JMP_SLOT || kind == elf.R_386_GLOB_DAT
	}
	info := f.ByteOrder.Uint64(b[8:])
	kind := elf.R_X86_64(elf.R_TYPE64(info))
	return f.ByteOrder.Uint64(b), elf.R_SYM64(info), kind == elf.R_X86_64_JMP_SLOT || kind == elf.R_X86_64_GLOB_DAT
}

// function finds the function that an address lies in.
func (im *Image) function(addr uint64) *function {
	n := sort.Search(len(im.functions), func(i int) bool { return im.functions[i].start > addr })
	if n == 0 {
		return nil
	}
	f := &im.functions[n-1]
	if addr < f.end {
		return f
	}
	// A symbol without a size reaches until the next function, or until its code ends.
	for _, a := range im.text {
		if end := a.start + uint64(len(a.code)); f.end <= f.start && f.start >= a.start && f.start < end && addr < end {
			return f
		}
	}
	return nil
}

// Name says what an address is: a function and how far inside; "" if that is not known.
func (im *Image) Name(addr uint64) string {
	f := im.function(addr)
	if f == nil || f.name == "" {
		return ""
	}
	return fmt.Sprintf("%s+0x%x", f.name, addr-f.start)
}

// Entry gives the address of a function that the file has a name for.
func (im *Image) Entry(name string) (addr uint64, ok bool) {
	for i := range im.functions {
		if im.functions[i].name == name {
			return im.functions[i].start, true
		}
	}
	return 0, false
}

// AtOffset gives the address of code that lies at an offset in the file.
func (im *Image) AtOffset(offset uint64) (addr uint64, ok bool) {
	for _, m := range im.Maps {
		if m.Path == im.Path && offset >= m.Offset && offset-m.Offset < m.End-m.Start && im.at(m.Start+offset-m.Offset) != nil {
			return m.Start + offset - m.Offset, true
		}
	}
	return 0, false
}

// AtMapping gives the address of code that lies so far behind the start of the mapping it is
// in, as the option sym-userobj prints it.
func (im *Image) AtMapping(offset uint64) (addr uint64, ok bool) {
	for _, m := range im.Maps {
		if m.Path == im.Path && offset < m.End-m.Start && im.at(m.Start+offset) != nil {
			return m.Start + offset, true
		}
	}
	return 0, false
}

// Inode is what the simulated machine takes for the file's inode.
func (im *Image) Inode() uint64 { return im.Maps[0].Inode }
