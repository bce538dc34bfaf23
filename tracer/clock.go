package tracer

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/clock"
)

// showClock is the text of trace_clock.
func (tr *Instance) showClock() string {
	words := make([]string, len(clock.All))
	for n := range clock.All {
		words[n] = clock.All[n].Name
		if &clock.All[n] == tr.clock {
			words[n] = "[" + words[n] + "]"
		}
	}
	return strings.Join(words, " ") + "\n"
}

// clockWord bounds the length of a write to trace_clock.
const clockWord = 64

// writeClock handles a write to trace_clock; blanks around the name are allowed.
//
// Kernel: tracing_clock_write, kernel/trace/trace.c.
func (tr *Instance) writeClock(s string) error {
	if len(s) >= clockWord {
		return fmt.Errorf("trace_clock: %d bytes: %w", len(s), syscall.EINVAL)
	}
	return tr.setClock(tracefile.Stripped(s))
}

// setClock switches to another clock. Old stamps would make no sense beside
// new ones, so the buffer is emptied.
//
// Kernel: tracing_set_clock, kernel/trace/trace.c.
func (tr *Instance) setClock(name string) error {
	c := clock.ByName(name)
	if c == nil {
		return fmt.Errorf("trace_clock %q: %w", name, syscall.EINVAL)
	}
	tr.clock = c
	tr.clockCalls = 0
	tr.resetBuffer()
	tr.resetSnapshot()
	tr.ft.inodes.reset()
	return nil
}

// now returns the time on cpu by the buffer's clock.
func (tr *Instance) now(cpu int) uint64 {
	return tr.clock.Read(tr.ft.cpuTime(cpu), &tr.clockCalls)
}
