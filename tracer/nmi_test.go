package tracer_test

import (
	"regexp"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// What happens in an NMI has Z in its flags, wherever the NMI came, and its event
// and functions go into the buffer like all others.
func TestNMIsInTheBuffer(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("set_ftrace_filter", "nmi_handle vfs_read")
	l.write("current_tracer", "function")
	l.write("events/nmi/nmi_handler/enable", "1")
	l.m.SetNMIWatchdog(50 * machine.Microsecond)
	l.ft.Run(100 * machine.Millisecond)
	line := regexp.MustCompile(`^.{16}-\d+ +\[\d{3}\] (d|D)[.NnpLB]Z(\.|\d)[.1] +[\d.]+: (nmi_handle <-default_do_nmi|nmi_handler: (perf_event_nmi_handler\(\) delta_ns: \d+ handled: 1|nmi_cpu_backtrace_handler\(\) delta_ns: \d+ handled: 0))$`)
	seen := map[string]int{}
	for _, text := range body(l.read("trace")) {
		if strings.Contains(text, "vfs_read") {
			seen["others"]++
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("line %q", text)
		}
		seen["bh "+m[1]]++
		seen["depth "+m[2]]++
	}
	for _, what := range []string{"others", "bh d", "depth .", "depth 1"} {
		if seen[what] == 0 {
			t.Errorf("none with %s: %v", what, seen)
		}
	}
}

// hwlat and osnoise know how much of what is missing NMIs took.
func TestNMINoise(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("hwlat_detector/width", "10000")
	l.write("hwlat_detector/window", "20000")
	l.write("tracing_thresh", "1")
	l.write("current_tracer", "hwlat")
	l.m.SetNMIWatchdog(2 * machine.Millisecond)
	l.ft.Run(100 * machine.Millisecond)
	if text := l.read("trace"); !regexp.MustCompile(`#1 +inner/outer\(us\): +\d+/\d+ +ts:\d+\.\d+ count:[45] nmi-total:\d+ nmi-count:\d+\n`).MatchString(text) {
		t.Errorf("hwlat:\n%s", text)
	}
	l.write("current_tracer", "nop")
	l.write("current_tracer", "osnoise")
	l.write("events/osnoise/nmi_noise/enable", "1")
	l.ft.Run(1100 * machine.Millisecond)
	text := l.read("trace")
	if !regexp.MustCompile(`\] d.Z.. +[\d.]+: nmi_noise: start \d+\.\d{9} duration \d+ ns\n`).MatchString(text) {
		t.Error("no nmi_noise")
	}
	// RUNTIME NOISE %CPU SINGLE HW NMI IRQ SIRQ THREAD
	count := regexp.MustCompile(`: 10\d{5} +\d+ +\d+\.\d+ +\d+ +(\d+) +(\d+) +\d+ +\d+ +\d+\n`).FindStringSubmatch(text)
	if count == nil || count[1] != "0" || len(count[2]) != 3 {
		t.Errorf("osnoise: hardware and NMI noise %q, want none and some hundred in a second of which one CPU runs all:\n%s", count, text)
	}
}
