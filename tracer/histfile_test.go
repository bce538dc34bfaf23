package tracer_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ftracelab/machine"
)

// A histogram has counted what the trace shows.
func TestHistCountsWhatIsRecorded(t *testing.T) {
	l := newTriggerLab(t)
	l.write("buffer_size_kb", "4000")
	l.write(switchDir+"trigger", "hist:keys=next_comm,next_prio:vals=prev_pid if next_pid != 0")
	l.write(switchDir+"enable", "1")
	l.ft.Run(300 * machine.Millisecond)
	l.write("tracing_on", "0")
	counts := map[string]int{}
	next := regexp.MustCompile(`prev_pid=(\d+) .* next_comm=(.*) next_pid=(\d+) next_prio=(\d+)`)
	for _, m := range next.FindAllStringSubmatch(l.read("trace"), -1) {
		if m[3] != "0" {
			counts[fmt.Sprintf("{ next_comm: %-50s, next_prio: %10s }", m[2], m[4])]++
		}
	}
	shown := l.read(switchDir + "hist")
	hits := 0
	for key, n := range counts {
		hits += n
		if want := fmt.Sprintf("%s hitcount: %10d  prev_pid: ", key, n); !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	if want := fmt.Sprintf("Totals:\n    Hits: %d\n    Entries: %d\n    Dropped: 0\n", hits, len(counts)); hits < 20 || !strings.HasSuffix(shown, want) {
		t.Errorf("no %q in\n%s", want, shown)
	}
}

// Hists stand behind the other triggers; opening the file with > takes them away, and
// what switches those of other events. All of them are taken along by their instance.
func TestHistTriggerFile(t *testing.T) {
	l := newTriggerLab(t)
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "instances/foo/"} {
		file := dir + switchDir + "trigger"
		l.write(file, "hist:keys=next_pid")
		l.append(file, "hist:keys=prev_pid:pause")
		l.append(file, "enable_hist:irq:softirq_entry:2")
		l.append(file, "stacktrace:3")
		l.want(file, "stacktrace:count=3\nenable_hist:irq:softirq_entry:count=2\n"+
			"hist:keys=next_pid:vals=hitcount:sort=hitcount:size=2048 [active]\n"+
			"hist:keys=prev_pid:vals=hitcount:sort=hitcount:size=2048 [paused]\n")
		l.want(dir+switchDir+"enable", "0*\n")
		l.want(dir+softirqDir+"enable", "0*\n")
		l.do("-t", file, "")
		l.want(file, "stacktrace:count=3\n")
		l.want(dir+softirqDir+"enable", "0\n")
		l.append(file, "!stacktrace")
		l.want(dir+switchDir+"enable", "0\n")
		l.write(file, "hist:keys=common_timestamp")
		l.append(file, "hist:name=all:keys=prev_pid")
	}
	if err := l.fs.Rmdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.write(softirqDir+"trigger", "disable_hist:sched:sched_switch:1")
	l.ft.Run(100 * machine.Millisecond)
	if text := l.read(switchDir + "trigger"); strings.Contains(text, "[active]") {
		t.Errorf("disable_hist did not stop\n%s", text)
	}
	l.want(softirqDir+"trigger", "disable_hist:sched:sched_switch:count=0\n")
}

// What a marker lets happen stands behind it, at the time that the marker has.
func TestHistOfMarkers(t *testing.T) {
	l := newTriggerLab(t)
	l.write("synthetic_events", "took u64 us")
	l.write("events/synthetic/took/enable", "1")
	l.write("events/ftrace/print/trigger", `hist:keys=common_pid:ts0=common_timestamp.usecs if buf == "start"`)
	l.append("events/ftrace/print/trigger", `hist:keys=common_pid:lat=common_timestamp.usecs-$ts0:onmatch(ftrace.print).took($lat) if buf == "end"`)
	l.do("-w", "trace_marker", "start") // without a newline
	l.ft.Run(1500 * machine.Microsecond)
	l.do("-w", "trace_marker", "end") // without a newline
	lines := regexp.MustCompile(`(?m)^.*(tracing_mark_write|took): (.*)$`).FindAllStringSubmatch(l.read("trace"), -1)
	var got []string
	for _, m := range lines {
		got = append(got, m[1]+" "+m[2])
	}
	want := []string{"tracing_mark_write start", "tracing_mark_write end", "took us=1500"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	l.want("timestamp_mode", "[delta] absolute\n")
	l.want("trace_clock", "local [global] counter uptime perf mono mono_raw boot tai x86-tsc\n")
}

// Counting an event allocates nothing, once its key is known.
func TestHistAllocatesNothing(t *testing.T) {
	l := newTriggerLab(t)
	const file = "events/sched/sched_waking/trigger"
	l.write(file, "hist:keys=comm,common_pid.execname,prio.log2:vals=target_cpu:ts0=common_timestamp.usecs if pid > 0")
	l.append(file, "hist:keys=common_stacktrace:x=prio*2+1:onmax($x).save(comm,pid)")
	l.append(file, "hist:keys=pid.buckets=10,common_cpu:sort=pid.descending")
	c := l.m.CPUs()[0]
	tp := &machine.SchedWakeup{ID: machine.EvSchedWaking, Task: l.m.Tasks()[0], TargetCPU: 1}
	for _, recorded := range []string{"0", "1"} {
		l.write("events/sched/sched_waking/enable", recorded)
		for range 20000 { // until all pages of the buffer are there
			l.m.Hooks.Trace(c, tp)
		}
		if n := testing.AllocsPerRun(1000, func() { l.m.Hooks.Trace(c, tp) }); n != 0 {
			t.Errorf("enable is %s: %v allocations", recorded, n)
		}
	}
	if n := strings.Count(l.read("events/sched/sched_waking/hist"), fmt.Sprintf("Hits: %d\n", 2*21001)); n != 3 {
		t.Errorf("%d of three hists have all hits", n)
	}
}
