package tracer_test

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// With options/pause-on-trace nothing is recorded while trace is open for reading;
// tracing_on does not tell.
func TestPauseOnTrace(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoStackmap: true})
	open := func(name string) tracefile.Handle {
		t.Helper()
		h, err := l.fs.OpenHandle(t.Context(), name, tracefile.Read)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	records := func() bool {
		t.Helper()
		err := l.errno("trace_marker", "x")
		if err != nil && err != syscall.EBADF {
			t.Fatalf("trace_marker: %v", err)
		}
		before := len(l.records())
		l.write("set_event", "sched:sched_switch")
		l.ft.Run(20 * machine.Millisecond)
		l.write("set_event", "")
		if more := len(l.records()) > before; more != (err == nil) {
			t.Errorf("events are recorded: %v, and trace_marker says %v", more, err)
		}
		return err == nil
	}
	expect := func(want bool, when string) {
		t.Helper()
		if got := records(); got != want {
			t.Errorf("%s: records %v", when, got)
		}
		l.want("tracing_on", "1\n")
	}

	early := open("trace")
	expect(true, "open without the option")
	l.write("options/pause-on-trace", "1")
	expect(true, "opened before the option was set")
	late := open("per_cpu/cpu0/trace")
	expect(false, "open")
	snapshot := open("snapshot")
	snapshot.Close()
	expect(false, "snapshot closed")
	// A snapshot can be taken, and the buffer that was one is disabled, too.
	l.write("snapshot", "1")
	expect(false, "after a snapshot")
	early.Close() // takes back what is the other's
	expect(true, "one of two closed")
	late.Close()
	expect(true, "both closed")

	a, b := open("trace"), open("trace")
	a.Close()
	expect(false, "one of two is left")
	b.Close()
	expect(true, "none is left")
}

// With sym-userobj a user address is a place in the file that the process has mapped
// there.
func TestSymUserobj(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000})
	l.write("options/userstacktrace", "1")
	l.write("set_event", "raw_syscalls:sys_enter")
	l.ft.Run(30 * machine.Millisecond)
	l.write("tracing_on", "0")
	plain := body(l.read("trace"))
	l.write("options/sym-userobj", "1")
	files := body(l.read("trace"))
	l.write("options/sym-addr", "1")
	both := body(l.read("trace"))
	if len(plain) != len(files) || len(plain) != len(both) {
		t.Fatalf("%d, %d and %d lines", len(plain), len(files), len(both))
	}
	starts := map[string]uint64{}
	for n, line := range files {
		addr, ok := strings.CutPrefix(plain[n], " => ")
		if !ok {
			if line != plain[n] {
				t.Errorf("%q has become %q", plain[n], line)
			}
			continue
		}
		m := userPlace.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%q has no file", line)
			continue
		}
		ip, _ := strconv.ParseUint(strings.Trim(addr, " <>"), 16, 64)
		offset, _ := strconv.ParseUint(m[2], 16, 64)
		if start, ok := starts[m[1]]; ok && start != ip-offset {
			t.Errorf("%q: %s begins at %#x, and elsewhere at %#x", line, m[1], ip-offset, start)
		}
		starts[m[1]] = ip - offset
		if want := line + addr; both[n] != want {
			t.Errorf("with sym-addr %q, want %q", both[n], want)
		}
	}
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/bash"} {
		if starts[path] == 0 {
			t.Errorf("no address in %s, but in %v", path, starts)
		}
	}
}

var userPlace = regexp.MustCompile(`^ => (/\S+)\[\+0x([0-9a-f]+)\]$`)
