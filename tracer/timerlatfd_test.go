package tracer_test

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/workload"
)

const timerlatFD = "osnoise/per_cpu/cpu2/timerlat_fd"

// openAs opens timerlat_fd of CPU 2 as a process that runs on one CPU only.
func (l *lab) openAs(cpu int) (tracefile.Handle, error) {
	ctx := tracefile.WithCaller(context.Background(), func() tracefile.Caller {
		return tracefile.Caller{Comm: "reader", CPU: cpu, Pinned: true}
	})
	return l.fs.OpenHandle(ctx, timerlatFD, tracefile.Read)
}

func newTimerlatFDLab(t *testing.T) *lab {
	l := newLab(t, tracer.Config{})
	l.write("osnoise/options", "NO_OSNOISE_WORKLOAD")
	l.write("current_tracer", "timerlat")
	return l
}

// A process that reads timerlat_fd is the thread of its CPU: each read shows how late
// the timer was, how late the process, and from the second on how late it came back.
func TestTimerlatFD(t *testing.T) {
	l := newTimerlatFDLab(t)
	l.ft.Run(5 * machine.Millisecond)
	h, err := l.openAs(2)
	if err != nil {
		t.Fatal(err)
	}
	reader := l.m.Task(l.threadsOf("reader")["reader"])
	if err := l.m.SetScheduling(reader, machine.SchedAttr{Policy: machine.FIFO, Priority: 95}); err != nil {
		t.Fatal(err)
	}
	const reads = 20
	const limit = 5 * machine.Millisecond // what runs may go on up to its tick, which comes every 4 ms
	for range reads {
		before := l.m.Now()
		if n, err := h.Read(context.Background(), make([]byte, 100)); n != 0 || err != io.EOF {
			t.Fatalf("read: %d, %v", n, err)
		}
		if d := l.m.Now() - before; d == 0 || d > limit {
			t.Errorf("a read took %d ns, the period is 1 ms", d)
		}
	}
	line := regexp.MustCompile(`^ *(reader-\d+|<idle>-0|\S+-\d+) +\[002\] .{5} +[\d.]+: #(\d+) +context +(irq|thread|user-ret) timer_latency +\d+ ns$`)
	var contexts []string
	for _, text := range body(l.read("trace")) {
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q", text)
		}
		if m[3] != "irq" && !strings.HasPrefix(m[1], "reader-") {
			t.Errorf("%q is not the reader's", text)
		}
		contexts = append(contexts, m[3])
	}
	want := "irq thread" + strings.Repeat(" user-ret irq thread", reads-1)
	if got := strings.Join(contexts, " "); got != want {
		t.Errorf("contexts %s, want %s", got, want)
	}
	if len(l.threadsOf("timerlat/")) != 0 || len(l.threadsOf("reader")) != 1 {
		t.Errorf("threads %v, processes %v", l.threadsOf("timerlat/"), l.threadsOf("reader"))
	}
	l.ft.Run(10 * machine.Millisecond)
	if lines := len(body(l.read("trace"))); lines != len(contexts) {
		t.Errorf("%d lines more without a read", lines-len(contexts))
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	l.ft.Run(10 * machine.Millisecond)
	if left := l.threadsOf("reader"); len(left) != 0 {
		t.Errorf("it is closed, and %v is there", left)
	}
}

// Who may open it, and when.
func TestTimerlatFDErrors(t *testing.T) {
	l := newLab(t, tracer.Config{})
	check := func(what string, cpu int, want syscall.Errno) {
		t.Helper()
		h, err := l.openAs(cpu)
		if err == nil {
			_ = h.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("no timerlat", 2, syscall.EINVAL)
	l.write("current_tracer", "timerlat")
	check("with threads", 2, syscall.EINVAL)
	l.write("current_tracer", "osnoise")
	l.write("osnoise/options", "NO_OSNOISE_WORKLOAD")
	check("osnoise", 2, syscall.EINVAL)
	l.write("current_tracer", "timerlat")
	check("another CPU", 1, syscall.EPERM)
	if _, err := l.fs.OpenHandle(context.Background(), timerlatFD, tracefile.Read); !errors.Is(err, syscall.EPERM) {
		t.Errorf("by somebody: %v, want EPERM", err)
	}
	h, err := l.openAs(2)
	if err != nil {
		t.Fatal(err)
	}
	check("twice", 2, syscall.EBUSY)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	h, err = l.openAs(2)
	if err != nil {
		t.Errorf("again: %v", err)
	}
	l.write("current_tracer", "nop")
	if _, err := h.Read(context.Background(), make([]byte, 8)); !errors.Is(err, syscall.EINTR) {
		t.Errorf("a read without a tracer: %v, want EINTR: the process was killed", err)
	}
	if err := workload.Hotplug(l.ft, 2, false); err != nil {
		t.Fatal(err)
	}
	l.write("current_tracer", "timerlat")
	check("offline", 2, syscall.EPERM)
	if left := l.threadsOf("reader"); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// A tracer that stops kills a process that waits.
func TestTimerlatFDKill(t *testing.T) {
	l := newTimerlatFDLab(t)
	l.write("osnoise/timerlat_period_us", "1000000")
	l.write("osnoise/cpus", "all")
	h, err := l.openAs(2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Read(ctx, make([]byte, 8)); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that was interrupted: %v", err)
	}
	l.ft.Run(10 * machine.Millisecond)
	l.write("osnoise/cpus", "0-1") // starts the threads anew
	l.ft.Run(10 * machine.Millisecond)
	if left := l.threadsOf("reader"); len(left) != 0 {
		t.Errorf("%v was not killed", left)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
