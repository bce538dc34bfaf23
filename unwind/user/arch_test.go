package user

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"ftracelab/machine"
	"ftracelab/unwind/sframe"

	"pgregory.net/rapid"
)

// halves are words of 4 bytes, as a 32-bit program has them, in words of 8.
func halves(w map[uint64]uint32) words {
	mem := words{}
	for addr, v := range w {
		mem[addr&^7] |= uint64(v) << (8 * (addr & 4))
	}
	return mem
}

// TestArchitectures: one stack of each, worked out by hand.
func TestArchitectures(t *testing.T) {
	for _, c := range []struct {
		name string
		w    Walker
		regs Regs
		mem  machine.UserMemory
		want []uint64
		stop Stop
	}{
		{
			"compat",
			Walker{Arch: I386},
			Regs{UserRegs: machine.UserRegs{IP: 0x8049000, SP: 0xffffd000, FP: 0xffffd004}},
			halves(map[uint64]uint32{0xffffd004: 0xffffd014, 0xffffd008: 0x8049100, 0xffffd014: 0, 0xffffd018: 0xf7c21519}),
			[]uint64{0x8049000, 0x8049100, 0xf7c21519},
			Outermost,
		},
		{
			"compat, no word boundary",
			Walker{Arch: I386},
			Regs{UserRegs: machine.UserRegs{IP: 1, SP: 0x1000, FP: 0x1006}},
			halves(map[uint64]uint32{0x1000: 1, 0x1008: 2}),
			[]uint64{1},
			Misaligned,
		},
		{
			"compat, entry",
			Walker{Arch: I386},
			Regs{UserRegs: machine.UserRegs{IP: 0x8049000, SP: 0xffffd000, FP: 0xffffd014}, Entry: true},
			halves(map[uint64]uint32{0xffffd000: 0x8049100, 0xffffd014: 0, 0xffffd018: 0xf7c21519}),
			[]uint64{0x8049000, 0x8049100, 0xf7c21519},
			Outermost,
		},
		{
			"x86-64, entry",
			Walker{},
			Regs{UserRegs: machine.UserRegs{IP: 0x400000, SP: 0x7000, FP: 0x7010}, Entry: true},
			words{0x7000: 0x400100, 0x7010: 0, 0x7018: 0x400200},
			[]uint64{0x400000, 0x400100, 0x400200},
			Outermost,
		},
		{
			// The frame record lies at the lower end of the frame; 0x7f in its upper bits is a signature.
			"arm64",
			Walker{Arch: ARM64},
			Regs{UserRegs: machine.UserRegs{IP: 0x400000, SP: 0x7000, FP: 0x7000}},
			words{0x7000: 0x7040, 0x7008: 0x2a0000_00400100, 0x7040: 0, 0x7048: 0x7f_0000_00400200},
			[]uint64{0x400000, 0xa000000400100 &^ userSignature, 0x400200},
			Outermost,
		},
		{
			"arm64, entry",
			Walker{Arch: ARM64},
			Regs{UserRegs: machine.UserRegs{IP: 0x400000, SP: 0x7000, FP: 0x7000}, Entry: true, Others: &[32]uint64{30: 0x400080}},
			words{0x7000: 0, 0x7008: 0x400200},
			[]uint64{0x400000, 0x400080, 0x400200},
			Outermost,
		},
		{
			"s390x",
			Walker{Arch: S390X},
			Regs{UserRegs: machine.UserRegs{IP: 0x1000000, SP: 0x7000}},
			words{0x7000: 0x70a0, 0x70a0 + 112: 0x1000100, 0x70a0: 0x7140, 0x7140 + 112: 0x1000200, 0x7140: 0},
			[]uint64{0x1000000, 0x1000100, 0x1000200},
			Outermost,
		},
		{
			"s390x, not saved yet",
			Walker{Arch: S390X},
			Regs{UserRegs: machine.UserRegs{IP: 0x1000000, SP: 0x7000}, Others: &[32]uint64{14: 0x1000100}},
			words{0x7000: 0x70a0, 0x70a0 + 112: 3, 0x70a0: 0},
			[]uint64{0x1000000, 0x1000100},
			Outermost,
		},
		{
			"s390x, odd address",
			Walker{Arch: S390X},
			Regs{UserRegs: machine.UserRegs{IP: 0x1000000, SP: 0x7000}, Others: &[32]uint64{14: 0x1000100}},
			words{0x7000: 0x70a0, 0x70a0 + 112: 0x1000100, 0x70a0: 0x7140, 0x7140 + 112: 5, 0x7140: 0},
			[]uint64{0x1000000, 0x1000100},
			BadAddress,
		},
		{
			"s390x, loop",
			Walker{Arch: S390X},
			Regs{UserRegs: machine.UserRegs{IP: 0x1000000, SP: 0x7000}},
			words{0x7000: 0x70a0, 0x70a0 + 112: 0x1000100, 0x70a0: 0x70a0},
			[]uint64{0x1000000, 0x1000100},
			WrongDirection,
		},
		{
			"no table and no other method",
			Walker{Methods: []Method{SFrame}},
			Regs{UserRegs: machine.UserRegs{IP: 1, SP: 0x7000, FP: 0x7000}},
			words{0x7000: 0x7010, 0x7008: 2},
			[]uint64{1},
			NoFrameData,
		},
		{
			"no table, then frame pointers",
			Walker{Methods: []Method{SFrame, FramePointer}},
			Regs{UserRegs: machine.UserRegs{IP: 1, SP: 0x7000, FP: 0x7000}},
			words{0x7000: 0, 0x7008: 2},
			[]uint64{1, 2},
			Outermost,
		},
	} {
		got, stop := c.w.Walk(nil, c.regs, c.mem, 10)
		if !slices.Equal(got, c.want) || stop != c.stop {
			t.Errorf("%s: %x, %v; want %x, %v", c.name, got, stop, c.want, c.stop)
		}
	}
}

