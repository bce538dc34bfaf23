package slots

import (
	"testing"

	"pgregory.net/rapid"

	"ftracelab/machine"
)

// Calls take the lowest free slot, are counted if there is none, and each returns to where
// it was called from, in whatever order tasks return.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 8, Max}).Draw(t, "slots")
		table := New(n)
		seen := 0
		var last Slot
		table.Return = func(_ *machine.CPU, s *Slot) { seen, last = seen+1, *s }
		type call struct {
			f       *machine.Frame
			ret, at uint64
			slot    int
		}
		var open []call
		var now, over uint64
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			now += 10
			c := &machine.CPU{Time: now}
			if len(open) == 0 || rapid.IntRange(0, 2).Draw(t, "call") > 0 {
				f := &machine.Frame{Ret: 0x1000 + now}
				lowest := 0
				for taken := true; taken; {
					taken = false
					for _, o := range open {
						if o.slot == lowest {
							lowest, taken = lowest+1, true
						}
					}
				}
				table.Enter(c, f)
				slot, hooked := Trampoline(f.Ret)
				if hooked != (lowest < n) || hooked && slot != lowest {
					t.Fatalf("slot %d, %v; the lowest free one of %d is %d", slot, hooked, n, lowest)
				}
				if !hooked {
					over++
				} else {
					open = append(open, call{f, 0x1000 + now, now, slot})
				}
			} else {
				at := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				o := open[at]
				open = append(open[:at:at], open[at+1:]...)
				was := seen
				table.Leave(c, o.f)
				if o.f.Ret != o.ret || seen != was+1 || last != (Slot{o.ret, o.at, now}) {
					t.Fatalf("goes on at %#x, saw %+v; called from %#x at %d, now %d", o.f.Ret, last, o.ret, o.at, now)
				}
			}
			taken := 0
			for slot, s := range table.Taken {
				taken++
				if slot >= n || s.Ret == 0 {
					t.Fatalf("slot %d of %d holds %+v", slot, n, s)
				}
			}
			if taken != len(open) || table.Overrun != over {
				t.Fatalf("%d slots taken, %d calls open; overrun %d, want %d", taken, len(open), table.Overrun, over)
			}
		}
	})
}

func TestReturnToFreeSlot(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(1).Leave(&machine.CPU{}, &machine.Frame{Ret: firstTrampoline})
}
