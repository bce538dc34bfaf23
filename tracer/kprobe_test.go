package tracer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/workload"
)

// Every call of a function hits the probes at its entry, behind it and at its return.
func TestKprobeHits(t *testing.T) {
	l := newProbeLab(t)
	l.must("dynamic_events", "p:enter vfs_read comm=$comm\nr:leave vfs_read $retval\np:inside vfs_read+9\np:never vfs_write\n")
	l.want("kprobe_events", "p:kprobes/enter vfs_read comm=$comm\nr10:kprobes/leave vfs_read arg1=$retval\np:kprobes/inside vfs_read+9\np:kprobes/never vfs_write\n")
	for _, event := range []string{"enter", "leave", "inside"} {
		l.must("events/kprobes/"+event+"/enable", "1")
	}
	l.ft.Run(200 * machine.Millisecond)
	for _, part := range []string{" (1) R         \ttramp: 0x", "(kprobe_ftrace_handler+0x0/"} {
		if got := l.read("enabled_functions"); !strings.Contains(got, part) {
			t.Errorf("enabled_functions: %q lacks %q", got, part)
		}
	}
	l.must("events/kprobes/enable", "0")
	l.want("enabled_functions", "")
	trace := l.read("trace")
	calls := strings.Count(trace, "enter: (vfs_read+0x4/0x370) comm=\"")
	for _, part := range []string{"inside: (vfs_read+0x9/0x370)\n", "leave: (ksys_read+0xbb/0xf0 <- vfs_read) arg1="} {
		if n := strings.Count(trace, part); n != calls || n < 10 {
			t.Errorf("%d times %q, %d calls", n, part, calls)
		}
	}
	line := func(name string, hits int) string { return fmt.Sprintf("  %-44s %15d %15d\n", name, hits, 0) }
	l.want("kprobe_profile", line("enter", calls)+line("leave", calls)+line("inside", calls)+line("never", 0))
	l.ft.Run(100 * machine.Millisecond)
	l.want("kprobe_profile", line("enter", calls)+line("leave", calls)+line("inside", calls)+line("never", 0))
}

// The stack of a hit begins where the probe is, that of a return where it goes on.
func TestKprobeStack(t *testing.T) {
	l := newProbeLab(t)
	l.must("kprobe_events", "p:enter vfs_read\nr:leave vfs_read\n")
	l.must("events/kprobes/enable", "1")
	l.must("options/stacktrace", "1")
	l.ft.Run(100 * machine.Millisecond)
	trace := l.read("trace")
	for name, stack := range map[string]string{"enter": " => vfs_read\n => ksys_read\n => do_syscall_64\n", "leave": " => ksys_read\n => do_syscall_64\n"} {
		_, rest, _ := strings.Cut(trace, " "+name+": (")
		if _, rest, _ = strings.Cut(rest, "<stack trace>\n"); !strings.HasPrefix(rest, stack) {
			t.Errorf("%s: the stack is\n%.200s", name, rest)
		}
	}
}

// Several probes may be of one event; it goes with the last of them.
func TestKprobeAppend(t *testing.T) {
	l := newProbeLab(t)
	l.must("kprobe_events", "p:both vfs_read\np:both vfs_write\n")
	l.fails("kprobe_events", "p:both vfs_read", syscall.EEXIST)
	l.fails("kprobe_events", "r:both vfs_open", syscall.EEXIST)
	l.fails("kprobe_events", "p:both vfs_open $stack", syscall.EEXIST)
	l.fails("kprobe_events", "p:sched/sched_switch vfs_open", syscall.EEXIST)
	l.must("events/kprobes/both/enable", "1")
	l.fails("kprobe_events", "-:nobody", syscall.ENOENT)
	l.must("kprobe_events", "p:both vfs_open\n-:both vfs_read\n")
	l.want("kprobe_events", "p:kprobes/both vfs_write\np:kprobes/both vfs_open\n")
	l.ft.Run(200 * machine.Millisecond)
	l.must("kprobe_events", "-:both vfs_open\n")
	l.fails("kprobe_events", "-:both", syscall.EBUSY)
	trace := l.read("trace")
	for function, want := range map[string]bool{"vfs_read": false, "vfs_write": true, "vfs_open": true} {
		if strings.Contains(trace, "both: ("+function+"+0x4/") != want {
			t.Errorf("hits of %s: want %t", function, want)
		}
	}
	l.must("events/kprobes/both/enable", "0")
	l.must("kprobe_events", "-:both")
	if _, err := l.fs.Lookup("events/kprobes"); err == nil {
		t.Error("events/kprobes stays")
	}
}

