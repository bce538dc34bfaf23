package record

import "ftracelab/tracer/event"

// Kind says what a Record carries.
type Kind uint8

// The kinds of Record.
const (
	Event       Kind = iota // Data holds a record
	KernelStack             // Stack belongs to the Event before it in the same context
	UserStack               // likewise, of user space
	Lost                    // Count events were lost here
)

// LostUnknown is the Count of a loss whose size nobody knows.
const LostUnknown = ^uint64(0)

// Record is what passes the waist: an event, or a stack that belongs to one, in
// the order in which one CPU wrote them. Data and Stack are valid until the
// source's next call.
type Record struct {
	Kind   Kind
	CPU    int
	Time   uint64 // in units of the trace clock, nanoseconds for most
	Common event.Common
	Type   *event.Type // of an Event
	Data   []byte      // the binary record, common header included
	Stack  []uint64    // addresses, innermost first
	Count  uint64      // of a Lost
	// NewEntry marks an Event known to be the first of a new stay in the
	// kernel; one stay shares one deferred user stack.
	NewEntry bool
	// Call marks an Event known to be the entry of a system call, if it is a
	// NewEntry, or else its exit. One stay has at most one system call.
	Call bool
	// Stay, of a UserStack, names the stay in the kernel that the stack belongs to, where
	// the source knows it; 0: it does not. Two stays have different names.
	Stay uint64
}

// Source delivers records; the tracers of a simulated machine and a real
// capture look alike through it. Next fills r and returns io.EOF at the end.
// The records of one CPU come in order; CPUs may be interleaved in any
// deterministic way.
type Source interface {
	Next(r *Record) error
}
