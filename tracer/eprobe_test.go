package tracer

import (
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
)

// An eprobe happens with the event it is on, which is enabled softly for it.
func TestEprobe(t *testing.T) {
	l := newProbeLab(t)
	l.must("dynamic_events", "e:g/all sched.sched_switch pid=$prev_pid:s32 to=$next_comm:string\ne:g/bash sched/sched_switch if next_comm == \"bash\"\n")
	l.want("dynamic_events", "e:g/all sched.sched_switch pid=$prev_pid:s32 to=$next_comm:string\ne:g/bash sched.sched_switch\n")
	l.want("events/sched/sched_switch/enable", "0\n")
	l.must("events/g/enable", "1\n")
	l.want("events/sched/sched_switch/enable", "0*\n")
	l.want("events/sched/sched_switch/trigger", "")
	l.ft.Run(50 * machine.Millisecond)
	all, bash := l.lines(`d\.\.3\. +\d+\.\d+: all: \(sched\.sched_switch\) pid=\d+ to="`), l.lines(`: bash: \(sched\.sched_switch\)$`)
	if len(all) < 20 || len(bash) < 5 || len(bash) != len(l.lines(`: all: .* to="bash"`)) || len(l.lines(": sched_switch: ")) > 0 {
		t.Errorf("%d hits, %d of them with the filter", len(all), len(bash))
	}
	l.must("events/g/enable", "0\n")
	l.want("events/sched/sched_switch/enable", "0\n")
	if text := l.read("events/sched/sched_switch/trigger"); !strings.HasPrefix(text, "# Available triggers") {
		t.Errorf("trigger without an eprobe: %q", text)
	}
	l.must("dynamic_events", "-:g/all sched/sched_switch pid=$prev_pid:s32\n-:g/\n")
	l.want("dynamic_events", "")
}

// What an eprobe records comes behind the event it is on, or before it if that may yet
// be dropped by a filter.
func TestEprobeOrder(t *testing.T) {
	for _, test := range []struct{ filter, first, second string }{
		{"0", "sched_switch", "x"},
		{"prev_prio < 1000", "x", "sched_switch"},
	} {
		l := newProbeLab(t)
		l.must("dynamic_events", "e:x sched.sched_switch\n")
		l.must("events/sched/sched_switch/filter", test.filter)
		l.must("events/eprobes/x/enable", "1\n")
		l.must("events/sched/sched_switch/enable", "1\n")
		l.want("events/sched/sched_switch/enable", "1*\n")
		l.ft.Run(20 * machine.Millisecond)
		lines := strings.Split(strings.TrimSpace(l.read("per_cpu/cpu0/trace")), "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
			lines = lines[1:]
		}
		if len(lines) < 10 {
			t.Fatalf("%d lines", len(lines))
		}
		for n, line := range lines {
			want := []string{test.first, test.second}[n%2]
			if !strings.Contains(line, ": "+want+": ") {
				t.Fatalf("filter %q: line %d is %q, want one of %s", test.filter, n, line, want)
			}
		}
	}
}

// An event that has an eprobe stays; some events cannot have one.
func TestEprobeAttach(t *testing.T) {
	l := newProbeLab(t)
	l.must("dynamic_events", "s:made int pid\nf:f vfs_read\n")
	l.must("dynamic_events", "e:on synthetic.made\ne:of fprobes.f ip=$__probe_ip:symbol\n")
	l.fails("dynamic_events", "-:made\n", syscall.EBUSY)
	l.fails("dynamic_events", "-:f\n", syscall.EBUSY)
	for _, attached := range []string{"eprobes.on", "ftrace.print", "ftrace.function", "no.such"} {
		l.fails("dynamic_events", "e:no "+attached+"\n", syscall.ENODEV)
	}
	l.fails("dynamic_events", "e:on sched.sched_switch\n", syscall.EEXIST)
	l.must("events/eprobes/of/enable", "1\n")
	l.want("events/fprobes/f/enable", "0*\n")
	l.ft.Run(100 * machine.Millisecond)
	if got := l.lines(`: of: \(fprobes\.f\) ip=vfs_read\+0x4/0x370$`); len(got) < 5 || len(got) != len(l.lines(": (of|f): ")) {
		t.Errorf("hits %q", l.lines(": (of|f): "))
	}
	l.must("events/eprobes/of/enable", "0\n")
	l.must("dynamic_events", "-:eprobes/\n-:f\n-:made\n")
}

// An eprobe listens in the instance in which it is enabled first, until it is disabled in
// all.
func TestEprobeInInstances(t *testing.T) {
	l := newProbeLab(t)
	if err := l.fs.Mkdir("instances/i"); err != nil {
		t.Fatal(err)
	}
	l.must("dynamic_events", "e:x sched.sched_switch\n")
	l.must("instances/i/events/eprobes/x/enable", "1\n")
	l.must("events/eprobes/x/enable", "1\n")
	l.ft.Run(20 * machine.Millisecond)
	if got := l.lines(": x: "); len(got) > 0 {
		t.Errorf("in the other instance %q", got)
	}
	if got := l.read("instances/i/trace"); strings.Count(got, ": x: (sched.sched_switch)\n") < 10 {
		t.Errorf("in the instance %q", got)
	}
	l.must("instances/i/events/eprobes/x/enable", "0\n")
	before := strings.Count(l.read("instances/i/trace"), ": x: ")
	l.ft.Run(20 * machine.Millisecond)
	if after := strings.Count(l.read("instances/i/trace"), ": x: "); after <= before {
		t.Errorf("%d hits after it was disabled there, %d before", after, before)
	}
	l.must("events/eprobes/x/enable", "0\n")
	l.want("instances/i/events/sched/sched_switch/enable", "0\n")
	l.must("instances/i/events/eprobes/x/enable", "1\n")
	if err := l.fs.Rmdir("instances/i"); err != nil {
		t.Fatal(err)
	}
	l.must("events/eprobes/x/enable", "1\n")
	l.ft.Run(20 * machine.Millisecond)
	if got := l.lines(": x: "); len(got) < 10 {
		t.Errorf("behind an instance that is gone %d hits", len(got))
	}
	l.must("events/eprobes/x/enable", "0\n")
	l.must("dynamic_events", "-:x\n")
}
