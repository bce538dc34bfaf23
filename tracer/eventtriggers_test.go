package tracer_test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

const (
	switchDir  = "events/sched/sched_switch/"
	softirqDir = "events/irq/softirq_entry/"
)

func newTriggerLab(t *testing.T) *lab {
	return newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoStackmap: true})
}

// count is how many lines of a trace show an event.
func (l *lab) count(file, event string) int {
	n := 0
	for _, line := range body(l.read(file)) {
		if strings.Contains(line, ": "+event+": ") {
			n++
		}
	}
	return n
}

// A trigger enables its event softly, and enable_event the event it names; both
// say so with a *, whoever enables them by hand meanwhile.
func TestSoftEnabledStates(t *testing.T) {
	for _, dir := range []string{"", "instances/foo/"} {
		l := newTriggerLab(t)
		if dir != "" {
			if err := l.fs.Mkdir("instances/foo"); err != nil {
				t.Fatal(err)
			}
		}
		enable, target := dir+switchDir+"enable", dir+softirqDir+"enable"
		l.write(dir+switchDir+"trigger", "enable_event:irq:softirq_entry if prev_pid == -1")
		l.want(enable, "0*\n")
		l.want(target, "0*\n")
		l.want(dir+"set_event", "irq:softirq_entry\nsched:sched_switch\n")
		l.want(dir+"events/irq/enable", "X\n")
		l.write(enable, "1")
		l.want(enable, "1*\n")
		l.write(enable, "0")
		l.want(enable, "0*\n")
		l.write(target, "1")
		l.write(dir+switchDir+"trigger", "!enable_event:irq:softirq_entry")
		l.want(enable, "0\n")
		l.want(target, "1\n")
		if dir != "" {
			l.want(switchDir+"enable", "0\n")
			l.write(dir+switchDir+"trigger", "stacktrace")
			if err := l.fs.Rmdir("instances/foo"); err != nil {
				t.Errorf("rmdir of an instance with a trigger: %v", err)
			}
		}
	}
}

// An event that is enabled only softly is not recorded, its trigger acts.
func TestTriggersOfDisabledEvent(t *testing.T) {
	l := newTriggerLab(t)
	l.write(switchDir+"trigger", "enable_event:irq:softirq_entry:1")
	l.ft.Run(20 * machine.Millisecond)
	l.want(switchDir+"trigger", "enable_event:irq:softirq_entry:count=0\n")
	l.want(softirqDir+"enable", "1*\n")
	if n := l.count("trace", "sched_switch"); n != 0 {
		t.Errorf("%d records of an event that is disabled", n)
	}
	if n := l.count("trace", "softirq_entry"); n == 0 {
		t.Error("no record of the event that the trigger enabled")
	}
}

// traceoff comes after the record it is of, traceon with a filter too late for it.
func TestTraceOnOff(t *testing.T) {
	l := newTriggerLab(t)
	l.write("set_event", "sched:sched_switch")
	l.write(switchDir+"trigger", "traceoff if next_comm == \"rcu_preempt\"")
	l.ft.Run(50 * machine.Millisecond)
	l.want("tracing_on", "0\n")
	lines := body(l.read("trace"))
	if len(lines) == 0 || !strings.Contains(lines[len(lines)-1], "next_comm=rcu_preempt ") {
		t.Fatalf("the trace ends with %q, want the switch that stopped it", lines[max(0, len(lines)-1):])
	}
	l.write(switchDir+"trigger", "!traceoff")
	l.write("trace", "")
	l.write(switchDir+"trigger", "traceon:1 if next_comm == \"rcu_preempt\"")
	l.ft.Run(50 * machine.Millisecond)
	l.want("tracing_on", "1\n")
	if lines := body(l.read("trace")); len(lines) == 0 || strings.Contains(lines[0], "next_comm=rcu_preempt ") {
		t.Errorf("the trace begins with %q, which was before it was switched on", lines[:min(1, len(lines))])
	}
}

// Without a filter the snapshot is taken before the event is recorded; with one
// the record goes into it.
func TestSnapshotTrigger(t *testing.T) {
	for _, c := range []struct {
		command string
		into    string
	}{{"snapshot:1", "trace"}, {"snapshot:1 if parent_pid >= 0", "snapshot"}} {
		l := newTriggerLab(t)
		l.write("set_event", "sched:sched_process_fork")
		l.write("events/sched/sched_process_fork/trigger", c.command)
		for n := 0; l.count("trace", "sched_process_fork")+l.count("snapshot", "sched_process_fork") == 0 && n < 2000; n++ {
			l.ft.Run(machine.Millisecond / 4)
		}
		if n := l.count(c.into, "sched_process_fork"); n != 1 {
			t.Errorf("%s: %d forks in %s\n%s", c.command, n, c.into, l.read("snapshot"))
		}
	}
}

