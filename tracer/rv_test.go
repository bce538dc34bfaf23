package tracer_test

import (
	"errors"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
)

// The monitor wwnr follows each task from its first sleep on, and its events are those
// of the scheduler: between two states of one task the ones that lead there.
func TestRuntimeVerification(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 20000})
	l.write("events/sched/sched_switch/enable", "1")
	l.write("events/rv/enable", "1")
	l.ft.Run(50 * machine.Millisecond)
	if strings.Contains(l.read("trace"), "_wwnr") {
		t.Error("events of a monitor that is off")
	}
	l.write("rv/enabled_monitors", "wwnr")
	l.write("trace", "")
	l.ft.Run(machine.Second)
	line := regexp.MustCompile(`^.{16}-\d+ +\[(\d+)\] .{5} +[\d.]+: (?:sched_switch: .*prev_pid=(\d+) .*prev_state=(\S+) .*next_pid=(\d+) .*|event_wwnr: (\d+): (\w+) x (\w+) -> (\w+)( \(final\))?)$`)
	state, count := map[string]string{}, map[string]int{}
	var followed []string // of one switch
	last := map[string][3]string{}
	for _, text := range body(l.read("trace")) {
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q", text)
		}
		cpu, pid, from, event, to, final := m[1], m[5], m[6], m[7], m[8], m[9]
		if pid == "" {
			last[cpu] = [3]string{m[2], m[3], m[4]}
			continue
		}
		if was, ok := state[pid]; ok && was != from {
			t.Errorf("%q: it was %s", text, was)
		}
		if want := map[string]string{"switch_in": "not_running running", "switch_out": "running not_running", "wakeup": "not_running not_running"}[event]; want != from+" "+to || (final != "") != (to == "not_running") {
			t.Errorf("%q", text)
		}
		switch sw := last[cpu]; {
		case event == "switch_out" && sw[0] != pid, event == "switch_in" && sw[2] != pid:
			t.Errorf("%q behind a switch from %s to %s", text, sw[0], sw[2])
		}
		state[pid] = to
		count[event]++
		followed = append(followed, pid)
	}
	for _, event := range []string{"switch_in", "switch_out", "wakeup"} {
		if count[event] < 50 {
			t.Errorf("%d events %s", count[event], event)
		}
	}
	if len(followed) < 150 || len(state) < 3 {
		t.Errorf("%d events of %d tasks", len(followed), len(state))
	}
	l.write("rv/monitoring_on", "0")
	l.write("trace", "")
	l.ft.Run(20 * machine.Millisecond)
	if strings.Contains(l.read("trace"), "_wwnr") {
		t.Error("events while monitoring_on is 0")
	}
	l.write("rv/monitoring_on", "1")
	l.write("trace", "")
	l.ft.Run(100 * machine.Millisecond)
	if text := l.read("trace"); !strings.Contains(text, "event_wwnr") || strings.Contains(text, "error_wwnr") {
		t.Error("monitoring_on is 1 again: no events, or errors from a state of before")
	}
}

func TestRuntimeVerificationFiles(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for name, want := range map[string]string{
		"available_monitors": "wwnr\n", "available_reactors": "nop\n", "enabled_monitors": "", "monitoring_on": "1\n\x00",
		"reacting_on": "1\n\x00", "monitors/wwnr/desc": "wakeup while not running per-task testing model.\n\x00",
		"monitors/wwnr/reactors": "[nop]\n", "monitors/wwnr/enable": "0\n\x00",
	} {
		l.want("rv/"+name, want)
	}
	for _, c := range []struct {
		file, text, read, want string
		err                    error
	}{
		{"enabled_monitors", "wwnr\n", "enabled_monitors", "wwnr\n", nil},
		{"enabled_monitors", "wip\n", "enabled_monitors", "", syscall.EINVAL}, // > disables all first
		{"monitors/wwnr/enable", "on\n", "enabled_monitors", "wwnr\n", nil},
		{"enabled_monitors", " !wwnr \n", "monitors/wwnr/enable", "0\n\x00", nil},
		{"monitors/wwnr/enable", "2\n", "monitors/wwnr/enable", "0\n\x00", syscall.EINVAL},
		{"monitors/wwnr/enable", "o\n", "monitors/wwnr/enable", "0\n\x00", syscall.EINVAL},
		{"monitors/wwnr/enable", "Yes\n", "monitors/wwnr/enable", "1\n\x00", nil},
		{"enabled_monitors", strings.Repeat(" ", 34), "enabled_monitors", "", syscall.EINVAL},
		{"monitors/wwnr/reactors", "nop\n", "monitors/wwnr/reactors", "[nop]\n", nil},
		{"monitors/wwnr/reactors", "printk\n", "monitors/wwnr/reactors", "[nop]\n", syscall.EINVAL},
		{"reacting_on", "off", "reacting_on", "0\n\x00", nil},
	} {
		if err := tracefsfs.WriteFile(l.fs, "rv/"+c.file, c.text); !errors.Is(err, c.err) {
			t.Errorf("%s %q: %v, want %v", c.file, c.text, err, c.err)
		}
		if got := l.read("rv/" + c.read); got != c.want {
			t.Errorf("%s %q: %s is %q, want %q", c.file, c.text, c.read, got, c.want)
		}
	}
}
