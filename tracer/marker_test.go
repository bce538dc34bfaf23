package tracer_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

var markWrite = regexp.MustCompile(`(?m)^(marker|raw) write (\d+) -> (.*?) ?$`)

// Markers of every size a real kernel was given get the same answers, and their
// records the same sizes and the same text.
func TestMarkersAreTheKernels(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("buffer_size_kb", "1000")
	writes := markWrite.FindAllStringSubmatch(oracle(t, "full/events/markers/tmark.log"), -1)
	letters := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 400)
	marks, raws := 0, 0
	file := map[string]string{"marker": "trace_marker", "raw": "trace_marker_raw"}
	for _, w := range writes {
		var size int
		fmt.Sscan(w[2], &size)
		data := letters[:size]
		if w[1] == "raw" {
			data = "\x37\x12\x00\x00" + letters
			data = data[:size]
		}
		want := fmt.Sprintf("open(O_WRONLY): ok; write(%d bytes): %s; close: 0", size, w[3])
		if got := l.do("-w", file[w[1]], data); got != want {
			t.Errorf("%s of %d bytes: %s\nwant %s", w[1], size, got, want)
		}
		if !strings.HasPrefix(w[3], "-1") && w[1] == "marker" {
			marks++
		} else if !strings.HasPrefix(w[3], "-1") {
			raws++
		}
	}
	if marks < 30 || raws < 20 {
		t.Errorf("%d markers, %d raw markers", marks, raws)
	}
	shown := l.read("trace")
	for _, line := range []string{"# 1237 buf:" + strings.Repeat(" 00", 16), ": tracing_mark_write: abc\n", ": tracing_mark_write: \n"} {
		if !strings.Contains(shown, line) {
			t.Errorf("trace shows no %q", line)
		}
	}
}

// A marker of 8 bytes takes 32 of the buffer, whatever its clock; its text ends
// with one newline.
func TestMarkerSizes(t *testing.T) {
	for _, clock := range []string{"local", "global", "uptime", "perf", "mono", "boot", "tai"} {
		l := newLab(t, tracer.Config{})
		l.write("trace_clock", clock)
		l.ft.Run(machine.Millisecond)
		if got := l.do("-w", "trace_marker", "hi local"); !strings.HasSuffix(got, ": 8; close: 0") {
			t.Errorf("%s: %s", clock, got)
		}
		if stats := l.read("per_cpu/cpu0/stats"); !strings.HasPrefix(stats, "entries: 1\noverrun: 0\ncommit overrun: 0\nbytes: 32\n") {
			t.Errorf("%s: stats\n%s", clock, stats)
		}
		if lines := body(l.read("trace")); len(lines) != 1 || !strings.HasSuffix(lines[0], ": tracing_mark_write: hi local") {
			t.Errorf("%s: %q", clock, lines)
		}
	}
}

// options/markers and tracing_on can forbid markers.
func TestMarkersRefused(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for _, name := range []string{"trace_marker", "trace_marker_raw"} {
		l.write("tracing_on", "0")
		if err := l.errno(name, "hello"); err != syscall.EBADF {
			t.Errorf("%s with tracing off: %v, want EBADF", name, err)
		}
		l.write("tracing_on", "1")
		l.write("options/markers", "0")
		if err := l.errno(name, "hello"); err != syscall.EINVAL {
			t.Errorf("%s with options/markers off: %v, want EINVAL", name, err)
		}
		l.write("options/markers", "1")
	}
}

// The stamps of each clock, in its unit.
func TestClocks(t *testing.T) {
	const run = 123_456_789
	for clock, want := range map[string][2]string{
		"local": {"    0.123457:", "now ts:     0.123457"}, "mono": {"    0.123457:", "now ts:     0.123457"},
		"tai":     {" 1780000000.123457:", "now ts: 1780000000.123457"},
		"uptime":  {"          12:", "now ts: 12"},
		"x86-tsc": {" 259259256:", "now ts: 259259256"},
		"counter": {"           3:", "now ts: 4"}, // emptying buffer and snapshot reads it, too
	} {
		l := newLab(t, tracer.Config{})
		l.write("trace_clock", clock)
		if !strings.Contains(l.read("trace_clock"), "["+clock+"]") {
			t.Errorf("trace_clock reads %q", l.read("trace_clock"))
		}
		l.ft.Run(run)
		l.write("trace_marker", "x")
		if lines := body(l.read("trace")); len(lines) != 1 || !strings.Contains(lines[0], want[0]) {
			t.Errorf("%s: %q, want %q", clock, lines, want[0])
		}
		if stats := l.read("per_cpu/cpu0/stats"); !strings.Contains(stats, want[1]) {
			t.Errorf("%s: %q, want %q", clock, stats, want[1])
		}
	}
	// Another clock empties the buffer, and so does the same again.
	l := newLab(t, tracer.Config{})
	for _, clock := range []string{"mono", "mono"} {
		l.write("trace_marker", "x")
		l.write("trace_clock", clock)
		if lines := body(l.read("trace")); len(lines) > 0 {
			t.Errorf("after %s is selected the trace has %q", clock, lines)
		}
	}
}

// Records made by hand are decoded to what was written.
func TestMarkerRecords(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("trace_marker", "hello")
	l.write("trace_marker_raw", "\x01\x02\x03\x04data")
	records := l.records()
	var p events.PrintRecord
	var r events.RawDataRecord
	if len(records) != 2 || events.Print.Decode(records[0].data, &p) != nil || events.RawData.Decode(records[1].data, &r) != nil {
		t.Fatalf("%d records", len(records))
	}
	if p.Buf != "hello\n" || r.ID != 0x04030201 || !strings.HasPrefix(string(r.Buf), "data\n\x00") {
		t.Errorf("%q, %#x %q", p.Buf, r.ID, r.Buf)
	}
	if event.ParseCommon(records[0].data).PID == 0 {
		t.Error("a marker has no task")
	}
}

// A marker is of the task that writes it, if the machine has that task: so are those
// of a mount's clients. It is recorded on the CPU of whoever writes, if the machine has it.
func TestMarkerOfTask(t *testing.T) {
	l := newLab(t, tracer.Config{})
	task := l.m.Tasks()[0]
	h := l.open("trace_marker", tracefile.Write)
	defer h.Close()
	for i, pid := range []int{0, task.PID, 99999} {
		ctx := tracefile.WithCaller(context.Background(), func() tracefile.Caller { return tracefile.Caller{PID: pid, CPU: i + 2} })
		if _, err := h.Write(ctx, fmt.Appendf(nil, "by %d", pid)); err != nil {
			t.Fatal(err)
		}
	}
	text := l.read("trace")
	for _, want := range []string{`sh-1000 +\[002\] .*: by 0`, regexp.QuoteMeta(task.Comm) + fmt.Sprintf(`-%d +\[003\] .*: by %[1]d`, task.PID), `sh-1000 +\[000\] .*: by 99999`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no marker %q in\n%s", want, text)
		}
	}
}
