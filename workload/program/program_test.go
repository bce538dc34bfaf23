package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"ftracelab/machine"
)

// image is a little ELF file with one segment of code, whose entry point is in it.
func image(t testing.TB, typ elf.Type, vaddr, entry uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	header := elf.Header64{Type: uint16(typ), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: entry, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	code := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: 120, Vaddr: vaddr, Filesz: 8, Memsz: 8}
	for _, part := range []any{header, code, make([]byte, 8)} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// file is a file with that content.
func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.out")
	if err := os.WriteFile(path, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStarts(t *testing.T) {
	for _, test := range []struct {
		typ          elf.Type
		vaddr, entry uint64
		want         machine.Place
	}{
		{elf.ET_EXEC, 0x401000, 0x401004, machine.Place{Offset: 124, Addr: 0x401004}},
		{elf.ET_DYN, 0x1000, 0x1004, machine.Place{Offset: 124, Addr: 0x555555555004}},
	} {
		got, err := Starts(file(t, image(t, test.typ, test.vaddr, test.entry)))
		if err != nil || len(got) != 1 || got[0] != test.want {
			t.Errorf("%v: %+v, %v; want %+v", test.typ, got, err, test.want)
		}
	}
	if got, err := Starts(file(t, image(t, elf.ET_EXEC, 0x401000, 0x500000))); err != nil || len(got) != 0 {
		t.Errorf("an entry point outside of the file: %+v, %v", got, err)
	}
	if got, err := Starts(file(t, image(t, elf.ET_CORE, 0, 0))); err == nil {
		t.Errorf("a core file has %+v", got)
	}
	if got, err := Starts("program_test.go"); err == nil {
		t.Errorf("a text has %+v", got)
	}
}

// FuzzStarts reads files of any content: a place lies in the file's segment of code.
func FuzzStarts(f *testing.F) {
	f.Add(image(f, elf.ET_EXEC, 0x401000, 0x401004))
	f.Add(image(f, elf.ET_DYN, 0x1000, 0x1004)[:100])
	f.Add([]byte("#!/bin/sh\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		places, err := starts(bytes.NewReader(content))
		if err != nil && places != nil {
			t.Fatalf("%v and %+v", err, places)
		}
	})
}
