package user

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"

	"ftracelab/machine"
	"ftracelab/unwind/ehframe"
	"ftracelab/unwind/sframe"
)

// The functions of the sample a64.so, which a file in testdata has the code of.
const (
	a64Text = 0x270
	a64Leaf = 0x270 // no frame
	a64Mid  = 0x278 // a frame of 32 bytes, with a frame pointer
	a64Pac  = 0x28c // a frame of 16 bytes without one; its return address is signed
)

// Where the stack of the test begins, the signature in a signed address, and what called the
// outermost function: code without frame data.
const (
	a64Stack     = 0xffffd0000000
	a64Signature = 0x2b << 48
	a64Outside   = 0xffff00001234
)

// thread64 executes the sample. It notes what a walk should find.
type thread64 struct {
	*testing.T
	code  []byte
	x     [32]uint64 // 31 is sp
	pc    uint64     // in the file
	mem   words
	calls []call64
}

// call64 is a function under way.
type call64 struct {
	from   uint64 // where it returns to
	record bool   // fp leads to its frame
}

// step executes an instruction. A call goes to the function that choose gives.
func (th *thread64) step(choose func() uint64) {
	in, err := arm64asm.Decode(th.code[th.pc-a64Text:])
	if err != nil {
		th.Fatal(err)
	}
	next, innermost := th.pc+4, len(th.calls)-1
	const fp, lr, sp = 29, 30, 31
	switch text := in.String(); text {
	case "ADD W0, W0, #0x1":
	case "MOV X29, SP":
		th.x[fp], th.calls[innermost].record = th.x[sp], true
	case "STP X29, X30, [SP,#-32]!", "STP X29, X30, [SP,#-16]!":
		th.x[sp] -= map[byte]uint64{'3': 32, '1': 16}[text[len("STP X29, X30, [SP,#-")]]
		th.mem[th.x[sp]], th.mem[th.x[sp]+8] = th.x[fp], th.x[lr]
	case "LDP X29, X30, [SP],#32", "LDP X29, X30, [SP],#16":
		th.x[fp], th.x[lr] = th.mem[th.x[sp]], th.mem[th.x[sp]+8]
		delete(th.mem, th.x[sp])
		delete(th.mem, th.x[sp]+8)
		th.x[sp] += map[byte]uint64{'3': 32, '1': 16}[text[len("LDP X29, X30, [SP],#")]]
		th.calls[innermost].record = false
	case "HINT #0x19": // paciasp
		th.x[lr] |= a64Signature
	case "HINT #0x1d": // autiasp
		th.x[lr] &^= userSignature
	case "RET X30":
		if th.x[lr] != th.calls[innermost].from {
			th.Fatalf("it returns to %#x instead of %#x", th.x[lr], th.calls[innermost].from)
		}
		next, th.calls = th.x[lr]-arm64Base, th.calls[:innermost]
	default:
		if in.Op != arm64asm.BL {
			th.Fatalf("%s is not known", text)
		}
		th.x[lr] = arm64Base + next
		next = choose()
		th.calls = append(th.calls, call64{from: th.x[lr]})
	}
	th.pc = next
}

// stack is what a walk should find: all of it, and by frame pointers.
func (th *thread64) stack() (all, byFP []uint64) {
	all = []uint64{arm64Base + th.pc}
	byFP = slices.Clone(all)
	for _, c := range slices.Backward(th.calls) {
		all = append(all, c.from)
		if c.record {
			byFP = append(byFP, c.from)
		}
	}
	return all, byFP
}

// TestARM64Agree: the sample's functions are executed, in any order of calls. At each
// instruction SFrame 1, 2 and 3 and .eh_frame find the whole stack, and frame pointers find
// the callers of the functions that have set one: not of leaf, which has no frame, not of pac, which
// sets none, and not of mid in its first two and its last instruction. That is all that differs.
func TestARM64Agree(t *testing.T) {
	code, err := os.ReadFile("testdata/a64.so.text")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../ehframe/testdata/a64.so.eh_frame")
	if err != nil {
		t.Fatal(err)
	}
	eh, err := ehframe.Parse(b, 0x2a8, ehframe.ARM64)
	if err != nil {
		t.Fatal(err)
	}
	object := Object{Start: arm64Base, End: arm64Base + 0x1000, Bias: arm64Base, EhFrames: eh}
	walkers := map[string]*Walker{"fp": {Arch: ARM64}, "eh_frame": {Arch: ARM64, Methods: []Method{EhFrame}, Objects: []Object{object}}}
	first := section(t, "a64.so", 0x318)
	for version, name := range map[uint8]string{1: "SFrame 1", 2: "SFrame 2", 3: "SFrame 3"} {
		b, err := first.Encode(version)
		if err != nil {
			t.Fatal(err)
		}
		if object.Frames, err = sframe.Parse(b, first.Addr); err != nil {
			t.Fatal(err)
		}
		walkers[name] = &Walker{Arch: ARM64, Methods: []Method{SFrame}, Objects: []Object{object}}
	}
	r := rand.New(rand.NewPCG(1, 1))
	th := &thread64{T: t, code: code}
	places, same, less, deepest := map[uint64]int{}, map[string]int{}, 0, 0
	for len(places) < len(code)/4 || places[a64Pac+8] < 200 {
		if len(th.calls) == 0 {
			th.x = [32]uint64{30: a64Outside, 31: a64Stack}
			th.mem, th.pc = words{}, []uint64{a64Leaf, a64Mid, a64Pac}[r.IntN(3)]
			th.calls = []call64{{from: a64Outside}}
		}
		places[th.pc]++
		all, byFP := th.stack()
		deepest = max(deepest, len(all))
		others := th.x
		regs := Regs{UserRegs: machine.UserRegs{IP: all[0], SP: th.x[31], FP: th.x[29]}, Others: &others}
		for name, w := range walkers {
			got, stop := w.Walk(nil, regs, th.mem, 100)
			want, end := all, NoFrameData
			if name == "fp" {
				if want, end = byFP, Outermost; len(byFP) < len(all) {
					less++
				}
			}
			if !slices.Equal(got, want) || stop != end {
				t.Fatalf("%s at %#x: %x, %v; want %x, %v", name, th.pc, got, stop, want, end)
			}
			if slices.Equal(got, all) {
				same[name]++
			}
		}
		th.step(func() uint64 {
			if len(th.calls) > 12 {
				return a64Leaf
			}
			return []uint64{a64Leaf, a64Mid, a64Pac}[r.IntN(3)]
		})
	}
	t.Logf("%d instructions, up to %d addresses, whole stacks: %v; frame pointers lack callers %d times", len(places), deepest, same, less)
	if same["fp"] == 0 || less == 0 || deepest < 10 {
		t.Error("not enough")
	}
}