// section reads a section of package sframe's samples.
func section(tb testing.TB, name string, addr uint64) *sframe.Section {
	tb.Helper()
	b, err := os.ReadFile("../sframe/testdata/" + name + ".sframe")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := sframe.Parse(b, addr)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

const arm64Base = 0xaaaaaaaa0000

// arm64Sample is a walker over the functions leaf, mid and pac of a64.so. It has frame
// data only.
func arm64Sample(tb testing.TB) *Walker {
	return &Walker{Arch: ARM64, Methods: []Method{SFrame}, Objects: []Object{{
		Start: arm64Base, End: arm64Base + 0x1000, Bias: arm64Base, Frames: section(tb, "a64.so", 0x318),
	}}}
}

// TestARM64: at each instruction of the sample's functions, called by one another. Their
// code is in docs/provenance.md's folder: mid has a frame of 32 bytes, pac one of 16 and
// a signed return address.
func TestARM64(t *testing.T) {
	w := arm64Sample(t)
	const caller, inMid, sp, signed = 0xffff00001234, arm64Base + 0x288, 0x7000, 0x55 << 48
	for _, c := range []struct {
		name  string
		at    []uint64
		frame uint64 // bytes
		saved bool
		fpSet bool
		sign  uint64
	}{
		{"leaf", []uint64{0x270, 0x274}, 0, false, false, 0},
		{"mid before and after its frame", []uint64{0x278, 0x288}, 0, false, false, 0},
		{"mid before it sets fp", []uint64{0x27c}, 32, true, false, 0},
		{"mid", []uint64{0x280, 0x284}, 32, true, true, 0},
		{"pac before and after its frame", []uint64{0x28c, 0x2a0}, 0, false, false, 0},
		{"pac with a signed register", []uint64{0x290, 0x29c}, 0, false, false, signed},
		{"pac", []uint64{0x294, 0x298}, 16, true, false, signed},
	} {
		// The innermost function was called by mid, and mid by code without frame data.
		outer := sp + c.frame
		mem := words{outer: 0x9000, outer + 8: caller}
		regs := Regs{UserRegs: machine.UserRegs{SP: sp, FP: outer}, Others: &[32]uint64{30: inMid - 4 | c.sign}}
		if c.saved {
			mem[sp], mem[sp+8] = outer, inMid-4|c.sign
			regs.Others[30] = 0xdead
		}
		if c.fpSet {
			regs.FP = sp
		}
		for _, at := range c.at {
			regs.IP = arm64Base + at
			got, stop := w.Walk(nil, regs, mem, 10)
			if want := []uint64{regs.IP, inMid - 4, caller}; !slices.Equal(got, want) || stop != NoFrameData {
				t.Errorf("%s at %#x: %x, %v; want %x", c.name, at, got, stop, want)
			}
			if c.saved {
				continue
			}
			regs.Others, regs = nil, Regs{UserRegs: regs.UserRegs, Others: regs.Others}
			if got, stop := w.Walk(nil, Regs{UserRegs: regs.UserRegs}, mem, 10); len(got) != 1 || stop != NoRegister {
				t.Errorf("%s at %#x without registers: %x, %v", c.name, at, got, stop)
			}
		}
	}
}

// TestOnlyTop: a return address in a register can be believed in the innermost frame only,
// since its caller's registers are not known.
func TestOnlyTop(t *testing.T) {
	w := arm64Sample(t)
	regs := Regs{UserRegs: machine.UserRegs{IP: arm64Base + 0x270, SP: 0x7000}, Others: &[32]uint64{30: arm64Base + 0x274}}
	if got, stop := w.Walk(nil, regs, words{}, 10); len(got) != 2 || stop != WrongDirection {
		t.Errorf("%x, %v", got, stop)
	}
}

// TestS390XFrames: SFrame's rules of s390x, where the caller's sp is 160 below the CFA, and
// the return address may be in a register.
func TestS390XFrames(t *testing.T) {
	frames := &sframe.Section{Version: 3, Flags: sframe.Sorted, Arch: sframe.S390X, Funcs: []sframe.Func{
		{Start: 0x100000, Size: 0x10, Rows: []sframe.Row{{SP: true, Words: []int32{0, 1<<3 | 1}}}},  // in register 1
		{Start: 0x100010, Size: 0x10, Rows: []sframe.Row{{SP: true, Words: []int32{20, -48, -72}}}}, // a frame of 160 bytes
	}}
	w := Walker{Arch: S390X, Methods: []Method{SFrame}, Objects: []Object{{Start: 0x100000, End: 0x110000, Frames: frames}}}
	mem := words{0x7000 + 320 - 48: 0x200000, 0x7000 + 320 - 72: 0x1234}
	got, stop := w.Walk(nil, Regs{UserRegs: machine.UserRegs{IP: 0x100004, SP: 0x7000}, Others: &[32]uint64{1: 0x100014}}, mem, 10)
	if want := []uint64{0x100004, 0x100014, 0x200000}; !slices.Equal(got, want) || stop != NoFrameData {
		t.Errorf("%x, %v; want %x", got, stop, want)
	}
}

// TestFlexible: rules that only version 3 has: the CFA is loaded, and the outermost frame.
func TestFlexible(t *testing.T) {
	frames := &sframe.Section{Version: 3, Flags: sframe.Sorted, Arch: sframe.AMD64, FixedRA: -8, Funcs: []sframe.Func{
		{Start: 0x100, Size: 8, Flexible: true, Rows: []sframe.Row{{Words: []int32{6<<3 | 3, -8, 2, -8, 2, -16}}}},
		{Start: 0x108, Size: 8, Flexible: true, Rows: []sframe.Row{{Words: []int32{3<<3 | 1, 0}}}}, // CFA = rbx
		{Start: 0x110, Size: 8, Rows: []sframe.Row{{}}},
	}}
	w := Walker{Methods: []Method{SFrame}, Objects: []Object{{End: 0x1000, Frames: frames}}}
	mem := words{0x7008 - 8: 0x7100, 0x70f8: 0x108, 0x70f0: 0x9000, 0x7ff8: 0x110}
	for _, c := range []struct {
		regs Regs
		want []uint64
		stop Stop
	}{
		{Regs{UserRegs: machine.UserRegs{IP: 0x100, SP: 0x6000, FP: 0x7008}}, []uint64{0x100, 0x108}, NoRegister},
		{Regs{UserRegs: machine.UserRegs{IP: 0x108, SP: 0x6000}, Others: &[32]uint64{3: 0x8000}}, []uint64{0x108, 0x110}, Outermost},
	} {
		if got, stop := w.Walk(nil, c.regs, mem, 10); !slices.Equal(got, c.want) || stop != c.stop {
			t.Errorf("%x, %v; want %x, %v", got, stop, c.want, c.stop)
		}
	}
	frames.Funcs[0].Rows[0].Words = []int32{2, -8}
	if _, stop := w.Walk(nil, Regs{UserRegs: machine.UserRegs{IP: 0x100}}, mem, 10); stop != BadFrameData {
		t.Errorf("a CFA that counts from itself: %v", stop)
	}
}

// TestFaults: a walk over a stack of which each read in turn faults is the beginning of
// the walk that can read everything.
func TestFaults(t *testing.T) {
	sample := section(t, "sample.elf", 0x2188)
	const sp = 0x7000
	mem := words{sp + 72: 0x11d8, sp + 96: 0, sp + 104: 0x11f0, sp + 128: 0, sp + 136: 0x7ffff000}
	regs := Regs{UserRegs: machine.UserRegs{IP: 0x1150, SP: sp}}
	fpRegs, fpMem := chain(0x7000, 0x7040, 0x7080)
	for _, c := range []struct {
		w    Walker
		regs Regs
		mem  words
	}{
		{Walker{Methods: []Method{SFrame, FramePointer}, Objects: []Object{{End: 0x2000, Frames: sample}}}, regs, mem},
		{Walker{}, Regs{UserRegs: fpRegs}, fpMem},
		{Walker{Arch: ARM64}, Regs{UserRegs: fpRegs}, fpMem},
		{Walker{Arch: S390X}, Regs{UserRegs: machine.UserRegs{IP: 0x1000000, SP: 0x7000}}, words{0x7000: 0x70a0, 0x70a0 + 112: 0x1000100, 0x70a0: 0x7140, 0x7140 + 112: 0x1000200, 0x7140: 0}},
		{Walker{Arch: I386}, Regs{UserRegs: machine.UserRegs{IP: 1, SP: 0x1000, FP: 0x1000}}, halves(map[uint64]uint32{0x1000: 0x1010, 0x1004: 2, 0x1010: 0x1020, 0x1014: 3, 0x1020: 0, 0x1024: 4})},
	} {
		whole, _ := c.w.Walk(nil, c.regs, c.mem, 10)
		if len(whole) < 3 {
			t.Fatalf("%x", whole)
		}
		for n := range 20 {
			f := &faulty{words: c.mem, after: n}
			got, stop := c.w.Walk(nil, c.regs, f, 10)
			if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) || f.faulted && stop != Fault {
				t.Errorf("a fault at read %d: %x, %v; without it %x", n, got, stop, whole)
			}
			if n == 0 && len(got) != 1 {
				t.Errorf("a fault at once: %x", got)
			}
		}
	}
}

