package tracer_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// writable are the files that take a write, one event standing for all.
func writable(t testing.TB, l *lab) (names []string) {
	err := fs.WalkDir(l.fs, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.Count(name, "/") > 2 && strings.Contains(name, "events/") && !strings.Contains(name, "events/sched/sched_switch/") {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode()&0o200 != 0 {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// FuzzWrite writes anything to any two files, one after the other: whatever
// happens carries an errno a kernel could give, nothing panics, and the machine
// runs on.
func FuzzWrite(f *testing.F) {
	cfg := tracer.Config{BufferSizeKB: 64, DeferredUnwind: true}
	names := writable(f, newFuzzLab(f, cfg))
	if len(names) < 120 {
		f.Fatalf("only %d files can be written", len(names))
	}
	for n, text := range []string{"1\n", "0", "nop", "function_graph\n", "sched:*\n", "!sched", "vfs_*:mod:!x\n", "3", "hi\x00\xff", "nostacktrace", "reset\n", " mono ", "0x1f", "", "1 2 3"} {
		f.Add(uint16(n*17), uint16(n*31), uint8(n), []byte(text))
	}
	trigger := uint16(slices.Index(names, "events/sched/sched_switch/trigger"))
	for _, text := range []string{"hist:keys=prev_pid:x=prev_prio:onmax($x).save(next_comm):onmax($x).snapshot()", "hist:keys=stacktrace,cpu:vals=common_timestamp", "!hist:name=a:keys=prev_comm if prev_pid"} {
		f.Add(trigger, trigger, uint8(2), []byte(text))
	}
	f.Fuzz(func(t *testing.T, first, second uint16, how uint8, data []byte) {
		l := newFuzzLab(t, cfg)
		for _, which := range []uint16{first, second} {
			name := names[int(which)%len(names)]
			if strings.Contains(name, "buffer_size_kb") && len(strings.TrimLeft(string(data), "+0")) > 5 {
				t.Skip("a buffer that takes the machine's memory")
			}
			writeAnything(l, name, how, data)
			l.ft.Run(50 * machine.Microsecond)
		}
		l.read("trace")
	})
}

func newFuzzLab(t testing.TB, cfg tracer.Config) *lab {
	l := newLabOn(t, machine.Config{CPUs: 2}, cfg)
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	return l
}

// writeAnything opens in one of four ways, writes once and closes.
func writeAnything(l *lab, name string, how uint8, data []byte) {
	flags := []tracefile.Flags{tracefile.Write, tracefile.Write | tracefile.Trunc, tracefile.Write | tracefile.Append, tracefile.Read | tracefile.Write}[how%4]
	check := func(what string, err error) {
		if tracefile.Errno(err) == syscall.EIO {
			l.t.Fatalf("%s of %s: %v carries no errno", what, name, err)
		}
	}
	ctx := context.Background()
	h, err := l.fs.OpenHandle(ctx, name, flags)
	check("open", err)
	if err != nil {
		return
	}
	n, err := h.Write(ctx, data)
	check("write", err)
	if n < 0 || n > len(data) || n > 0 && err != nil {
		l.t.Fatalf("write of %d bytes to %s took %d, %v", len(data), name, n, err)
	}
	check("flush", h.Flush())
	check("close", h.Close())
}
