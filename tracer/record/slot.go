package record

import "ftracelab/ringbuf"

// Slot is room for an event in the buffer, taken before its record is complete
// or its fate is known. What is recorded meanwhile comes after it. Exactly one
// call of Commit or Discard ends it. The zero value holds no room.
type Slot struct {
	ring  Ring
	cpu   int
	event ringbuf.Event
}

// Open takes room for a record of size bytes. On an error the buffer has taken
// nothing.
//
// Kernel: trace_event_buffer_lock_reserve, kernel/trace/trace.c.
func (r *Recorder) Open(cpu int, ctx ringbuf.Context, size int) (Slot, error) {
	e, err := r.ring.Reserve(cpu, ctx, size)
	if err != nil {
		return Slot{}, err
	}
	return Slot{ring: r.ring, cpu: cpu, event: e}, nil
}

// IsOpen reports whether s holds room.
func (s *Slot) IsOpen() bool { return s.ring != nil }

// Time is the time of the event, by the buffer's clock.
func (s *Slot) Time() uint64 { return s.event.Time }

// Fill copies the record to its place.
func (s *Slot) Fill(data []byte) { copy(s.event.Data, data) }

// Commit publishes the record.
func (s *Slot) Commit() { s.ring.Commit(s.cpu, s.event); s.ring = nil }

// Discard gives the room back. A reader never sees the record.
func (s *Slot) Discard() { s.ring.Discard(s.cpu, s.event); s.ring = nil }

// Nested calls f, which may record while a Slot of the same context is open on the CPU.
// Without it the buffer takes such a record for a recursion and refuses it.
//
// Kernel: ring_buffer_nest_start and ring_buffer_nest_end, kernel/trace/ring_buffer.c.
func (r *Recorder) Nested(cpu int, f func()) {
	r.ring.NestStart(cpu)
	f()
	r.ring.NestEnd(cpu)
}