// faulty is a stack that cannot be read any more after so many reads.
type faulty struct {
	words
	after   int
	faulted bool
}

func (f *faulty) Load(addr uint64) (uint64, bool) {
	if f.after--; f.after < 0 {
		f.faulted = true
		return 0, false
	}
	return f.words.Load(addr)
}

// TestNoAllocation: no way to walk allocates.
func TestNoAllocation(t *testing.T) {
	regs, mem := chain(0x7000, 0x7040, 0x7080)
	walkers := []Walker{{}, {Arch: I386}, {Arch: ARM64}, {Arch: S390X}}
	for _, version := range []uint8{1, 2, 3} {
		s := section(t, "sample.elf", 0x2188)
		b, err := s.Encode(version)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = sframe.Parse(b, s.Addr); err != nil {
			t.Fatal(err)
		}
		walkers = append(walkers, Walker{Methods: []Method{SFrame, FramePointer}, Objects: []Object{{End: 0x2000, Frames: s}}})
	}
	dst := make([]uint64, 0, 64)
	for i := range walkers {
		for _, ip := range []uint64{0x1150, 0x1180, 0x5000} {
			r := Regs{UserRegs: regs}
			r.IP = ip
			if n := testing.AllocsPerRun(100, func() { dst, _ = walkers[i].Walk(dst[:0], r, mem, 64) }); n != 0 {
				t.Errorf("walker %d at %#x: %v allocations", i, ip, n)
			}
		}
	}
}

