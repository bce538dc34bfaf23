package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"ftracelab/unwind/user"
)

// exercise runs a program that may be anything, and walks its stacks. It reports whether an
// instruction was executed.
func exercise(t testing.TB, im *Image, steps int) bool {
	th, ran := im.NewThread(0), 0
	n := uint64(1)
	choose := func(m int) int { n = n*6364136223846793005 + 1; return int(n >> 33 % uint64(m)) }
	walkers := []user.Walker{{}, {Methods: []user.Method{user.SFrame, user.FramePointer}}, {Methods: []user.Method{user.EhFrame, user.SFrame, user.FramePointer}}}
	for range steps {
		var others [32]uint64
		regs := th.Regs(&others)
		for i := range walkers {
			const most = 32
			got, stop := walkers[i].Walk(nil, regs, th, most)
			if len(got) == 0 || len(got) > most || got[0] != regs.IP || (stop == user.Full) != (len(got) == most) {
				t.Fatalf("%x, %v", got, stop)
			}
		}
		if th.Step(choose) == nil {
			ran++
		} else {
			th.Start()
		}
	}
	return ran > 0
}

// TestCorruptedFile changes each byte of the headers of the sample, of its segments, its
// sections and its dynamic section, in several ways: an error, or a program that runs as far as
// it goes.
func TestCorruptedFile(t *testing.T) {
	whole, err := os.ReadFile("testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	o := binary.LittleEndian
	phoff, shoff := o.Uint64(whole[32:]), o.Uint64(whole[40:])
	phnum, shnum := uint64(o.Uint16(whole[56:])), uint64(o.Uint16(whole[60:]))
	var places []uint64
	for from, n := range map[uint64]uint64{0: 64, phoff: 56 * phnum, shoff: 64 * shnum, 0x2050: 0x134 /* .eh_frame */, 0x2188: 0xe3 /* .sframe */} {
		for i := range n {
			places = append(places, from+i)
		}
	}
	refused, ran, stuck := 0, 0, 0
	for _, at := range places {
		for _, change := range []byte{1, 0x10, 0xff} {
			bad := slices.Clone(whole)
			bad[at] ^= change
			im, err := Read(bytes.NewReader(bad), "/a.out")
			switch {
			case err != nil:
				refused++
			case exercise(t, im, 8):
				ran++
			default:
				stuck++
			}
		}
	}
	t.Logf("%d places: %d files refused, %d run, %d cannot begin", len(places), refused, ran, stuck)
	if refused == 0 || ran == 0 {
		t.Error("a case never happened")
	}
}

// TestRefusedFiles: the error says what is wrong.
func TestRefusedFiles(t *testing.T) {
	whole, err := os.ReadFile("testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, b ...byte) []byte {
		bad := slices.Clone(whole)
		copy(bad[at:], b)
		return bad
	}
	segment := func(typ elf.ProgType, flags elf.ProgFlag) int {
		o := binary.LittleEndian
		for at := 64; ; at += 56 {
			if elf.ProgType(o.Uint32(whole[at:])) == typ && elf.ProgFlag(o.Uint32(whole[at+4:])) == flags {
				return at
			}
		}
	}
	text := segment(elf.PT_LOAD, elf.PF_R|elf.PF_X)
	far := []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"a text", []byte("#!/bin/sh\necho a text that is as long as a header\n"), "magic"},
		{"another architecture", change(18, byte(elf.EM_AARCH64)), "EM_AARCH64"},
		{"a core file", change(16, byte(elf.ET_CORE)), "ET_CORE"},
		{"no entry point", change(24, 0, 0), "entry point"},
		{"an entry point in the data", change(24, 0, 0x40), "is not in its code"},
		{"a segment that is too far away", change(text+16, far...), "address space"},
		{"a segment that is larger than memory", change(text+40, far...), "address space"},
		{"a segment that ends behind the file", change(text+8, 0, 0xff, 0xff), "bytes"},
		{"segments without order", change(text+16, 0, 0, 0), "before the end"},
		{"static, and no symbols", func() []byte {
			bad := change(segment(elf.PT_INTERP, elf.PF_R), byte(elf.PT_NULL))
			return bytes.ReplaceAll(bad, []byte("\x00main\x00"), []byte("\x00mein\x00"))
		}(), "where its function main is cannot be found"},
	} {
		if _, err := Read(bytes.NewReader(c.file), "/a.out"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	// What only walks need is missed, and nothing more.
	im, err := Read(bytes.NewReader(change(0x2188, 0)), "/a.out")
	if err != nil || im.Missing[".sframe"] == nil || im.Missing[".eh_frame"] != nil || !exercise(t, im, 100) {
		t.Errorf("a damaged .sframe: %v, %v", err, im.Missing)
	}
	for _, path := range []string{"testdata", "testdata/nothing"} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s is a program", path)
		}
	}
}

// TestEveryFault: on stacks of the sample, each word that a walk reads faults in turn. The walk
// is then the beginning of the whole one.
func TestEveryFault(t *testing.T) {
	im, err := Load("testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	th, n := im.NewThread(0), 0
	seen, shorter := map[uint64]int{}, 0
	choose := func(m int) int { n = (n*1103515245 + 12345) & 0x7fffffff; return n >> 8 % m }
	for range 5000 {
		var others [32]uint64
		regs := th.Regs(&others)
		if seen[regs.IP]++; seen[regs.IP] <= 3 {
			for _, m := range [][]user.Method{{user.SFrame}, {user.EhFrame}, {user.FramePointer}} {
				w := user.Walker{Methods: m}
				whole, _ := w.Walk(nil, regs, th, 64)
				for after := 0; ; after++ {
					mem := &failing{Thread: th, after: after}
					got, stop := w.Walk(nil, regs, mem, 64)
					if !slices.Equal(got, whole[:min(len(got), len(whole))]) && m[0] != user.EhFrame {
						t.Fatalf("%v at %#x: %x after %d reads; want the beginning of %x", m, regs.IP, got, after, whole)
					}
					if mem.after >= 0 {
						break
					}
					if len(got) < len(whole) {
						shorter++
						if stop != user.Fault && m[0] != user.EhFrame {
							t.Fatalf("%v at %#x: %v", m, regs.IP, stop)
						}
					}
					if after > 500 {
						t.Fatal("the walk does not end")
					}
				}
			}
		}
		if th.Step(choose) != nil {
			th.Start()
		}
	}
	if shorter == 0 {
		t.Error("no walk is shorter")
	}
}

// failing is a stack of which one read fails.
type failing struct {
	*Thread
	after int
}

func (f *failing) Load(addr uint64) (uint64, bool) {
	if f.after--; f.after == -1 {
		return 0, false
	}
	return f.Thread.Load(addr)
}

// FuzzRead reads arbitrary files, runs them and walks their stacks.
func FuzzRead(f *testing.F) {
	whole, err := os.ReadFile("testdata/sample.elf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(image(f, elf.ET_EXEC, 0x401000, 0x401004))
	f.Fuzz(func(t *testing.T, file []byte) {
		im, err := Read(bytes.NewReader(file), "/a.out")
		if err == nil {
			exercise(t, im, 50)
		}
	})
}
