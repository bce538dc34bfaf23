package rethook

import (
	"testing"

	"ftracelab/machine"
)

// TestFprobe follows a call, refuses one, misses one and is disabled during one.
func TestFprobe(t *testing.T) {
	var task Task
	wanted, exits := true, 0
	p := &Fprobe{DataWords: 1, MaxActive: 1}
	p.Entry = func(_ *machine.CPU, f *machine.Frame, data []uint64) bool {
		data[0] = f.IP + 1
		return wanted
	}
	p.Exit = func(_ *machine.CPU, fn, ret uint64, f *machine.Frame, data []uint64) {
		if fn != 0x100 || ret != 0xa || data[0] != 0x101 || f.Value != 5 {
			t.Errorf("exit of %#x to %#x with %#x, value %d", fn, ret, data[0], f.Value)
		}
		exits++
	}
	p.Register(1, 2)
	call := func() *machine.Frame {
		f := &machine.Frame{IP: 0x100, Ret: 0xa}
		p.Enter(nil, &task, f)
		return f
	}
	leave := func(f *machine.Frame) {
		f.Value = 5
		if f.Ret == Trampoline {
			task.Return(nil, f)
		}
	}

	f := call()
	missed := call()
	leave(missed)
	leave(f)
	if exits != 1 || p.Missed != 1 {
		t.Errorf("%d exits, %d missed", exits, p.Missed)
	}
	wanted = false
	leave(call())
	wanted = true
	f = call()
	p.Disabled = true
	leave(f)
	leave(call())
	p.Disabled = false
	f = call()
	p.Unregister()
	leave(f)
	if exits != 1 || f.Ret != 0xa {
		t.Errorf("%d exits of calls that were refused, not wanted or not seen to their end", exits)
	}
}

// TestFprobeNodes counts the calls that can be followed where nobody says how many.
func TestFprobeNodes(t *testing.T) {
	p := &Fprobe{Exit: func(*machine.CPU, uint64, uint64, *machine.Frame, []uint64) {}}
	p.Register(3, 2)
	var task Task
	for range 13 {
		p.Enter(nil, &task, &machine.Frame{})
	}
	if p.Missed != 1 {
		t.Errorf("%d of 13 missed, want 1", p.Missed)
	}
}