// FuzzFramePointers walks arbitrary stacks in each architecture: a walk ends, keeps to the
// limit, and goes up.
func FuzzFramePointers(f *testing.F) {
	for arch := range uint8(4) {
		f.Add(arch, false, uint64(0x3fffff), uint64(0x10), uint64(0x10), []byte{0x20, 1, 0x30, 2, 0x10, 3})
		f.Add(arch, true, uint64(1), uint64(0), ^uint64(0), []byte{})
	}
	f.Fuzz(func(t *testing.T, arch uint8, entry bool, ip, sp, fp uint64, stack []byte) {
		w := Walker{Arch: Arch(arch % 4)}
		mem := &climbing{words: words{}, t: t}
		for i, b := range stack {
			mem.words[sp+8*uint64(i)] = sp + uint64(b)*8
		}
		regs := Regs{UserRegs: machine.UserRegs{IP: ip, SP: sp, FP: fp}, Entry: entry, Others: &[32]uint64{14: sp, 30: fp}}
		check(t, &w, regs, mem)
	})
}

// climbing is a stack that may be read only a few times for each frame.
type climbing struct {
	words
	t     *testing.T
	reads int
}

func (c *climbing) Load(addr uint64) (uint64, bool) {
	c.reads++
	return c.words.Load(addr)
}

