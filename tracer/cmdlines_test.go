package tracer_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// Room for names comes in powers of two of memory, as the kernel's does.
func TestSavedCmdlinesSize(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.want("saved_cmdlines_size", "6552\n")
	for _, c := range []struct{ text, after string }{{"1", "6552\n"}, {"6553", "19659\n"}, {"32768", "45874\n"}, {"128", "6552\n"}} {
		l.write("saved_cmdlines_size", c.text)
		l.want("saved_cmdlines_size", c.after)
	}
	for _, text := range []string{"0", "32769", "x"} {
		if err := l.errno("saved_cmdlines_size", text); err != syscall.EINVAL {
			t.Errorf("saved_cmdlines_size %s: %v", text, err)
		}
	}
}

// A new size forgets the names, and the trace shows that they are not known.
func TestSavedCmdlinesForgotten(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("set_event", "sched:sched_switch")
	l.ft.Run(20 * machine.Millisecond)
	l.write("tracing_on", "0")
	var pid int
	var comm, task string
	for line := range strings.Lines(l.read("saved_cmdlines")) {
		if _, err := fmt.Sscanf(line, "%d %s", &pid, &comm); err != nil {
			t.Fatalf("saved_cmdlines has %q: %v", line, err)
		}
		if task = fmt.Sprintf(" %s-%d ", comm, pid); strings.Contains(l.read("trace"), task) {
			break
		}
		task = ""
	}
	if task == "" {
		t.Fatal("the trace has no task of saved_cmdlines")
	}
	l.write("saved_cmdlines_size", "128")
	l.want("saved_cmdlines", "")
	if text := l.read("trace"); !strings.Contains(text, fmt.Sprintf("<...>-%d ", pid)) || strings.Contains(text, task) {
		t.Errorf("the name of task %d is still known", pid)
	}
}

// Thread groups are kept while options/record-tgid is on.
func TestSavedTGIDs(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("set_event", "sched:sched_switch")
	l.ft.Run(20 * machine.Millisecond)
	l.want("saved_tgids", "")
	l.write("options/record-tgid", "1")
	l.ft.Run(50 * machine.Millisecond)
	last := -1
	lines := strings.Split(strings.TrimSpace(l.read("saved_tgids")), "\n")
	for _, line := range lines {
		var pid, tgid int
		if _, err := fmt.Sscanf(line, "%d %d", &pid, &tgid); err != nil || pid <= last || tgid == 0 {
			t.Errorf("saved_tgids has %q after %d: %v", line, last, err)
		}
		last = pid
	}
	if len(lines) < 3 {
		t.Errorf("only %d thread groups", len(lines))
	}
}

// A sub-buffer is a power of two pages; header_page and the events that fit
// follow it.
func TestSubbufSize(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("snapshot", "1")
	l.write("trace_marker", "gone")
	l.write("buffer_subbuf_size_kb", "5")
	l.want("buffer_subbuf_size_kb", "8\n")
	if n := len(body(l.read("trace"))); n != 0 {
		t.Errorf("%d events outlive another sub-buffer size", n)
	}
	if text := l.read("events/header_page"); !strings.Contains(text, "size:8176;") {
		t.Errorf("header_page reads\n%s", text)
	}
	// A marker is cut at 4096 bytes even where more would fit.
	if got := l.do("-w", "trace_marker", strings.Repeat("x", 5000)); !strings.Contains(got, "write(5000 bytes): 4096;") {
		t.Error(got)
	}
	l.write("snapshot", "1")
	if n := len(body(l.read("snapshot"))); n != 1 {
		t.Errorf("the snapshot holds %d events", n)
	}
	for _, text := range []string{"0", "513", "-1", "x"} {
		if err := l.errno("buffer_subbuf_size_kb", text); err != syscall.EINVAL {
			t.Errorf("buffer_subbuf_size_kb %s: %v", text, err)
		}
	}
}
