package tracer_test

import (
	"errors"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// FuzzDynamicEvents defines anything, lets it happen and is read: nothing panics, and
// with all definitions deleted the events are what they were.
func FuzzDynamicEvents(f *testing.F) {
	for _, text := range []string{
		"p vfs_read", "r5:x/y vfs_read $retval", "p:a vfs_read+9 $stack0:x8[3] +0($arg1):string %ip:symbol\np:a vfs_write",
		"f:f1 vfs_open $arg*", "t:t1 sched_switch prev->pid", "s:s1 u64 a; char b[4]", "e:e1 sched.sched_switch $prev_pid:s32 if prev_pid > 3",
		"p:pending nomod:vfs_read\n-:pending", "!p:a vfs_read", "-:x/", "p 0x1000", "p vfs_read @jiffies:u64 \\\"str\" $comm #", "p\x00q", "r vfs_read%return",
	} {
		f.Add(text)
	}
	cfg := tracer.Config{BufferSizeKB: 64}
	f.Fuzz(func(t *testing.T, text string) {
		l := newFuzzLab(t, cfg)
		before := l.read("available_events")
		for _, file := range []string{"dynamic_events", "kprobe_events"} {
			if err := tracefsfs.Append(l.fs, file, text); tracefile.Errno(err) == syscall.EIO && err != nil {
				t.Fatalf("%s: %v carries no errno", file, err)
			}
		}
		defined := l.read("dynamic_events")
		for _, file := range []string{"events/enable", "instances/foo/events/enable"} {
			if err := tracefsfs.WriteFile(l.fs, file, "1"); err != nil && tracefile.Errno(err) == syscall.EIO {
				t.Fatal(err)
			}
		}
		l.ft.Run(200 * machine.Microsecond)
		l.read("trace")
		l.read("instances/foo/trace")
		err := tracefsfs.WriteFile(l.fs, "dynamic_events", "")
		if busy := errors.Is(err, syscall.EBUSY); busy != (defined != "") {
			t.Errorf("deleting enabled events: %v; defined was %q", err, defined)
		}
		l.write("events/enable", "0")
		l.write("instances/foo/events/enable", "0")
		if err := tracefsfs.WriteFile(l.fs, "dynamic_events", ""); err != nil {
			t.Fatal(err)
		}
		l.want("dynamic_events", "")
		l.want("available_events", before)
	})
}