// check walks a stack that may be anything.
func check(t *testing.T, w *Walker, regs Regs, mem *climbing) []uint64 {
	t.Helper()
	const most = 64
	got, stop := w.Walk(nil, regs, mem, most)
	if len(got) == 0 || len(got) > most || got[0] != regs.IP {
		t.Fatalf("%d entries: %x", len(got), got)
	}
	if mem.reads > 3*len(got) {
		t.Fatalf("%d reads for %d entries", mem.reads, len(got))
	}
	if (stop == Full) != (len(got) == most) || stop == found {
		t.Fatalf("%d entries, %v", len(got), stop)
	}
	return got
}

// FuzzSFrame walks arbitrary stacks with an arbitrary section.
func FuzzSFrame(f *testing.F) {
	seeds := map[string]uint64{"sample.elf": 0x2188, "a64.so": 0x318}
	for name, addr := range seeds {
		s := section(f, name, addr)
		for _, version := range []uint8{1, 2, 3} {
			b, err := s.Encode(version)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, uint64(0x1150), uint64(0x7000), uint64(0x7010), []byte{0x11, 0xd8, 0x11, 0xf0, 0x02, 0x84})
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, ip, sp, fp uint64, stack []byte) {
		frames, err := sframe.Parse(b, 0x2188)
		if err != nil {
			return
		}
		// A word is either an address of code or one of the stack.
		mem := &climbing{words: words{}, t: t}
		for i := 0; i+1 < len(stack); i += 2 {
			word := uint64(binary.BigEndian.Uint16(stack[i:]))
			if word >= 0x8000 {
				word = sp + word&0x7ff8
			}
			mem.words[sp&^7+4*uint64(i)] = word
		}
		arch := map[uint8]Arch{sframe.AMD64: AMD64, sframe.ARM64: ARM64, sframe.S390X: S390X}[frames.Arch]
		regs := Regs{UserRegs: machine.UserRegs{IP: ip, SP: sp, FP: fp}, Others: &[32]uint64{14: ip, 30: ip}}
		for _, methods := range [][]Method{{SFrame}, {SFrame, FramePointer}} {
			w := &Walker{Arch: arch, Methods: methods, Objects: []Object{{End: ^uint64(0), Frames: frames}}}
			mem.reads = 0
			check(t, w, regs, mem)
		}
	})
}

