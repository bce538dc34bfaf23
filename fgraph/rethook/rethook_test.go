package rethook

import (
	"slices"
	"testing"

	"ftracelab/machine"
)

// seen is what a handler was given.
type seen struct {
	name          string
	fn, ret, data uint64
	value         uint64
}

// user makes a hook that notes what it sees.
func user(log *[]seen, name string, num int) *Hook {
	return New(func(_ *machine.CPU, n *Node, ret uint64, f *machine.Frame) {
		*log = append(*log, seen{name, n.Func, ret, n.Data[0], f.Value})
	}, 1, num)
}

func enter(t *testing.T, task *Task, h *Hook, f *machine.Frame, data uint64) {
	t.Helper()
	n := h.Get()
	if n == nil {
		t.Fatal("no node")
	}
	n.Data[0] = data
	task.Hook(n, f)
}

// TestReturn has two users of one call inside a call of one of them.
func TestReturn(t *testing.T) {
	var log []seen
	a, b := user(&log, "a", 2), user(&log, "b", 2)
	var task Task
	outer, inner := machine.Frame{IP: 0x100, Ret: 0xa}, machine.Frame{IP: 0x200, Ret: 0xb}
	enter(t, &task, a, &outer, 1)
	enter(t, &task, a, &inner, 2)
	enter(t, &task, b, &inner, 3)
	if inner.Ret != Trampoline || outer.Ret != Trampoline {
		t.Fatalf("return addresses %#x, %#x", outer.Ret, inner.Ret)
	}
	inner.Value, outer.Value = 7, 8
	task.Return(nil, &inner)
	task.Return(nil, &outer)
	if inner.Ret != 0xb || outer.Ret != 0xa {
		t.Errorf("goes on at %#x, %#x", inner.Ret, outer.Ret)
	}
	want := []seen{{"b", 0x200, 0xb, 3, 7}, {"a", 0x200, 0xb, 2, 7}, {"a", 0x100, 0xa, 1, 8}}
	if !slices.Equal(log, want) {
		t.Errorf("saw %v, want %v", log, want)
	}
}

// TestTailCall has a function that is jumped to: it returns for its caller too.
func TestTailCall(t *testing.T) {
	var log []seen
	a := user(&log, "a", 2)
	var task Task
	caller := machine.Frame{IP: 0x100, Ret: 0xa}
	enter(t, &task, a, &caller, 1)
	callee := machine.Frame{IP: 0x200, Ret: caller.Ret}
	enter(t, &task, a, &callee, 2)
	task.Return(nil, &caller)
	if caller.Ret != 0xa || len(log) != 2 || log[0].fn != 0x200 || log[0].ret != 0xa || log[1].fn != 0x100 {
		t.Errorf("goes on at %#x, saw %v", caller.Ret, log)
	}
}

// TestNodes runs out of nodes, and stops and exits with some in use.
func TestNodes(t *testing.T) {
	var log []seen
	a := user(&log, "a", 1)
	var task Task
	f := machine.Frame{IP: 0x100, Ret: 0xa}
	enter(t, &task, a, &f, 1)
	if a.Get() != nil {
		t.Error("a second node of one")
	}
	task.Flush()
	n := a.Get()
	if n == nil {
		t.Fatal("the node of an exited task is lost")
	}
	f = machine.Frame{IP: 0x100, Ret: 0xa}
	task.Hook(n, &f)
	a.Stop()
	task.Return(nil, &f)
	if len(log) > 0 || f.Ret != 0xa {
		t.Errorf("saw %v, goes on at %#x", log, f.Ret)
	}
	if a.Get() != nil {
		t.Error("a stopped hook gives a node")
	}
}

func TestReturnWithoutCall(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var task Task
	task.Return(nil, &machine.Frame{Ret: Trampoline})
}

// TestUnusedNodes has more nodes than memory.
func TestUnusedNodes(t *testing.T) {
	var log []seen
	h := user(&log, "a", 1<<40)
	var task Task
	f := machine.Frame{IP: 0x100, Ret: 0xa}
	enter(t, &task, h, &f, 1)
	if task.Return(nil, &f); len(log) != 1 {
		t.Errorf("saw %v", log)
	}
	if n := testing.AllocsPerRun(10, func() { h.Get().Recycle() }); n != 0 {
		t.Errorf("a node that was used before takes %v allocations", n)
	}
}