// Where no probe can be, error_log says why.
func TestKprobeRefused(t *testing.T) {
	l := newProbeLab(t)
	for command, want := range map[string]struct {
		errno   syscall.Errno
		message string
	}{
		"p vfs_read+3":                {syscall.EILSEQ, "Probe point is not an instruction boundary\n  Command: p vfs_read+3\n             ^\n"},
		"p _stext":                    {syscall.EINVAL, "Failed to register probe event"},
		"p nothing":                   {syscall.EINVAL, "Invalid probed address or symbol"},
		"p do_int3":                   {syscall.EINVAL, "Failed to register probe event"},
		"p do_int3+9":                 {syscall.EINVAL, "Failed to register probe event"},
		"r vfs_read+9":                {syscall.EINVAL, "Retprobe address must be an function entry"},
		"p:name_show_probe name_show": {syscall.EINVAL, "The symbol is not unique"},
	} {
		if err := tracefsfs.WriteFile(l.fs, "error_log", ""); err != nil {
			t.Fatal(err)
		}
		l.fails("kprobe_events", command, want.errno)
		if got := l.read("error_log"); !strings.Contains(got, "trace_kprobe: error: "+want.message) {
			t.Errorf("%s: error_log reads\n%s", command, got)
		}
	}
	l.fails("kprobe_events", "f:x vfs_read", syscall.EINVAL) // of another kind
	l.want("kprobe_events", "")
	l.must("kprobe_events", "p:nowhere 0x1000") // as one in a module that may yet come
}

// A probe in a module waits for it, and again when it has gone.
func TestKprobeModule(t *testing.T) {
	l := newProbeLab(t)
	l.must("kprobe_events", "p:event1 trace_printk:trace_printk_irq_work\nr:event2 trace_printk:trace_printk_irq_work\n")
	l.must("events/kprobes/event1/enable", "1")
	list := l.kprobesList
	if got := list(); got != "" {
		t.Errorf("the list reads %q", got)
	}
	for range 2 {
		if err := workload.Modprobe(l.ft, "trace-printk", nil); err != nil {
			t.Fatal(err)
		}
		l.ft.Run(20 * machine.Millisecond)
		if got := l.read("trace"); !strings.Contains(got, " event1: (trace_printk_irq_work+0x4/0x") {
			t.Errorf("no hit in %s", got)
		}
		l.must("trace", "\n")
		here := list()
		if err := workload.Rmmod(l.ft, "trace_printk"); err != nil {
			t.Fatal(err)
		}
		gone := list()
		for _, lines := range []struct{ text, want string }{
			{here, "  k  trace_printk_irq_work+0x4  trace_printk [FTRACE]\n"},
			{here, "  r  trace_printk_irq_work+0x4  trace_printk [DISABLED][FTRACE]\n"},
			{gone, "[GONE][FTRACE]\n"},
		} {
			if !strings.Contains(lines.text, lines.want) {
				t.Errorf("the list reads %q, want %q in it", lines.text, lines.want)
			}
		}
	}
}

