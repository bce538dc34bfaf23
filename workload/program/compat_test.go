package program

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ftracelab/unwind/user"
)

// compatPrograms are the 32-bit program, and what the installed gcc makes of its source
// where gcc can.
func compatPrograms(t *testing.T) map[string]*Image {
	t.Helper()
	list := map[string]*Image{}
	load := func(name, path string) {
		im, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		list[name] = im
	}
	load("the program", "testdata/compat.elf")
	for name, flags := range map[string][]string{
		"at one place": {"-fno-pic", "-no-pie"}, "at any place": {"-fpie", "-static-pie"},
	} {
		out := filepath.Join(t.TempDir(), "compat")
		args := append(flags, "-m32", "-O1", "-fno-omit-frame-pointer", "-nostdlib", "-static", "-o", out, "testdata/compat.c")
		if text, err := exec.CommandContext(t.Context(), "gcc", args...).CombinedOutput(); err != nil {
			t.Logf("gcc makes no 32-bit program %s: %v: %.200s", name, err, text)
			continue
		}
		load("gcc's, "+name, out)
	}
	return list
}

// TestCompatWalks: a walk by frame pointers finds the whole stack of a 32-bit program,
// except where there is no frame yet or no longer. There it lacks the caller, and at a
// function's entry it has it if it knows that it is there.
func TestCompatWalks(t *testing.T) {
	for name, im := range compatPrograms(t) {
		if !im.Compat || im.word != 4 {
			t.Fatalf("%s: %+v", name, im.layout)
		}
		th, n := im.NewThread(0), uint32(1)
		choose := func(m int) int { n = n*1103515245 + 12345; return int(n>>16) % m }
		w := user.Walker{Arch: user.I386}
		whole, less, entries, calls, deepest, starts := 0, 0, 0, map[int64]int{}, 0, 0
		for range 200000 {
			if err := th.Step(choose); err != nil {
				th.Start()
				starts++
				continue
			}
			if nr, ok := th.Syscall(); ok {
				calls[nr]++
			}
			if len(th.calls) == 0 {
				continue // in _start, which has no frame
			}
			regs, want := th.Regs(nil), th.Stack(nil)
			deepest = max(deepest, len(want))
			got, stop := w.Walk(nil, regs, th, 64)
			in, err := th.decode(regs.IP)
			if err != nil {
				t.Fatal(err)
			}
			switch op := in.String(); {
			case op == "PUSH EBP" || op == "MOV EBP, ESP" || op == "RET":
				if less++; stop != user.Outermost || !slices.Equal(got, slices.Delete(slices.Clone(want), 1, 2)) {
					t.Fatalf("%s: at %s %x, %v; want %x without the second", name, op, got, stop, want)
				}
			default:
				if whole++; stop != user.Outermost || !slices.Equal(got, want) {
					t.Fatalf("%s: at %s %x, %v; want %x", name, op, got, stop, want)
				}
			}
			if regs.Entry = th.AtEntry(); regs.Entry {
				if got, stop := w.Walk(nil, regs, th, 64); stop != user.Outermost || !slices.Equal(got, want) {
					t.Fatalf("%s: at an entry %x, %v; want %x", name, got, stop, want)
				}
				entries++
			}
		}
		t.Logf("%s: %d whole stacks, %d without a caller, %d at an entry, up to %d addresses; system calls %v, %d starts", name, whole, less, entries, deepest, calls, starts)
		if whole < 1000 || less < 1000 || entries < 1000 || calls[20] == 0 || calls[162] == 0 {
			t.Errorf("%s: not enough", name)
		}
	}
}
