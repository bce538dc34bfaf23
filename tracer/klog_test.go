package tracer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/machine/klog"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// messages gives the kernel's log from a record on: level and text.
func (l *lab) messages(from uint64) (lines []string) {
	for seq := from; ; seq++ {
		r, ok := l.m.Log().Next(seq)
		if !ok {
			return lines
		}
		lines = append(lines, fmt.Sprintf("<%d>%s", r.Priority(), r.Text))
	}
}

// logged checks what do makes the kernel print.
func (l *lab) logged(do func(), want ...string) {
	l.t.Helper()
	from := l.m.Log().End()
	do()
	if got := strings.Join(l.messages(from), "\n"); got != strings.Join(want, "\n") {
		l.t.Errorf("the kernel prints\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// What the kernel says when it boots agrees with what it has: these are the numbers of the
// real kernel from which the symbol table is.
func TestBootLog(t *testing.T) {
	l := newLabIn(t, "quiet", machine.Config{Cmdline: "BOOT_IMAGE=/v quiet ftrace_stackmap.bits=x", Malformed: []string{"ftrace_stackmap.bits"}}, tracer.Config{})
	want := []string{
		"<5>" + strings.TrimSuffix(machine.Banner, "\n"),
		"<6>Command line: BOOT_IMAGE=/v quiet ftrace_stackmap.bits=x",
		"<4>Malformed early option 'ftrace_stackmap.bits'",
		"<5>Kernel command line: BOOT_IMAGE=/v quiet ftrace_stackmap.bits=x",
		`<5>Unknown kernel command line parameters "BOOT_IMAGE=/v", will be passed to user space.`,
		"<6>ftrace: allocating 45261 entries in 180 pages",
		"<6>ftrace: allocated 180 pages with 4 groups",
		"<6>kprobes: kprobe jump-optimization is enabled. All kprobes are optimized if possible.",
	}
	if got := l.messages(0); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log begins with\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The texts are those that a real 6.12 printed when the same was done.
func TestMessages(t *testing.T) {
	l := newLab(t, tracer.Config{})
	refused := func(name, text string) func() {
		return func() {
			if err := l.errno(name, text); err == nil {
				t.Errorf("%s takes %q", name, text)
			}
		}
	}
	l.logged(refused("kprobe_events", "p:x trace_clock_local"), "<4>trace_kprobe: Could not probe notrace function trace_clock_local")
	l.logged(refused("kprobe_events", "p:x notrace_nonexist"))
	l.logged(func() { l.write("kprobe_events", "p:x nomod:foo") },
		"<4>trace_kprobe: This probe might be able to register after target module is loaded. Continue.")
	for _, file := range []string{
		"set_ftrace_filter", "set_graph_function", "trace_clock", "current_tracer", "events/sched/sched_switch/filter",
		"events/sched/sched_switch/trigger",
	} {
		l.logged(refused(file, "garbage"))
	}
	l.logged(func() { l.modprobe("trace_printk") }, strings.Split(strings.Trim(`
<4>
<4>**********************************************************
<4>**   NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE   **
<4>**                                                      **
<4>** trace_printk() being used. Allocating extra memory.  **
<4>**                                                      **
<4>** This means that this is a DEBUG kernel and it is     **
<4>** unsafe for production use.                           **
<4>**                                                      **
<4>** If you see this message and you are not debugging    **
<4>** the kernel, report this immediately to your vendor!  **
<4>**                                                      **
<4>**   NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE   **
<4>**********************************************************`, "\n"), "\n")...)
	rmmod := func(name string) {
		if err := workload.Rmmod(l.ft, name); err != nil {
			t.Fatal(err)
		}
	}
	rmmod("trace_printk")
	l.logged(func() { l.modprobe("trace_printk") }) // it warns once
	l.logged(func() {
		if err := workload.Modprobe(l.ft, "dummy", []string{"foo=1"}); err != nil {
			t.Error(err)
		}
	}, "<4>dummy: unknown parameter 'foo' ignored")
	l.modprobe("trace_events_sample")
	l.logged(func() {
		l.write("events/sample-trace/enable", "1")
		l.write("events/sample-trace/enable", "0")
		l.ft.Run(10 * machine.Millisecond)
		l.write("events/sample-trace/foo_bar_with_fn/enable", "1")
		rmmod("trace_events_sample")
	},
		"<6>Starting thread for foo_bar_fn", "<6>Killing thread for foo_bar_fn",
		"<6>Starting thread for foo_bar_fn", "<6>Killing thread for foo_bar_fn")
	l.logged(func() {
		if err := workload.Modprobe(l.ft, "testmmiotrace", nil); !errors.Is(err, syscall.ENXIO) {
			t.Error(err)
		}
	},
		"<3>testmmiotrace: you have to use the module argument mmio_address.",
		"<3>testmmiotrace: DO NOT LOAD THIS MODULE UNLESS YOU REALLY KNOW WHAT YOU ARE DOING!")
	l.logged(func() {
		if err := workload.Modprobe(l.ft, "testmmiotrace", []string{"mmio_address=0xfebf1000"}); err != nil {
			t.Error(err)
		}
	},
		"<4>testmmiotrace: WARNING: mapping 8192 kB @ 0xfebf1000 in PCI address space, and writing 16 kB of rubbish in there.",
		"<6>testmmiotrace: write test.", "<6>testmmiotrace: read test.", "<6>testmmiotrace: read far test.", "<6>testmmiotrace: All done.")
	hotplug := func(on bool) func() {
		return func() {
			if err := workload.Hotplug(l.ft, 1, on); err != nil {
				t.Error(err)
			}
		}
	}
	l.logged(hotplug(false), "<6>smpboot: CPU 1 is now offline")
	l.logged(hotplug(true), "<6>smpboot: Booting Node 0 Processor 1 APIC 0x1")
}

// mmiotrace takes the other CPUs offline.
func TestMMIOTraceMessages(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	l.logged(func() { l.write("current_tracer", "mmiotrace") },
		"<5>mmiotrace: Disabling non-boot CPUs...", "<6>smpboot: CPU 1 is now offline", "<6>mmiotrace: CPU1 is down.", "<6>mmiotrace: enabled.")
	l.logged(func() { l.write("current_tracer", "nop") },
		"<5>mmiotrace: Re-enabling CPUs...", "<6>smpboot: Booting Node 0 Processor 1 APIC 0x1", "<6>mmiotrace: enabled CPU1.", "<6>mmiotrace: disabled.")
}

// z dumps the buffer, l shows stacks, and a digit is the console's level.
func TestSysRqMessages(t *testing.T) {
	l := newLab(t, tracer.Config{})
	var console strings.Builder
	l.m.Log().Console = &console
	key := func(key string) func() {
		return func() {
			if err := workload.SysRq(l.ft, key); err != nil {
				t.Error(err)
			}
		}
	}
	l.logged(key("z"), "<6>sysrq: Dump ftrace buffer", "<0>Dumping ftrace buffer:", "<0>   (ftrace buffer empty)")
	if console.Len() == 0 || !strings.HasPrefix(console.String(), "[    0.000000] sysrq: Dump ftrace buffer\n") {
		t.Errorf("the console shows %q", console.String())
	}
	l.write("tracing_on", "1")
	l.write("trace_marker", "hello\nthere")
	l.logged(key("z"), "<6>sysrq: Dump ftrace buffer", "<0>Dumping ftrace buffer:", "<0>---------------------------------",
		"<0>      sh-1000      0.....    0us : tracing_mark_write: hello\nthere", "<0>---------------------------------")
	l.want("tracing_on", "0\n")
	l.logged(key("l"), "<6>sysrq: Show backtrace of all active CPUs")
	l.logged(key("m"))
	l.logged(key("_91"), "<6>sysrq: Changing Loglevel", "<6>sysrq: Loglevel set to 9", "<6>sysrq: Changing Loglevel", "<6>sysrq: Loglevel set to 1")
	if l.m.Log().Levels() != [4]int32{1, 4, 1, 7} {
		t.Errorf("levels %v", l.m.Log().Levels())
	}
}

// tp_printk prints the text of each event that an instance records.
func TestTracepointPrintk(t *testing.T) {
	events := func(l *lab) (texts []string) {
		from := l.m.Log().End()
		l.write("events/sched/sched_switch/enable", "1")
		l.ft.Run(20 * machine.Millisecond)
		l.write("events/sched/sched_switch/enable", "0")
		return l.messages(from)
	}
	const sysctl = "tracepoint_printk"
	l := newLab(t, tracer.Config{})
	set := func(l *lab, value string) string {
		f := sysctlNamed(t, l, sysctl)
		if err := writeHandle(f, value); err != nil {
			t.Fatal(err)
		}
		return readHandle(t, f)
	}
	if got := set(l, "1"); got != "0\n" {
		t.Errorf("without tp_printk %s is %q", sysctl, got)
	}
	if got := events(l); len(got) > 0 {
		t.Errorf("without tp_printk: %q", got)
	}
	l = newLab(t, tracer.Config{TracepointPrintk: true})
	l.modprobe("trace_printk")
	l.modprobe("trace_printk")
	l.write("trace_marker", "no event of a tracepoint")
	for _, m := range l.messages(0) {
		if strings.Contains(m, "This is a") && !strings.Contains(m, "DEBUG") || strings.Contains(m, "no event") {
			t.Errorf("what is no tracepoint is printed: %q", m)
		}
	}
	l.write("trace", "")
	printed := events(l)
	var recorded []string
	for _, line := range body(l.read("trace")) {
		_, text, _ := strings.Cut(line, ": sched_switch: ")
		recorded = append(recorded, "<4>sched_switch: "+text)
	}
	if len(printed) < 5 || strings.Join(printed, "\n") != strings.Join(recorded, "\n") {
		t.Errorf("printed %d, recorded %d: %.300q, %.300q", len(printed), len(recorded), printed, recorded)
	}
	// A filter, a buffer that records nothing, and the console's own event.
	l.write("events/sched/sched_switch/filter", "next_pid == 99999999")
	l.write("events/printk/console/enable", "1")
	l.logged(func() { l.m.Printk(klog.Info, "x") }, "<6>x")
	if got := events(l); len(got) > 0 {
		t.Errorf("with a filter: %q", got)
	}
	l.write("events/sched/sched_switch/filter", "0")
	l.write("tracing_on", "0")
	if got := events(l); len(got) > 0 {
		t.Errorf("with tracing_on 0: %q", got)
	}
	l.write("tracing_on", "1")
	if got := set(l, "0"); got != "0\n" {
		t.Errorf("%s is %q", sysctl, got)
	}
	if got := events(l); len(got) > 0 {
		t.Errorf("with tracepoint_printk 0: %q", got)
	}
	if got := set(l, "1"); got != "1\n" || len(events(l)) == 0 {
		t.Errorf("%s is %q", sysctl, got)
	}
}

// Two instances that record an event print it twice.
func TestTracepointPrintkInstances(t *testing.T) {
	l := newLab(t, tracer.Config{TracepointPrintk: true})
	if err := l.fs.Mkdir("instances/a"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "instances/a/"} {
		l.write(dir+"events/sched/sched_switch/enable", "1")
	}
	from := l.m.Log().End()
	l.ft.Run(20 * machine.Millisecond)
	got := l.messages(from)
	if len(got) == 0 || len(got)%2 != 0 {
		t.Fatalf("%d messages", len(got))
	}
	for n := 0; n < len(got); n += 2 {
		if got[n] != got[n+1] {
			t.Errorf("%q and %q", got[n], got[n+1])
		}
	}
}

// printk:console is recorded for each message, in the context of who says it.
func TestConsoleEvent(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("events/printk/console/enable", "1")
	l.write("options/stacktrace", "1")
	kmsg := l.ft.Kmsg()
	if err := writeHandle(kmsg, "<3>hi\n"); err != nil {
		t.Fatal(err)
	}
	lines := body(l.read("trace"))
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "              sh-1000    [000] d....     0.000000: console: hi") {
		t.Fatalf("%q", lines)
	}
	var stack []string
	for _, line := range lines[2:] {
		stack = append(stack, strings.TrimPrefix(line, " => "))
	}
	want := "trace_event_raw_event_console printk_sprint vprintk_store vprintk_emit devkmsg_emit.constprop.0 devkmsg_write " +
		"vfs_write ksys_write do_syscall_64 entry_SYSCALL_64_after_hwframe"
	if got := strings.Join(stack, " "); got != want {
		t.Errorf("its stack is\n%s, a kernel's\n%s", got, want)
	}
	l.write("options/stacktrace", "0")
	l.write("trace", "")
	l.write("events/sched/sched_switch/enable", "1")
	l.append("set_ftrace_filter", "schedule:dump")
	l.ft.Run(40 * machine.Millisecond)
	l.write("tracing_on", "1")
	l.m.Printk(klog.Warning, "two\nlines")
	if got := l.read("trace"); !strings.Contains(got, ": console: two\nlines\n") {
		t.Errorf("%s", got)
	}
}

// Each read of /dev/kmsg gives one record, and a reader hears of what it has missed.
func TestKmsg(t *testing.T) {
	l := newLab(t, tracer.Config{})
	ctx := context.Background()
	open := func() tracefile.Handle {
		h, err := l.ft.Kmsg().Open(ctx, tracefile.Read|tracefile.NonBlock)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := open()
	buf := make([]byte, 8192)
	n, err := h.Read(ctx, buf)
	if err != nil || !strings.HasPrefix(string(buf[:n]), "5,0,0,-;Linux version ") {
		t.Errorf("%q, %v", buf[:n], err)
	}
	if _, err := h.Read(ctx, buf[:5]); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("into 5 bytes: %v", err)
	}
	if n, err := h.Read(ctx, buf); err != nil || !strings.HasPrefix(string(buf[:n]), "5,2,0,-;Kernel command line: ") {
		t.Errorf("then %q, %v", buf[:n], err)
	}
	for range 5000 {
		l.m.Printk(klog.Info, "x")
	}
	if h.Poll()&tracefile.PollIn == 0 {
		t.Error("nothing to read")
	}
	if _, err := h.Read(ctx, buf); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("after a gap: %v", err)
	}
	if n, err := h.Read(ctx, buf); err != nil || string(buf[:n]) != fmt.Sprintf("6,%d,0,-;x\n", l.m.Log().First()) {
		t.Errorf("then %q, %v", buf[:n], err)
	}
	l.m.Log().Clear()
	h = open()
	if _, err := h.Read(ctx, buf); !errors.Is(err, syscall.EAGAIN) || h.Poll()&tracefile.PollIn != 0 {
		t.Errorf("after Clear: %v", err)
	}
	// A reader that waits lets time pass until there is a message.
	waiting, err := l.ft.Kmsg().Open(ctx, tracefile.Read)
	if err != nil {
		t.Fatal(err)
	}
	l.write("events/sched/sched_switch/enable", "1")
	l.append("set_ftrace_filter", "schedule:dump")
	if n, err := waiting.Read(ctx, buf); err != nil || !strings.HasSuffix(string(buf[:n]), "-;Dumping ftrace buffer:\n") {
		t.Errorf("a reader gets %q, %v", buf[:n], err)
	}
}

// /proc/sys/kernel/printk takes as many numbers as there are.
func TestPrintkSysctl(t *testing.T) {
	l := newLab(t, tracer.Config{})
	f := sysctlNamed(t, l, "printk")
	if got := readHandle(t, f); got != "4\t4\t1\t7\n" {
		t.Errorf("at boot %q", got)
	}
	for _, c := range []struct {
		text, want string
		err        bool
	}{
		{"3\n", "3\t4\t1\t7\n", false},
		{"8 5 2 9\n", "8\t5\t2\t9\n", false},
		{"1 x\n", "1\t5\t2\t9\n", true},
		{"99 -3\n", "99\t-3\t2\t9\n", false},
		{"1 2 3 4 5\n", "1\t2\t3\t4\n", false},
		{"\n", "1\t2\t3\t4\n", true},
	} {
		if err := writeHandle(f, c.text); errors.Is(err, syscall.EINVAL) != c.err {
			t.Errorf("%q: %v", c.text, err)
		}
		if got := readHandle(t, f); got != c.want {
			t.Errorf("after %q: %q, want %q", c.text, got, c.want)
		}
	}
}

func sysctlNamed(t *testing.T, l *lab, name string) *tracefile.File {
	t.Helper()
	for _, f := range l.ft.Sysctls() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no sysctl %s", name)
	return nil
}

func writeHandle(f *tracefile.File, text string) error {
	h, err := f.Open(context.Background(), tracefile.Write)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.Write(context.Background(), []byte(text))
	return errors.Join(err, h.Flush())
}

func readHandle(t *testing.T, f *tracefile.File) string {
	t.Helper()
	h, err := f.Open(context.Background(), tracefile.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var text []byte
	buf := make([]byte, 100)
	for {
		n, err := h.Read(context.Background(), buf)
		text = append(text, buf[:n]...)
		if err == io.EOF || n == 0 {
			return string(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
