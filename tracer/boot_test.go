package tracer_test

import (
	"regexp"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// With trace_options=stackmap,stacktrace at boot, stacks are full until the
// initcalls have run and ids from then on; no zone is mixed and nothing is lost.
func TestBootCrossover(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000, BootOptions: "stackmap,stacktrace", InitcallTime: 10 * machine.Millisecond})
	l.want("options/stackmap", "1\n")
	l.want("options/stacktrace", "1\n")
	l.write("set_event", "kmem:kmem_cache_alloc sched:sched_switch")
	if _, err := l.fs.Lookup("stack_map"); err == nil {
		t.Error("stack_map is there before the map")
	}
	for range 100 { // however the run is cut
		l.ft.Run(300 * machine.Microsecond)
	}
	l.write("tracing_on", "0")
	full, ids, events := 0, 0, 0
	line := regexp.MustCompile(`^ .*\] \S+ +(\d+\.\d+): (<stack trace>|<stack_id|\w+:)`)
	for _, text := range body(l.read("trace")) {
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		early := m[1] < "0.010000"
		switch m[2] {
		case "<stack trace>":
			full++
			if !early {
				t.Errorf("a full stack after the initcalls: %s", text)
			}
		case "<stack_id":
			ids++
			if early {
				t.Errorf("an id before the initcalls: %s", text)
			}
		default:
			events++
		}
	}
	if full == 0 || ids == 0 || full+ids != events {
		t.Errorf("%d events, %d full stacks, %d ids", events, full, ids)
	}
	l.read("stack_map_stat")
}

func TestBootOptions(t *testing.T) {
	l := newLab(t, tracer.Config{BootOptions: "sym-offset,,noannotate"})
	l.want("options/sym-offset", "1\n")
	l.want("options/annotate", "0\n")
	if err := l.ft.Ignored(); err != nil {
		t.Error(err)
	}
	// What the kernel does not know it ignores, and what does not fit into its buffer.
	l = newLab(t, tracer.Config{BootOptions: "nosuch,sym-offset,test_nop_refuse," + strings.Repeat(",", 57) + "noannotate"})
	l.want("options/sym-offset", "1\n")
	l.want("options/annotate", "1\n")
	const want = `trace_options: no option "such": invalid argument
test_nop_refuse: the nop tracer refuses: invalid argument
trace_options: no option "annota": invalid argument
trace_options: more than 99 bytes`
	if err := l.ft.Ignored(); err == nil || err.Error() != want {
		t.Errorf("ignored:\n%v\nwant\n%s", err, want)
	}
}
