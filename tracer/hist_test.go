package tracer_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
)

// A hist trigger that takes snapshots on a condition has the snapshot for
// itself, and shows what the last one was taken for.
func TestHistSnapshot(t *testing.T) {
	l := newTriggerLab(t)
	const command = "hist:keys=comm:p=pid:onmax($p).snapshot()"
	l.write("events/sched/sched_waking/trigger", command)
	l.write("set_event", "sched:sched_waking")
	for file, text := range map[string]string{"snapshot": "1", "events/sched/sched_wakeup/trigger": "hist:keys=comm:p=pid:onchange($p).snapshot()"} {
		if got := l.errno(file, text); got != syscall.EBUSY {
			t.Errorf("%s > %s: %v, want EBUSY", text, file, got)
		}
	}
	l.ft.Run(50 * machine.Millisecond)
	hist := l.read("events/sched/sched_waking/hist")
	taken := regexp.MustCompile(`\nSnapshot taken \(see tracing/snapshot\)\.  Details:\n\ttriggering value \{ onmax\(\$p\) \}: +(\d+)\ttriggered by event with key: \{ comm: (\S+) +\}\n\nTotals:`).FindStringSubmatch(hist)
	if taken == nil {
		t.Fatalf("the file reads\n%s", hist)
	}
	lines := body(l.read("snapshot"))
	if want := fmt.Sprintf("comm=%s pid=%s ", taken[2], taken[1]); len(lines) == 0 || !strings.Contains(lines[len(lines)-1], want) {
		t.Errorf("the snapshot's last line is %q, want %q in it", lines[max(len(lines)-1, 0):], want)
	}
	l.append("events/sched/sched_waking/trigger", "!"+command)
	l.write("snapshot", "0")
}

// An instance whose hist triggers have variables cannot be removed.
func TestHistKeepsInstance(t *testing.T) {
	l := newTriggerLab(t)
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	trigger := "instances/foo/events/sched/sched_waking/trigger"
	l.write(trigger, "hist:keys=pid")
	l.append(trigger, "hist:keys=pid:ts=common_timestamp")
	if err := l.fs.Rmdir("instances/foo"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("rmdir: %v, want EBUSY", err)
	}
	l.append(trigger, "!hist:keys=pid:ts=common_timestamp")
	if err := l.fs.Rmdir("instances/foo"); err != nil {
		t.Errorf("rmdir without variables: %v", err)
	}
}

// A synthetic event that an instance counted in a hist stays in use when the
// instance goes.
func TestHistKeepsSynth(t *testing.T) {
	l := newTriggerLab(t)
	l.write("synthetic_events", "lat u64 ns")
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	trigger := "instances/foo/events/synthetic/lat/trigger"
	for _, remove := range []func(){
		func() { l.append(trigger, "!hist:keys=ns") },
		func() { l.do("-t", trigger, "") },
	} {
		l.append(trigger, "hist:keys=ns")
		if got := l.errno("synthetic_events", ""); got != syscall.EBUSY {
			t.Errorf("with a hist: %v, want EBUSY", got)
		}
		remove()
	}
	l.append("synthetic_events", "!lat")
	l.append("synthetic_events", "lat u64 ns")
	l.append(trigger, "hist:keys=ns")
	if err := l.fs.Rmdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	if got := l.errno("synthetic_events", ""); got != syscall.EBUSY {
		t.Errorf("without the instance: %v, want EBUSY", got)
	}
}

// What a switch generates stands behind it, with the time between what two
// events recorded.
func TestSynthFromHist(t *testing.T) {
	l := newTriggerLab(t)
	l.write("synthetic_events", "lat u64 ns; pid_t pid; char comm[16]")
	l.write("events/sched/sched_waking/trigger", "hist:keys=pid:ts=common_timestamp")
	l.write("events/sched/sched_switch/trigger", "hist:keys=next_pid:ns=common_timestamp-$ts:onmatch(sched.sched_waking).lat($ns,next_pid,next_comm)")
	for _, event := range []string{"sched:sched_waking", "sched:sched_switch", "synthetic:lat"} {
		l.append("set_event", event)
	}
	l.ft.Run(100 * machine.Millisecond)
	l.write("tracing_on", "0")
	line := regexp.MustCompile(`(\d+)\.(\d{6}): (\w+): (.*)`)
	args := regexp.MustCompile(`(\w+)=(\S+)`)
	woken, last, n := map[string]int{}, map[string]string{}, 0
	for _, text := range body(l.read("trace")) {
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("line %q", text)
		}
		var sec, us, ns int
		fmt.Sscan(m[1], &sec)
		fmt.Sscan(strings.TrimLeft(m[2], "0")+" ", &us)
		us += 1e6 * sec
		arg := map[string]string{}
		for _, a := range args.FindAllStringSubmatch(m[4], -1) {
			arg[a[1]] = a[2]
		}
		switch m[3] {
		case "sched_waking":
			woken[arg["pid"]] = us
		case "lat":
			n++
			fmt.Sscan(arg["ns"], &ns)
			since, ok := woken[arg["pid"]]
			if !ok || last["next_pid"] != arg["pid"] || last["next_comm"] != arg["comm"] {
				t.Errorf("%q does not stand behind its switch", text)
			}
			if d := us - since - ns/1000; d < -2 || d > 2 {
				t.Errorf("%q, but it was woken %d us before", text, us-since)
			}
			delete(woken, arg["pid"])
		}
		last = arg
	}
	if n == 0 {
		t.Error("nothing was generated")
	}
	if hits := regexp.MustCompile(`Hits: (\d+)`).FindStringSubmatch(l.read("events/sched/sched_switch/hist")); hits == nil || hits[1] != fmt.Sprint(n) {
		t.Errorf("%v hits, want %d", hits, n)
	}
}
