package user

import (
	"os"
	"slices"
	"testing"

	"ftracelab/machine"
	"ftracelab/unwind/ehframe"
)

func ehSection(tb testing.TB) []byte {
	tb.Helper()
	b, err := os.ReadFile("../ehframe/testdata/sample.elf.eh_frame")
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

const ehAddr = 0x2050

func ehWalker(tb testing.TB, methods ...Method) *Walker {
	s, err := ehframe.Parse(ehSection(tb), ehAddr, ehframe.AMD64)
	if err != nil {
		tb.Fatal(err)
	}
	return &Walker{Methods: methods, Objects: []Object{{End: 0x2000, EhFrames: s}}}
}

// TestEhFrame: stacks of the sample, worked out by hand.
func TestEhFrame(t *testing.T) {
	const sp = 0x7000
	for _, c := range []struct {
		name string
		regs Regs
		mem  words
		want []uint64
		stop Stop
	}{
		{
			// mid has a frame of 80 bytes, rec of 32, and main's caller is not known.
			"no frame pointers",
			Regs{UserRegs: machine.UserRegs{IP: 0x1150, SP: sp}},
			words{sp + 64: 1, sp + 72: 0x11d8, sp + 88: 2, sp + 96: 0, sp + 104: 0x11f0, sp + 120: 0, sp + 128: 0, sp + 136: 0x7ffff000},
			[]uint64{0x1150, 0x11d8, 0x11f0, 0x7ffff000},
			NoFrameData,
		},
		{
			// 0x11da is the end of rec and the start of main. It is rec that has called.
			"the call is looked up",
			Regs{UserRegs: machine.UserRegs{IP: 0x1129, SP: sp}},
			words{sp: 0x11da, sp + 16: 0, sp + 24: 0, sp + 32: 0x7ffff000},
			[]uint64{0x1129, 0x11da, 0x7ffff000},
			NoFrameData,
		},
		{"outermost", Regs{UserRegs: machine.UserRegs{IP: 0x1050, SP: sp}}, words{}, []uint64{0x1050}, Outermost},
		{"the frame pointer is needed", Regs{UserRegs: machine.UserRegs{IP: 0x1190, SP: sp, FP: 0x6000}}, words{0x6008: 1}, []uint64{0x1190}, WrongDirection},
		{"not on a word boundary", Regs{UserRegs: machine.UserRegs{IP: 0x1129, SP: sp + 4}}, words{sp + 4: 0x11e7}, []uint64{0x1129}, Misaligned},
		{"fault", Regs{UserRegs: machine.UserRegs{IP: 0x1129, SP: sp}}, words{}, []uint64{0x1129}, Fault},
		{"no row", Regs{UserRegs: machine.UserRegs{IP: 0x1070, SP: sp}}, words{}, []uint64{0x1070}, NoFrameData},
	} {
		if got, stop := ehWalker(t, EhFrame).Walk(nil, c.regs, c.mem, 10); !slices.Equal(got, c.want) || stop != c.stop {
			t.Errorf("%s: %x, %v; want %x, %v", c.name, got, stop, c.want, c.stop)
		}
	}
}

// TestEhFrameThenFramePointers: where .eh_frame has no row, the next method goes on, and
// the registers that only .eh_frame knew are forgotten.
func TestEhFrameThenFramePointers(t *testing.T) {
	mem := words{0x7000: 0x9000, 0x7010: 0x7020, 0x7018: 0x1190, 0x7020: 0, 0x7028: 0x11e7}
	got, stop := ehWalker(t, EhFrame, FramePointer).Walk(nil, Regs{UserRegs: machine.UserRegs{IP: 0x8000, SP: 0x7000, FP: 0x7010}}, mem, 10)
	if want := []uint64{0x8000, 0x1190, 0x11e7}; !slices.Equal(got, want) || stop != Fault {
		t.Errorf("%x, %v; want %x", got, stop, want)
	}
}

// TestOtherArchitectures: a section for another architecture has no row.
func TestOtherArchitectures(t *testing.T) {
	for _, arch := range []Arch{I386, ARM64, S390X} {
		w := ehWalker(t, EhFrame)
		w.Arch = arch
		if got, stop := w.Walk(nil, Regs{UserRegs: machine.UserRegs{IP: 0x1129, SP: 0x7000}}, words{0x7000: 0x11e7}, 10); len(got) != 1 || stop != NoFrameData {
			t.Errorf("%v: %x, %v", arch, got, stop)
		}
	}
}

// mapped is memory with a program of its own.
type mapped struct {
	words
	objects []Object
}

func (m mapped) Objects() []Object { return m.objects }

// TestAddressSpace: two programs lie at the same addresses. Each stack is walked with the
// tables of its own.
func TestAddressSpace(t *testing.T) {
	regs := Regs{UserRegs: machine.UserRegs{IP: 0x1129, SP: 0x7000}}
	mem := words{0x7000: 0x8888}
	w := ehWalker(t, EhFrame)
	for _, c := range []struct {
		mem  machine.UserMemory
		want int
	}{{mem, 2}, {mapped{mem, nil}, 1}, {mapped{mem, w.Objects}, 2}} {
		if got, _ := w.Walk(nil, regs, c.mem, 10); len(got) != c.want {
			t.Errorf("%x, want %d addresses", got, c.want)
		}
	}
}

// FuzzEhFrame walks arbitrary stacks with an arbitrary section: a walk ends and goes up.
func FuzzEhFrame(f *testing.F) {
	f.Add(ehSection(f), uint64(0x1150), uint64(0x7000), uint64(0x7010), []byte{0x11, 0xd8, 0x11, 0xf0, 0x10, 0x61})
	f.Fuzz(func(t *testing.T, b []byte, ip, sp, fp uint64, stack []byte) {
		s, err := ehframe.Parse(b, ehAddr, ehframe.AMD64)
		if err != nil {
			return
		}
		mem := words{}
		for i := 0; i+1 < len(stack); i += 2 {
			word := uint64(stack[i])<<8 | uint64(stack[i+1])
			if word >= 0x8000 {
				word = sp + word&0x7ff8
			}
			mem[sp&^7+4*uint64(i)] = word
		}
		const most = 32
		w := &Walker{Methods: []Method{EhFrame, FramePointer}, Objects: []Object{{End: ^uint64(0), EhFrames: s}}}
		regs := Regs{UserRegs: machine.UserRegs{IP: ip, SP: sp, FP: fp}, Others: &[32]uint64{3: sp, 10: sp + 8}}
		got, stop := w.Walk(nil, regs, mem, most)
		if len(got) == 0 || len(got) > most || got[0] != ip || (stop == Full) != (len(got) == most) || stop == found {
			t.Fatalf("%x, %v", got, stop)
		}
	})
}
