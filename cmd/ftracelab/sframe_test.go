package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// elfWith is a small ELF file of x86-64 whose only content is a section .sframe.
func elfWith(t *testing.T, sframe []byte) string {
	t.Helper()
	names := "\x00.sframe\x00.shstrtab\x00"
	var b bytes.Buffer
	put := func(size int, v uint64) {
		for range size {
			b.WriteByte(byte(v))
			v >>= 8
		}
	}
	b.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	put(2, 3)    // a shared object
	put(2, 0x3e) // x86-64
	put(4, 1)
	put(8, 0)
	put(8, 0)
	at := uint64(64 + len(sframe) + len(names))
	put(8, at)
	put(4, 0)
	for _, v := range []uint64{64, 56, 0, 64, 3, 2} {
		put(2, v)
	}
	b.Write(sframe)
	b.WriteString(names)
	section := func(name, kind, addr, off, size uint64) {
		put(4, name)
		put(4, kind)
		for _, v := range []uint64{0, addr, off, size} {
			put(8, v)
		}
		put(8, 0)
		put(8, 1)
		put(8, 0)
	}
	section(0, 0, 0, 0, 0)
	section(1, 1, 0x2188, 64, uint64(len(sframe)))
	section(9, 3, 0, 64+uint64(len(sframe)), uint64(len(names)))
	return programFile(t, b.Bytes())
}

// programFile writes a file.
func programFile(t *testing.T, b []byte) string {
	return put(t, filepath.Join(t.TempDir(), "program"), string(b))
}

func sampleSFrame(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../../unwind/sframe/testdata/sample.elf.sframe")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSFrame: the table of a file is that of objdump.
func TestSFrame(t *testing.T) {
	want, err := os.ReadFile("../../unwind/sframe/testdata/sample.elf.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(want), "file format")
	_, got, _ := strings.Cut(must(t, "sframe", elfWith(t, sampleSFrame(t))), "file format")
	if strings.TrimSpace(got) != strings.TrimSpace(table) || len(got) < 1000 {
		t.Errorf("%s\ninstead of\n%s", got, table)
	}
}

// TestSFrameFiles: what is printed of real files is what objdump prints, from the first
// line to the last.
func TestSFrameFiles(t *testing.T) {
	dir := testutil.FromEnv(t, "FTRACELAB_SFRAME", "the folder with programs that have SFrame sections")
	t.Chdir(dir)
	for _, name := range []string{"sample.elf", "a64.so", "sample.o", "a64.o"} {
		want, err := os.ReadFile(name + ".sframe.txt")
		if err != nil {
			t.Fatal(err)
		}
		if got := must(t, "sframe", name); strings.TrimSpace(got) != strings.TrimSpace(string(want)) {
			t.Errorf("%s\ninstead of\n%s", got, want)
		}
	}
}

// TestSFrameRefused: an error names the file and the place in it.
func TestSFrameRefused(t *testing.T) {
	good := sampleSFrame(t)
	damaged := bytes.Clone(good)
	damaged[28+17+2] ^= 0xff // a high byte of the start of the second function
	whole, err := os.ReadFile(elfWith(t, good))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		elfWith(t, damaged):   "function 2 at byte 0x3e: not sorted",
		elfWith(t, good[:40]): "6 functions do not fit before the rows at byte 0x82 of 40",
		programFile(t, []byte("#!/bin/sh\necho this is a script and no program, as one sees at its first bytes\n")): "bad magic number",
		programFile(t, whole[:len(whole)-100]): "EOF",
		t.TempDir():                            "is no regular file",
		filepath.Join(t.TempDir(), "nowhere"):  "no such file",
	} {
		var out, errs bytes.Buffer
		status := run(context.Background(), []string{"sframe", path}, strings.NewReader(""), &out, &errs)
		if status != exitFailed || !strings.Contains(errs.String(), want) || !strings.Contains(errs.String(), path) || out.Len() > 0 {
			t.Errorf("status %d: %s, instead of %q", status, &errs, want)
		}
	}
	// Each byte of the whole file in turn.
	path := programFile(t, whole)
	for at := range whole {
		bad := bytes.Clone(whole)
		bad[at] ^= 0xff
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if status := run(context.Background(), []string{"sframe", path}, strings.NewReader(""), &out, &errs); status != 0 && !strings.Contains(errs.String(), path) {
			t.Errorf("byte %d: status %d: %s", at, status, &errs)
		}
	}
}
