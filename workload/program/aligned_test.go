package program

import (
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"ftracelab/internal/testutil"
	"ftracelab/unwind/sframe"
	"ftracelab/unwind/user"
)

// TestAlignedFrames: a function that aligns its stack copies its return address below the
// gap, and sets its frame pointer there. SFrame 1 and 2 cannot say where the caller's frame
// is, so binutils leave the function out, and a walk takes its frame pointer. That finds the
// caller, but a stack pointer that is too low by the gap; and where the caller's row counts
// from the stack pointer, the walk reads the wrong words. Often it finds the same return
// address again, so that the caller is there twice. A kernel with the same methods does so, too. A
// flexible row of version 3 says where the frame is, and the stack is whole.
func TestAlignedFrames(t *testing.T) {
	im, err := Load(compile(t, "-O1"))
	if err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, im)
	start, ok := im.Entry("aligned")
	if !ok {
		t.Fatal("no function aligned")
	}
	f := im.function(start)
	if _, _, err := j.frames[0].Find(start - im.bias); err == nil {
		testutil.Missing(t, "this assembler has rows for aligned frames")
	}
	// Where the caller's frame is lies below the saved registers: gcc pushes r10 behind them.
	saved, set := int32(0), false
	for at := f.start; at < f.end; {
		in, err := j.th.decode(at)
		if err != nil {
			t.Fatal(err)
		}
		if at += uint64(in.Len); in.Op == x86asm.PUSH && set {
			saved -= 8
			if in.Args[0] == x86asm.R10 {
				break
			}
		}
		set = set || in.String() == "MOV RBP, RSP"
	}
	const fp, register, load = 6 << 3, 1, 2
	v3 := *j.frames[2]
	v3.Funcs = append(slices.Clone(v3.Funcs), sframe.Func{
		Start: f.start - im.bias, Size: uint32(f.end - f.start), Flexible: true,
		Rows: []sframe.Row{{Words: []int32{fp | load | register, saved, 0, fp | load | register, 0}}},
	})
	slices.SortFunc(v3.Funcs, func(a, b sframe.Func) int { return int(int64(a.Start - b.Start)) })
	b, err := v3.Encode(3)
	if err != nil {
		t.Fatal(err)
	}
	flexible, err := sframe.Parse(b, v3.Addr)
	if err != nil {
		t.Fatal(err)
	}
	walk := func(s *sframe.Section, regs user.Regs) []uint64 {
		objects := slices.Clone(im.objects)
		objects[0].Frames = s
		w := user.Walker{Methods: []user.Method{user.SFrame, user.FramePointer}}
		got, _ := w.Walk(nil, regs, space{j.th, objects}, 64)
		return got
	}
	n := uint32(7)
	choose := func(m int) int { n = n*1103515245 + 12345; return int(n>>16) % m }
	through, twice, whole := 0, 0, 0
	for range 200000 {
		if err := j.th.Step(choose); err != nil {
			j.th.Start()
			continue
		}
		want := j.th.Stack(nil)
		at := slices.IndexFunc(want[1:], func(ip uint64) bool { return ip >= f.start && ip < f.end }) + 1
		if at == 0 || j.th.lib != "" || im.linkage(want[0]) {
			continue
		}
		through++
		regs := j.th.Regs(nil)
		if got := walk(flexible, regs); slices.Equal(got, want) {
			whole++
		} else {
			t.Fatalf("at %s by a flexible row: %x, want %x", im.Name(want[0]), got, want)
		}
		got := walk(j.frames[2], regs)
		if common(got, want) < at+2 {
			t.Fatalf("at %s: %x does not have the caller of the aligned frame; want %x", im.Name(want[0]), got, want)
		}
		if len(got) > at+2 && got[at+1] == got[at+2] {
			twice++
		}
	}
	t.Logf("%d walks through an aligned frame: %d whole by a flexible row; without, %d have its caller twice", through, whole, twice)
	if through < 1000 || twice < 100 {
		t.Errorf("%d walks, %d with the caller twice", through, twice)
	}
}
