package record_test

import (
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// TestStays: which events share a stay in the kernel, and what is not known about that.
func TestStays(t *testing.T) {
	a, b, brim := []uint64{1, 2, 3}, []uint64{1, 2, 4}, []uint64{1, 2, 3, 4, 5, 6, 7, 8}
	entry := record.Stack{NewEntry: true, Call: true, IPs: a}
	exit := record.Stack{Call: true, IPs: a}
	fault := record.Stack{NewEntry: true, IPs: a}
	other := record.Stack{IPs: a}
	// A cookie takes 20 bytes, and the stack of a, of 3 addresses, 4 + 32 + 60.
	const cookie, stack = 20, 96
	for _, c := range []struct {
		name                 string
		stacks               []record.Stack
		cookies, stays, tied uint64
		less, more, deeper   uint64
	}{
		{"a kernel thread", []record.Stack{{}, {}}, 0, 0, 0, 0, 0, 0},
		{"equal stacks", []record.Stack{other, other, other}, 3, 1, 2, 3*cookie + stack, 2 * stack, 0},
		{"other stacks", []record.Stack{other, {IPs: b}, other}, 3, 3, 0, cookie + stack, 0, 0},
		{"a whole call", []record.Stack{entry, other, other, exit}, 4, 1, 0, 4*cookie + stack, 0, 0},
		{"a call without its end", []record.Stack{entry, other}, 2, 1, 1, 2*cookie + stack, stack, 0},
		{"after a call", []record.Stack{entry, exit, other}, 3, 1, 1, 3*cookie + stack, stack, 0},
		{"calls without entries", []record.Stack{exit, exit, exit}, 3, 3, 0, cookie + stack, 0, 0},
		{"an event before the exit", []record.Stack{other, exit}, 2, 1, 1, 2*cookie + stack, stack, 0},
		{"a fault, then a call", []record.Stack{fault, exit}, 2, 2, 0, cookie + stack, 0, 0},
		{"a stack that fills user_stack", []record.Stack{{IPs: brim}, {IPs: brim}}, 2, 1, 1, 2*cookie + 4 + 4 + 192, 4 + 4 + 192, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recorderFor(t, record.Design{Name: "d", Kernel: record.FullStack, User: record.DeferredStack})
			for _, s := range c.stacks {
				s.Common = event.Common{PID: 5}
				if _, err := r.WriteUserStack(0, ringbuf.Normal, &s); err != nil {
					t.Fatal(err)
				}
			}
			n := r.Stacks().Counts
			if n.Cookies != c.cookies || n.Unwinds != c.stays || n.Tied != c.tied {
				t.Errorf("%d cookies, %d stays, %d tied; want %d, %d, %d", n.Cookies, n.Unwinds, n.Tied, c.cookies, c.stays, c.tied)
			}
			if d := r.Stacks().Doubt(); d.Less != c.less || d.More != c.more || d.Deeper != c.deeper {
				t.Errorf("%+v, want less %d, more %d, deeper %d", d, c.less, c.more, c.deeper)
			}
		})
	}
}