// A trigger finds the snapshot freed: it says so and stops.
func TestSnapshotTriggerWithoutSnapshot(t *testing.T) {
	l := newTriggerLab(t)
	l.write(switchDir+"trigger", "snapshot")
	l.write("snapshot", "0")
	l.ft.Run(50 * machine.Millisecond)
	l.want("tracing_on", "0\n")
	lines := body(l.read("trace"))
	if len(lines) != 2 || !strings.HasSuffix(lines[0], ": tracing_snapshot_instance_cond: *** SNAPSHOT NOT ALLOCATED ***") {
		t.Errorf("trace reads %q", lines)
	}
}

// stacktrace records a stack behind the event, as often as it may.
func TestStacktraceTrigger(t *testing.T) {
	l := newTriggerLab(t)
	l.write("set_event", "sched:sched_switch")
	l.write(switchDir+"trigger", "stacktrace:3")
	l.ft.Run(50 * machine.Millisecond)
	text := l.read("trace")
	if n := strings.Count(text, "<stack trace>"); n != 3 {
		t.Errorf("%d stacks, want 3", n)
	}
	const begin = "<stack trace>\n => trace_event_raw_event_sched_switch\n => __traceiter_sched_switch\n => __schedule\n"
	if theirs := oracle(t, "full/extra/trigger_stacktrace/trace.txt"); strings.Count(text, begin) != 3 || !strings.Contains(theirs, begin) {
		t.Errorf("a stack does not begin where the event is:\n%.2000s", text)
	}
	l.want(switchDir+"trigger", "stacktrace:count=0\n")
}

// Markers are the event ftrace:print, and their triggers see what was written.
func TestMarkerTriggers(t *testing.T) {
	l := newTriggerLab(t)
	l.write("events/ftrace/print/trigger", `snapshot if buf == "take"`)
	l.write("trace_marker", "leave")
	l.append("events/ftrace/print/trigger", "traceoff if buf ~ \"*stop*\"")
	if _, err := l.fs.Lookup("events/ftrace/print/enable"); err == nil {
		t.Error("ftrace:print has an enable file")
	}
	if err := writeRaw(l, "trace_marker", "take"); err != nil {
		t.Fatal(err)
	}
	if got := body(l.read("snapshot")); len(got) != 2 || !strings.HasSuffix(got[1], ": take") {
		t.Errorf("the snapshot holds %q, want both markers", got)
	}
	l.write("trace_marker", "now stop")
	l.want("tracing_on", "0\n")
	if got := body(l.read("trace")); len(got) != 1 {
		t.Errorf("the buffer holds %q, want the marker that stopped it", got)
	}
	if err := l.errno("trace_marker", "late"); err != syscall.EBADF {
		t.Errorf("a marker while nothing is recorded: %v", err)
	}
}

func writeRaw(l *lab, name, text string) error {
	_, err := tracefsWrite(l, name, text)
	return err
}

// What is wrong with a filter is in error_log of the instance.
// The trigger stacktrace shows where a marker was written from. One too much is
// taken off the preempt count of the stack's record.
func TestMarkerStack(t *testing.T) {
	l := newTriggerLab(t)
	l.write("events/ftrace/print/trigger", "stacktrace")
	l.write("options/sym-offset", "1")
	l.write("trace_marker", "hello")
	lines := body(l.read("trace"))
	want := []string{
		`^ +sh-1000 +\[000\] \.\.\.\.\. .*: tracing_mark_write(\+0x0/0x[0-9a-f]+)?: hello$`,
		`^ +sh-1000 +\[000\] DNZff .*: <stack trace>$`,
		`^ => tracing_mark_write\+0x[0-9a-f]+/0x[0-9a-f]+$`,
		`^ => vfs_write\+0x[0-9a-f]+/0x450$`,
		`^ => ksys_write\+0xbb/0xf0$`,
		`^ => do_syscall_64\+0x87/0x1b0$`,
		`^ => entry_SYSCALL_64_after_hwframe\+0x76/0x7e$`,
	}
	if len(lines) != len(want) {
		t.Fatalf("trace has\n%s", strings.Join(lines, "\n"))
	}
	for n, line := range lines {
		if !regexp.MustCompile(want[n]).MatchString(line) {
			t.Errorf("line %d is %q, want %s", n+1, line, want[n])
		}
	}
}

func TestTriggerErrors(t *testing.T) {
	l := newTriggerLab(t)
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	if err := l.errno("instances/foo/"+switchDir+"trigger", "traceoff if nofield == 3"); err != syscall.EINVAL {
		t.Errorf("a filter of a field that is not there: %v", err)
	}
	l.want("error_log", "")
	want := "] event filter parse error: error: Field not found\n  Command: nofield == 3\n                   ^\n"
	if got := l.read("instances/foo/error_log"); !strings.HasSuffix(got, want) {
		t.Errorf("error_log of the instance:\n%swant\n%s", got, want)
	}
	l.want("instances/foo/"+switchDir+"enable", "0\n")
}