// TestCorruptedSection changes each bit of each byte of the samples' sections: an error,
// or a walk that ends. A section that is not what it was may lead elsewhere, but what
// comes from memory comes from the stack.
func TestCorruptedSection(t *testing.T) {
	const sp = 0x7000
	sample := words{sp + 72: 0x11d8, sp + 96: 0, sp + 104: 0x11f0, sp + 128: 0, sp + 136: 0x7ffff000}
	refused, walked, same := 0, 0, 0
	for _, c := range []struct {
		name string
		addr uint64
		arch Arch
		regs Regs
		mem  words
	}{
		{"sample.elf", 0x2188, AMD64, Regs{UserRegs: machine.UserRegs{IP: 0x1150, SP: sp}}, sample},
		{"a64.so", 0x318, ARM64, Regs{UserRegs: machine.UserRegs{IP: 0x294, SP: sp}}, words{sp: sp + 16, sp + 8: 0x284, sp + 16: 0, sp + 24: 0x9000}},
	} {
		s := section(t, c.name, c.addr)
		w := Walker{Arch: c.arch, Methods: []Method{SFrame}, Objects: []Object{{End: 0x2000, Frames: s}}}
		whole, _ := w.Walk(nil, c.regs, c.mem, 64)
		if len(whole) < 3 {
			t.Fatalf("%x", whole)
		}
		for _, version := range []uint8{1, 2, 3} {
			b, err := s.Encode(version)
			if err != nil {
				t.Fatal(err)
			}
			for at := range b {
				for flip := 1; flip < 256; flip++ {
					bad := slices.Clone(b)
					bad[at] ^= byte(flip)
					frames, err := sframe.Parse(bad, c.addr)
					if err != nil {
						refused++
						continue
					}
					w.Objects[0].Frames = frames
					got := check(t, &w, c.regs, &climbing{words: c.mem, t: t})
					for _, ip := range got[1:] {
						if !inside(c.mem, ip) {
							t.Fatalf("%s, byte %#x: %#x is nowhere on the stack", c.name, at, ip)
						}
					}
					if walked++; slices.Equal(got, whole) {
						same++
					}
				}
			}
		}
	}
	t.Logf("%d refused, %d walked, of which %d as before", refused, walked, same)
	if refused == 0 || same == 0 || same == walked {
		t.Error("a case never happened")
	}
}

// inside reports whether a word is on a stack.
func inside(mem words, word uint64) bool {
	for _, v := range mem {
		if v == word {
			return true
		}
	}
	return false
}

// TestWalkFindsChainEverywhere walks random chains of frames in each architecture that
// has frame pointers.
func TestWalkFindsChainEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arch := rapid.SampledFrom([]Arch{AMD64, I386, ARM64, S390X}).Draw(t, "arch")
		gaps := rapid.SliceOfN(rapid.Uint64Range(20, 100), 1, 80).Draw(t, "gaps")
		mem, at := words{}, uint64(0x7fff0000)
		regs := Regs{UserRegs: machine.UserRegs{IP: 0x3ffffe, SP: at, FP: at}}
		want := []uint64{regs.IP}
		for i, g := range gaps {
			next, ra := at+8*g, 0x400000+uint64(i)*2
			if want = append(want, ra); i == len(gaps)-1 {
				next = 0
			}
			switch arch {
			case I386:
				mem[at] = next | ra<<32
			case S390X:
				next = at + 8*g
				mem[at], mem[next+s390xRA], mem[next] = next, ra, 0
			default:
				mem[at], mem[at+8] = next, ra
			}
			at += 8 * g
		}
		w := Walker{Arch: arch}
		if got, stop := w.Walk(nil, regs, mem, 100); !slices.Equal(got, want) {
			t.Fatalf("%d entries instead of %d: %v", len(got), len(want), stop)
		}
	})
}
