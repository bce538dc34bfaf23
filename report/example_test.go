package report_test

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"ftracelab/report"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// slab is a trace of n events, each with one of two stacks.
type slab struct {
	n, at int
	data  [56]byte
}

func (s *slab) Next(r *record.Record) error {
	if s.at == 2*s.n {
		return io.EOF
	}
	i := s.at / 2
	c := event.Common{Type: 400, PID: 42}
	*r = record.Record{Time: uint64(i) * 1000, Common: c}
	if s.at%2 == 0 {
		c.Put(s.data[:])
		r.Data = s.data[:]
	} else {
		r.Kind = record.KernelStack
		r.Stack = []uint64{0xffffffff81370368, 0xffffffff813d454f, 0xffffffff81469076 + uint64(i%2)}
	}
	s.at++
	return nil
}

// What would stack ids save on a trace? Each event here takes 60 bytes, its stack
// of three addresses 44 in full and 16 as an id.
func ExampleEstimate() {
	r, err := report.Estimate(context.Background(), &slab{n: 100_000}, report.Options{BufferSizeKB: 1024})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range r.Designs {
		fmt.Printf("%-12s %6.2f bytes per event, %d events in the buffer\n", d.Name, d.BytesPerEvent, d.RetainedEvents)
	}
	fmt.Printf("bits=%d\n", r.Recommendation.Bits)
	// Output:
	// full-stacks  104.00 bytes per event, 10027 events in the buffer
	// stackmap      76.00 bytes per event, 13663 events in the buffer
	// no-stacks     60.00 bytes per event, 17516 events in the buffer
	// bits=10
}

// A program reads the JSON of "ftracelab estimate --json", of one capture or of many.
func ExampleReadJSON() {
	r, err := report.Estimate(context.Background(), &slab{n: 1000}, report.Options{Path: "web-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var text bytes.Buffer
	if err := report.WriteJSON(&text, r, r); err != nil {
		fmt.Println(err)
		return
	}
	reports, err := report.ReadJSON(&text)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range reports {
		fmt.Println(r.Input.Path, r.Input.Events, r.Answer.Saving)
	}
	// Output:
	// web-1 1000 With stackmap at bits=10 an event takes 26.9 % less, and the same buffer holds 1.36 times the events.
	// web-1 1000 With stackmap at bits=10 an event takes 26.9 % less, and the same buffer holds 1.36 times the events.
}