// A jump takes the place of a breakpoint after a while.
func TestKprobeOptimization(t *testing.T) {
	l := newProbeLab(t)
	l.must("kprobe_events", "p:inside vfs_read+9\np:entry vfs_read\n")
	list := l.kprobesList
	want := func(when, inside string) {
		t.Helper()
		if got := list(); !strings.Contains(got, "vfs_read+0x9    "+inside+"\n") {
			t.Errorf("%s: %q lacks %s", when, got, inside)
		}
	}
	want("disabled", "[DISABLED]")
	l.must("events/kprobes/enable", "1")
	want("armed", "")
	l.ft.Run(20 * machine.Millisecond)
	want("later", "[OPTIMIZED]")
	if trace := l.read("trace"); !strings.Contains(trace, "] .NZff") && !strings.Contains(trace, "] ..Zff") {
		t.Errorf("no hit is in a breakpoint's context:\n%s", trace)
	}
	l.must("events/kprobes/entry/enable", "0")
	l.must("events/kprobes/entry/enable", "1")
	if err := tracefsfs.WriteFile(l.fs, "trace", ""); err != nil {
		t.Fatal(err)
	}
	l.ft.Run(20 * machine.Millisecond)
	if trace := l.read("trace"); strings.Contains(trace, "Z") || !strings.Contains(trace, "] .....") {
		t.Errorf("the jump's context is another:\n%s", trace)
	}
	switchIt := func(text string) error {
		h, err := l.ft.DebugSysctls()[0].Open(context.Background(), tracefile.Write)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		_, err = h.Write(context.Background(), []byte(text))
		return err
	}
	if err := switchIt("2"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("kprobes-optimization takes 2: %v", err)
	}
	if err := switchIt("0"); err != nil {
		t.Fatal(err)
	}
	want("switched off", "")
	if !strings.Contains(list(), "vfs_read+0x4    [FTRACE]\n") {
		t.Errorf("the entry's probe: %q", list())
	}
}

// A hit allocates nothing.
func TestKprobeHitAllocs(t *testing.T) {
	l := newProbeLab(t)
	l.must("kprobe_events", "p:enter vfs_read $arg1 $stack0 +0($arg2):u8 $comm\nr:leave vfs_read $retval $arg3\n")
	l.must("events/kprobes/enable", "1")
	l.ft.Run(50 * machine.Millisecond) // objects and buffers are made
	allocs := -1.0
	call := l.ft.machine.Hooks.Call
	l.ft.machine.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		if name, _, _, _, _ := l.ft.machine.Kallsyms().Lookup(f.IP); name != "vfs_read" || allocs >= 0 {
			call(c, f)
			return
		}
		ret := f.Ret
		allocs = testing.AllocsPerRun(100, func() {
			f.Ret = ret
			call(c, f)
			l.ft.leave(c, f)
		})
		f.Ret = ret
	}
	l.ft.Run(50 * machine.Millisecond)
	if allocs != 0 {
		t.Errorf("a hit and its return allocate %.0f times", allocs)
	}
}

// The folder kprobes of debugfs: what must not be probed, and a switch for all.
func TestKprobesDir(t *testing.T) {
	l := newProbeLab(t)
	dir := tracefsfs.New(l.ft.KprobesDir())
	black, err := dir.ReadFile("blacklist")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(black), "\n")
	if len(lines) < 300 || !strings.HasSuffix(lines[0], "\tperf_event_nmi_handler") ||
		!strings.Contains(string(black), "0xffffffff810420d0-0xffffffff81042130\tdo_int3\n") || !strings.Contains(string(black), "\tentry_SYSCALL_64\n") {
		t.Errorf("the blacklist has %d lines:\n%.300s", len(lines), black)
	}
	l.must("kprobe_events", "p:entry vfs_read\np:inside vfs_read+9\n")
	l.must("events/kprobes/enable", "1")
	for _, on := range []string{"N", "y"} {
		if err := tracefsfs.WriteFile(dir, "enabled", on); err != nil {
			t.Fatal(err)
		}
		if err := tracefsfs.WriteFile(l.fs, "trace", ""); err != nil {
			t.Fatal(err)
		}
		l.ft.Run(50 * machine.Millisecond)
		text, _ := dir.ReadFile("enabled")
		trace := l.read("trace")
		if want := on == "y"; strings.Contains(trace, "entry: ") != want || strings.Contains(trace, "inside: ") != want || (string(text) == "1\n") != want {
			t.Errorf("enabled is %q after %s:\n%.500s", text, on, trace)
		}
	}
	if err := tracefsfs.WriteFile(dir, "enabled", "maybe"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("enabled takes maybe: %v", err)
	}
}

// kprobesList is the text of kprobes/list in debugfs.
func (l *dynLab) kprobesList() string {
	l.t.Helper()
	h, err := l.ft.KprobesDir().Children()[0].(*tracefile.File).Open(context.Background(), tracefile.Read)
	if err != nil {
		l.t.Fatal(err)
	}
	defer h.Close()
	text := make([]byte, 1000)
	n, _ := h.Read(context.Background(), text)
	return string(text[:n])
}
