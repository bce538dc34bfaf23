package machine_test

import (
	"testing"

	"ftracelab/machine"
)

// TestCallSites: assembled code calls where the kernel's code does. A jump of the kernel's
// code is one if nothing comes after it, and a call otherwise.
func TestCallSites(t *testing.T) {
	ks, err := machine.LoadKallsyms()
	if err != nil {
		t.Fatal(err)
	}
	a := machine.NewAssembler(ks, 100)
	code, err := a.Call("handle_edge_irq").
		Call("_raw_spin_lock").Return(1).
		Call("_raw_spin_unlock").Return(1). // the kernel's code jumps there, but here another call follows
		Call("handle_irq_event").Return(1).
		Call("_raw_spin_unlock").Return(2).
		Call("kthread").Call("irq_thread").Return(2). // through kthread's only pointer
		Code()
	if err != nil {
		t.Fatal(err)
	}
	type site struct {
		callee string
		offset uint64
		jump   bool
	}
	var got []site
	var callers []machine.Symbol
	for _, op := range code {
		switch op.Kind {
		case machine.OpCall:
			s := a.Sites[op.Arg]
			fn, _ := ks.At(s.Func)
			if n := len(callers); n > 0 {
				offset := s.Ret - callers[n-1].Addr
				if s.Tail {
					offset = 0
				} else if offset == 0 || offset > callers[n-1].Size {
					t.Errorf("%s returns to %#x, not into %s", fn.Name, s.Ret, callers[n-1].Name)
				}
				got = append(got, site{fn.Name, offset, s.Tail})
			}
			callers = append(callers, fn)
		case machine.OpReturn:
			callers = callers[:len(callers)-1]
		}
	}
	want := []site{
		{"_raw_spin_lock", 0x1f, false},
		{"_raw_spin_unlock", 0, false},
		{"handle_irq_event", 0x8b, false},
		{"_raw_spin_unlock", 0, true},
		{"irq_thread", 0xcf, false},
	}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i, w := range want {
		if w.offset == 0 {
			w.offset = got[i].offset // it is made up, or a jump
		}
		if got[i] != w {
			t.Errorf("%+v, want %+v", got[i], w)
		}
	}
}
