package report

import (
	"cmp"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// repeating is a source that keeps none of its records: events with stacks, which repeat.
// It looks at the heap after a tenth of the events and at the end.
type repeating struct {
	events, at  int
	data        []byte
	stacks      [][]uint64
	early, late uint64 // bytes on the heap
}

func (s *repeating) Next(r *record.Record) error {
	i := s.at / 2 // an event, then its stack
	switch s.at {
	case s.events / 10 * 2:
		s.early = heap()
	case s.events * 2:
		s.late = heap()
		return io.EOF
	}
	c := event.Common{Type: 400, PID: int32(i % 50)}
	*r = record.Record{CPU: i % 4, Time: 1000 * uint64(i+1), Common: c}
	if s.at%2 == 0 {
		c.Put(s.data)
		r.Data = s.data
	} else {
		r.Kind, r.Stack = record.KernelStack, s.stacks[i*i%len(s.stacks)]
	}
	s.at++
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemory: what an estimate of eight designs keeps does not grow with the length of the
// trace, if the trace has no new stacks. FTRACELAB_EVENTS is how long the trace is.
func TestMemory(t *testing.T) {
	events, err := strconv.Atoi(cmp.Or(os.Getenv("FTRACELAB_EVENTS"), "200000"))
	if err != nil {
		t.Fatal(err)
	}
	s := &repeating{events: events, data: make([]byte, 56)}
	for i := range 3000 {
		s.stacks = append(s.stacks, frames(i, 5+i%20))
	}
	var opt Options
	for _, name := range []string{"full-stacks", "stackmap", "variable-depth", "strict", "robin-hood", "per-cpu", "aging", "no-stacks"} {
		d, err := record.NamedDesign(name, 12, 1)
		if err != nil {
			t.Fatal(err)
		}
		opt.Designs = append(opt.Designs, d)
	}
	rep, err := Estimate(t.Context(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	if n := rep.Input.Events; n != uint64(events) || len(rep.Designs) != 8 {
		t.Fatalf("%d events, %d designs", n, len(rep.Designs))
	}
	grown := int64(s.late) - int64(s.early)
	t.Logf("%d events: %d bytes on the heap after a tenth of them, %d at the end", events, s.early, s.late)
	if grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}
