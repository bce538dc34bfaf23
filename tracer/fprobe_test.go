package tracer

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
)

// lines are those of trace that a pattern matches.
func (l *dynLab) lines(pattern string) []string {
	l.t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	for line := range strings.Lines(l.read("trace")) {
		if line = strings.TrimSuffix(line, "\n"); re.MatchString(line) {
			found = append(found, line)
		}
	}
	return found
}

// Every call is seen at its entry and at its return, with the flags that the oracle's
// capture of fprobes shows.
func TestFprobeEvents(t *testing.T) {
	l := newProbeLab(t)
	l.must("dynamic_events", "f:enter vfs_read\nf3:leave vfs_read%return ret=$retval:s64\nf:alone vfs_write\nf:many vfs_w*\n")
	l.want("dynamic_events", "f:fprobes/enter vfs_read\nf3:fprobes/leave vfs_read%return ret=$retval:s64\nf:fprobes/alone vfs_write\nf:fprobes/many vfs_w*\n")
	if got := l.read("enabled_functions"); !strings.Contains(got, "vfs_read (2) R") {
		t.Errorf("enabled_functions before the events are enabled: %q", got)
	}
	l.must("events/fprobes/enable", "1\n")
	l.fails("dynamic_events", "-:enter\n", syscall.EBUSY)
	l.ft.Run(100 * machine.Millisecond)
	l.must("events/fprobes/enable", "0\n")
	for name, pattern := range map[string]string{
		"enter": `\.\.\.1\. +\d+\.\d+: enter: \(vfs_read\+0x4/0x370\)$`,
		"leave": `\.\.\.1\. +\d+\.\d+: leave: \(\w+\+0x[0-9a-f]+/0x[0-9a-f]+ <- vfs_read\) ret=-?\d+$`,
		"many":  `: many: \(vfs_w\w+\+0x4/`,
		"alone": `\.\.\.1\. +\d+\.\d+: alone: \(vfs_write\+0x4/`,
	} {
		all := l.lines(": " + name + ": ")
		if good := l.lines(pattern); len(good) < 5 || len(good) != len(all) {
			t.Errorf("%s: %d lines, %d as they should be; the first %q", name, len(all), len(good), all[:min(1, len(all))])
		}
	}
	reads, returns := len(l.lines(": enter: ")), len(l.lines(": leave: "))
	if returns > reads || reads-returns > 20 {
		t.Errorf("%d calls, %d returns", reads, returns)
	}
	l.must("dynamic_events", "-:many\n")
	l.must("events/fprobes/alone/enable", "1\n")
	l.ft.Run(100 * machine.Millisecond)
	if all, good := l.lines(": alone: "), l.lines(`\.\.\.\.\. +\d+\.\d+: alone: `); len(good) < 5 || len(good) != len(all) {
		t.Errorf("vfs_write with one user: %d of %d lines with preemption on", len(good), len(all))
	}
	l.must("events/fprobes/enable", "0\n")
	l.must("dynamic_events", "-:fprobes/\n")
	l.want("dynamic_events", "")
	l.want("enabled_functions", "")
}

// A probe on a tracepoint fires as often as its event, with preemption off once more.
func TestTracepointProbes(t *testing.T) {
	l := newProbeLab(t)
	l.must("dynamic_events", "t sched_switch\nt:waits nosuch\nt:silent pelt_cfs_tp\n")
	l.must("events/tracepoints/enable", "1\n")
	l.must("events/sched/sched_switch/enable", "1\n")
	l.ft.Run(50 * machine.Millisecond)
	probes := l.lines(`d\.\.3\. +\d+\.\d+: sched_switch: \(__probestub_sched_switch\+0x4/0x10\)$`)
	events := l.lines(`d\.\.2\. +\d+\.\d+: sched_switch: prev_comm=`)
	if len(probes) < 20 || len(probes) != len(events) {
		t.Errorf("%d hits of %d switches", len(probes), len(events))
	}
	if others := l.lines(": (waits|silent): "); len(others) > 0 {
		t.Errorf("%q", others)
	}
}

// A probe that joins an event that is enabled fires from then on, until it is deleted.
func TestTracepointProbeJoins(t *testing.T) {
	l := newProbeLab(t)
	l.must("dynamic_events", "t:x sched_switch by=\\1:u8\n")
	l.must("events/tracepoints/x/enable", "1\n")
	fires := func(joined bool) {
		t.Helper()
		before := len(l.lines("x: .* by=2"))
		l.ft.Run(20 * machine.Millisecond)
		if after := len(l.lines("x: .* by=2")); (after > before) != joined {
			t.Errorf("%d records of the second probe, %d before", after, before)
		}
	}
	l.must("dynamic_events", "t:x sched_switch by=\\2:u8\n")
	fires(true)
	l.must("dynamic_events", "-:x sched_switch by=\\2:u8\n")
	fires(false)
	if len(l.lines("x: .* by=1")) < 20 {
		t.Error("the first probe is silent")
	}
	l.want("dynamic_events", "t:tracepoints/x sched_switch by=\\1:u8\n")
}

// A probe on a tracepoint that a module brings waits for it, again and again.
func TestTracepointProbeOfModule(t *testing.T) {
	l := newProbeLab(t)
	l.must("dynamic_events", "t:late sample_point\n")
	l.must("events/tracepoints/late/enable", "1\n")
	mod := machine.Module{Name: "sample", Functions: []string{"__probestub_sample_point"}}
	for range 2 {
		l.want("enabled_functions", "")
		l.do(func(m *machine.Machine) error { return m.LoadModule(mod) })
		if got := l.read("enabled_functions"); !strings.HasPrefix(got, "__probestub_sample_point [sample] (1) R") {
			t.Errorf("enabled_functions: %q", got)
		}
		l.do(func(m *machine.Machine) error { return m.UnloadModule("sample") })
	}
	l.must("events/tracepoints/late/enable", "0\n")
	l.must("dynamic_events", "-:late\n")
}

func (l *dynLab) do(do func(*machine.Machine) error) {
	l.t.Helper()
	if err := l.ft.Do(do); err != nil {
		l.t.Fatal(err)
	}
}
