package tracer_test

import (
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// TestBufferPercent: readers of sub-buffers wake for any event until buffer_percent is
// written, then when so much of the buffer is full, and in any case when tracing stops.
func TestBufferPercent(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("buffer_size_kb", "64")
	node, err := l.fs.Lookup("per_cpu/cpu0/trace_pipe_raw")
	if err != nil {
		t.Fatal(err)
	}
	ready := node.(*tracefile.File).Ring.Ready
	want := func(when string, is bool) {
		t.Helper()
		if ready() != is {
			t.Errorf("%s: readers are to wake: %v", when, !is)
		}
	}
	want("nobody has written buffer_percent", true)
	l.write("buffer_percent", "50")
	want("the buffer is empty", false)
	l.write("set_event", "sched:sched_switch")
	for n := 0; n < 1000 && l.ft.Top().Buffer().Stats(0).Entries == 0; n++ {
		l.ft.Run(machine.Millisecond)
	}
	want("there is one event", false)
	l.write("buffer_percent", "0")
	want("any event wakes", true)
	l.write("buffer_percent", "50")
	for n := 0; n < 1000 && l.ft.Top().Buffer().Stats(0).Overrun == 0; n++ {
		l.ft.Run(10 * machine.Millisecond)
	}
	want("the buffer is full", true)
	l.write("trace", "")
	l.write("tracing_on", "0")
	want("tracing has stopped", true)
}
