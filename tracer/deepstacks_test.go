package tracer_test

import (
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// In the scenario deep, the map of the second posting cuts stacks with more than 64
// addresses, and with that of the fourth they stand in the trace in full.
func TestDeepStacks(t *testing.T) {
	for version, inFull := range map[string]bool{"v2": false, "v4": true} {
		m, err := machine.New(machine.Config{CPUs: 2})
		if err != nil {
			t.Fatal(err)
		}
		s, err := workload.Find("deep")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(m); err != nil {
			t.Fatal(err)
		}
		ft, err := tracer.New(m, tracer.Config{Stackmap: presets()[version]})
		if err != nil {
			t.Fatal(err)
		}
		l := &lab{t, m, ft, tracefsfs.New(ft.Root())}
		l.write("options/stackmap", "1")
		l.write("options/stacktrace", "1")
		l.write("set_event", "kmem:kmem_cache_alloc")
		l.ft.Run(machine.Second / 2)
		ids, full := stacks(l.read("trace"))
		if ids < 100 || (full > 10) != inFull || !inFull && full > 0 {
			t.Errorf("%s: %d stacks as ids, %d in full", version, ids, full)
		}
	}
}
