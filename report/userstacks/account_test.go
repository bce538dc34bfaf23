package userstacks

import (
	"math/rand/v2"
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
)

// The sizes are those of the records that ftrace's events have.
func TestSizes(t *testing.T) {
	if n := events.UserStack.Size; n != walkedData {
		t.Errorf("user_stack has %d bytes", n)
	}
	if n := events.UserUnwindCookie.Size; n != cookieData {
		t.Errorf("user_unwind_cookie has %d bytes", n)
	}
	for _, depth := range []int{0, 1, 8, 510} {
		ips := make([]uint64, depth)
		data := events.UserUnwindStack.Append(nil, event.Common{}, &events.UserUnwindStackRecord{Stack: ips, Inodes: ips, Dev: make([]uint32, depth)})
		if want := uint64(ringbuf.EventSize(len(data))); unwound(depth) != want {
			t.Errorf("a stack of %d addresses takes %d bytes, counted are %d", depth, want, unwound(depth))
		}
	}
}

// The law says the same as the account: for stays with k events and stacks of n addresses,
// deferred takes less than walk exactly from PaysFrom(n) on.
func TestLaw(t *testing.T) {
	for _, depth := range []int{1, 4, 5, 8, 20, 100} {
		from := PaysFrom(depth)
		for _, k := range []int{max(1, from-1), from} {
			a := New()
			rnd := rand.New(rand.NewPCG(1, uint64(depth)))
			for stay := range 50 {
				ips := make([]uint64, depth)
				for i := range ips {
					ips[i] = rnd.Uint64()
				}
				for range k {
					a.Add(&record.Stack{Common: event.Common{PID: 7}, IPs: ips, Stay: uint64(stay + 1)})
				}
			}
			rows := map[string]Row{}
			for _, r := range a.Rows() {
				rows[r.Name] = r
			}
			l := a.Law()
			if less, want := rows["deferred"].Bytes < rows["walk"].Bytes, k >= from; less != want {
				t.Errorf("%d addresses, %d events per stay: deferred %d bytes, walk %d", depth, k, rows["deferred"].Bytes, rows["walk"].Bytes)
			}
			if l.EventsPerStay != float64(k) || l.Depth != float64(depth) || rows["deferred"].Walks != 50 || rows["walk"].Walks != uint64(50*k) {
				t.Errorf("%d addresses, %d events per stay: %+v, %d walks", depth, k, l, rows["deferred"].Walks)
			}
			if (l.EventsPerStay > l.PaysFrom) != (k >= from) {
				t.Errorf("%d addresses: pays from %.2f or %d", depth, l.PaysFrom, from)
			}
		}
	}
}

// Nothing is divided by the events of a trace without user stacks, and an empty stack is
// none.
func TestEmpty(t *testing.T) {
	a := New()
	a.Add(&record.Stack{})
	for _, r := range a.Rows() {
		if r.Bytes != 0 || r.PerEvent != 0 || r.SavingPct != 0 || r.MapBytes != 0 {
			t.Errorf("%+v", r)
		}
	}
	if l := a.Law(); l.Sentence() != "There are no user stacks." {
		t.Error(l.Sentence())
	}
}
