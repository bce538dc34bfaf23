package tracer_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/record"
)

// trace_pipe gives what trace showed, takes it, and is at its end once tracing is
// off and it has given something.
func TestTracePipe(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("set_event", "sched:*")
	l.ft.Run(10 * machine.Millisecond)
	l.write("tracing_on", "0")
	trace := strings.Join(body(l.read("trace")), "\n") + "\n"
	text, end := l.drain(l.open("trace_pipe", tracefile.Read))
	if text != trace || end != io.EOF {
		t.Errorf("trace_pipe gives %d bytes and %v, trace has %d", len(text), end, len(trace))
	}
	if lines := body(l.read("trace")); len(lines) > 0 {
		t.Errorf("trace still has %d lines", len(lines))
	}
}

// A read takes the events whose lines it needs, and the others are there for the next reader:
// so a shell can read a line of trace_pipe, a byte at a time, and another one later. What the
// last line of a read has left is read alone.
//
// Kernel: tracing_read_pipe, kernel/trace/trace.c.
func TestPipeTakesWhatItNeeds(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for n := range 4 {
		l.write("trace_marker", fmt.Sprintf("number %d", n))
	}
	l.write("tracing_on", "0")
	lines := body(l.read("trace"))
	read := func(h tracefile.Handle, size int) string {
		buf := make([]byte, size)
		n, err := h.Read(t.Context(), buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	h := l.open("trace_pipe", tracefile.Read)
	first := lines[0] + "\n"
	if text := read(h, 0) + read(h, 1) + read(h, 9) + read(h, 4096); text != first {
		t.Errorf("read %q, want %q", text, first)
	}
	if text := read(h, len(first)+1); text != (lines[1] + "\n" + lines[2] + "\n")[:len(first)+1] {
		t.Errorf("read %q of two lines", text)
	}
	h.Close()
	if text, _ := l.drain(l.open("trace_pipe", tracefile.Read)); text != lines[3]+"\n" {
		t.Errorf("the next reader finds %q", text)
	}
}

// Without waiting an empty pipe is EAGAIN, whether tracing is on or off.
func TestPipeNonBlock(t *testing.T) {
	for _, name := range []string{"trace_pipe", "per_cpu/cpu0/trace_pipe", "per_cpu/cpu0/trace_pipe_raw"} {
		l := newLab(t, tracer.Config{})
		l.write("events/enable", "1")
		l.ft.Run(5 * machine.Millisecond)
		h := l.open(name, tracefile.Read|tracefile.NonBlock)
		for _, on := range []string{"1", "0"} {
			l.write("tracing_on", on)
			if _, end := l.drain(h); end != syscall.EAGAIN {
				t.Errorf("%s, tracing %s: %v, want EAGAIN", name, on, end)
			}
		}
	}
}

// One reader of a trace_pipe at a time; while a pipe is open the tracer stays.
func TestPipeIsBusy(t *testing.T) {
	l := newLab(t, tracer.Config{})
	busy := func(name string) bool {
		h, err := l.fs.OpenHandle(t.Context(), name, tracefile.Read)
		if err == nil {
			h.Close()
		}
		return tracefile.Errno(err) == syscall.EBUSY
	}
	all := l.open("trace_pipe", tracefile.Read)
	if !busy("trace_pipe") || !busy("per_cpu/cpu1/trace_pipe") || busy("per_cpu/cpu1/trace_pipe_raw") {
		t.Error("with trace_pipe open")
	}
	if err := l.errno("current_tracer", "function"); err != syscall.EBUSY {
		t.Errorf("a new tracer while trace_pipe is open: %v", err)
	}
	l.write("current_tracer", "nop")
	l.write("buffer_size_kb", "200")
	all.Close()
	one := l.open("per_cpu/cpu1/trace_pipe", tracefile.Read)
	if !busy("trace_pipe") || !busy("per_cpu/cpu1/trace_pipe") || busy("per_cpu/cpu0/trace_pipe") {
		t.Error("with per_cpu/cpu1/trace_pipe open")
	}
	one.Close()
	raw := l.open("per_cpu/cpu0/trace_pipe_raw", tracefile.Read)
	if err := l.errno("current_tracer", "function"); err != syscall.EBUSY {
		t.Errorf("a new tracer while trace_pipe_raw is open: %v", err)
	}
	raw.Close()
	raw.Close()
	l.write("current_tracer", "function")
}

// instances: what mkdir and rmdir refuse.
func TestInstances(t *testing.T) {
	l := newLab(t, tracer.Config{})
	errno := func(err error) syscall.Errno { return tracefile.Errno(err) }
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]syscall.Errno{
		"instances/foo": syscall.EEXIST, "instances/foo/bar": syscall.EPERM, "instances/none/bar": syscall.ENOENT,
		"foo": syscall.EPERM, "instances/.": syscall.EEXIST,
		"instances/" + strings.Repeat("x", 256): syscall.ENAMETOOLONG,
	} {
		if got := errno(l.fs.Mkdir(name)); got != want {
			t.Errorf("mkdir %.40s: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"trace", "trace_pipe", "per_cpu/cpu0/trace_pipe_raw", "options/raw", "set_event"} {
		h := l.open("instances/foo/"+name, tracefile.Read)
		if got := errno(l.fs.Rmdir("instances/foo")); got != syscall.EBUSY {
			t.Errorf("rmdir with %s open: %v, want EBUSY", name, got)
		}
		h.Close()
	}
	l.write("instances/foo/current_tracer", "function_graph")
	l.write("instances/foo/events/enable", "1")
	l.ft.Run(2 * machine.Millisecond)
	if err := l.fs.Rmdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	if l.m.Hooks.Call != nil {
		t.Error("the functions of a removed instance are still hooked")
	}
	l.ft.Run(2 * machine.Millisecond)
	if got := errno(l.fs.Rmdir("instances/foo")); got != syscall.ENOENT {
		t.Errorf("rmdir of nothing: %v", got)
	}
}

// function_graph has a limited number of users.
func TestGraphUsers(t *testing.T) {
	l := newLab(t, tracer.Config{})
	var failed error
	for n := range 20 {
		name := fmt.Sprintf("instances/i%02d", n)
		if err := l.fs.Mkdir(name); err != nil {
			t.Fatal(err)
		}
		l.write(name+"/buffer_size_kb", "8")
		if failed = l.errno(name+"/current_tracer", "function_graph"); failed != nil {
			l.want(name+"/current_tracer", "nop\n")
			break
		}
	}
	if failed != syscall.ENOSPC {
		t.Errorf("too many graphs: %v, want ENOSPC", failed)
	}
	l.ft.Run(machine.Millisecond)
}

// Closing free_buffer gives the memory back, and with disable_on_free stops.
func TestFreeBuffer(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for _, c := range []struct{ option, on string }{{"0", "1\n"}, {"1", "0\n"}} {
		l.write("buffer_size_kb", "256")
		l.write("options/disable_on_free", c.option)
		l.write("free_buffer", "")
		l.want("buffer_size_kb", "7\n")
		l.want("tracing_on", c.on)
	}
}

// The same seed gives the same bytes, however the run is cut; another gives
// others.
func TestDeterminism(t *testing.T) {
	run := func(seed uint64, step machine.Time) string {
		l := newLabOn(t, machine.Config{Seed: seed}, tracer.Config{Stackmap: record.V4(), DeferredUnwind: true})
		if err := l.fs.Mkdir("instances/foo"); err != nil {
			t.Fatal(err)
		}
		l.write("instances/foo/current_tracer", "function_graph")
		l.write("options/stackmap", "1")
		l.write("options/stacktrace", "1")
		l.write("options/userstacktrace_delay", "1")
		l.write("events/enable", "1")
		for range 10 * machine.Millisecond / step {
			l.ft.Run(step)
		}
		l.write("tracing_on", "0")
		text := l.read("trace") + l.read("instances/foo/trace") + l.read("stack_map") + l.read("stack_map_bin") + l.read("per_cpu/cpu0/stats")
		return text + string(bytes.Join(l.pages(), nil))
	}
	first := run(1, 10*machine.Millisecond)
	if again := run(1, machine.Millisecond/4); again != first {
		t.Error("the same seed gave other bytes")
	}
	if run(2, 10*machine.Millisecond) == first {
		t.Error("another seed gave the same bytes")
	}
}

// Files may be read and written while the machine runs; for the race detector.
func TestConcurrentUse(t *testing.T) {
	l := newLab(t, tracer.Config{DeferredUnwind: true})
	l.write("options/stackmap", "1")
	l.write("options/stacktrace", "1")
	l.write("events/enable", "1")
	l.write("current_tracer", "function")
	var wg sync.WaitGroup
	work := func(do func(n int)) {
		wg.Go(func() {
			for n := range 20 {
				do(n)
			}
		})
	}
	work(func(int) { l.ft.Run(machine.Millisecond / 10) })
	for _, name := range []string{"trace", "stack_map", "stack_map_stat", "set_event", "saved_cmdlines", "per_cpu/cpu0/stats", "options/raw", "set_ftrace_filter"} {
		work(func(int) {
			if _, err := l.fs.ReadFile(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	work(func(n int) {
		for name, text := range map[string]string{
			"options/sym-offset": fmt.Sprint(n & 1), "set_ftrace_filter": "vfs_read", "trace_marker": "x", "tracing_on": "1",
			"set_event": "sched", "options/userstacktrace_delay": fmt.Sprint(n & 1), "buffer_size_kb": fmt.Sprint(100 + n),
		} {
			if err := tracefsfs.WriteFile(l.fs, name, text+"\n"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	work(func(n int) {
		name := fmt.Sprintf("instances/i%d", n)
		if err := l.fs.Mkdir(name); err != nil {
			t.Error(err)
		}
		if err := l.fs.Rmdir(name); err != nil {
			t.Error(err)
		}
	})
	h := l.open("per_cpu/cpu0/trace_pipe_raw", tracefile.Read|tracefile.NonBlock)
	work(func(int) { _, _ = h.Read(t.Context(), make([]byte, 4096)) })
	wg.Wait()
}
