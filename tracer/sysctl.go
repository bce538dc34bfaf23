package tracer

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// Sysctls are the files of /proc/sys/kernel that belong to tracing.
func (ft *Ftrace) Sysctls() []*tracefile.File {
	return []*tracefile.File{
		// While it is 0, no function's entry is seen.
		//
		// Kernel: ftrace_enable_sysctl, kernel/trace/ftrace.c.
		ft.sysctl("ftrace_enabled", &ft.users.Enabled, anyInt, ft.changed),
		ft.sysctl("stack_tracer_enabled", &ft.stackTracer.enabled, anyInt, ft.stackTracer.toggle),
		ft.dumpOnOops(),
		ft.traceoffOnWarning(),
		ft.tracepointPrintk(),
		ft.printkSysctl(),
	}
}

// unusedSysctls are the values of sysctls that nothing looks at.
type unusedSysctls struct {
	dumpOnOops        string // empty: "0"
	traceoffOnWarning int32
}

// dumpOnOops says whether the buffers go to the console if the kernel oopses: 0 and 1, 2
// for the CPU alone that did it, or names of instances. Any text is taken.
//
// Departure: the simulated kernel never oopses, so nothing looks at it. Empty text is 0.
//
// Kernel: ftrace_dump_on_oops, kernel/trace/trace.c; proc_dostring, kernel/sysctl.c.
func (ft *Ftrace) dumpOnOops() *tracefile.File {
	const longest = 99 // MAX_TRACER_SIZE without its end
	u := &ft.unused
	show := func() string { return cmp.Or(u.dumpOnOops, "0") + "\n" }
	return ft.top.value("ftrace_dump_on_oops", 0o644, show, func(text string) error {
		word, _, _ := strings.Cut(tracefile.CString(text), "\n")
		u.dumpOnOops = word[:min(len(word), longest)]
		return nil
	}).(*tracefile.File)
}

// traceoffOnWarning says whether a warning of the kernel ends tracing.
//
// Departure: the simulated kernel never warns, so nothing looks at it.
//
// Kernel: disable_trace_on_warning, kernel/trace/trace.c.
func (ft *Ftrace) traceoffOnWarning() *tracefile.File {
	return ft.sysctl("traceoff_on_warning", &ft.unused.traceoffOnWarning, anyInt, func() {})
}

// DebugSysctls are the files of /proc/sys/debug that belong to tracing.
func (ft *Ftrace) DebugSysctls() []*tracefile.File {
	return []*tracefile.File{ft.sysctl("kprobes-optimization", ft.dyn.Optimization(), intRange{0, 1}, ft.dyn.OptimizeAll)}
}

// intRange is the range of the numbers that a sysctl takes.
type intRange struct{ least, most int64 }

var anyInt = intRange{math.MinInt32, math.MaxInt32}

// sysctl is a number that switches something on if it is not 0; changed runs after
// each write.
//
// Kernel: proc_dointvec and proc_dointvec_minmax, kernel/sysctl.c.
func (ft *Ftrace) sysctl(name string, value *int32, takes intRange, changed func()) *tracefile.File {
	show := func() string { return strconv.Itoa(int(*value)) + "\n" }
	return ft.top.value(name, 0o644, show, func(text string) error {
		word, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), "\n")
		n, err := tracefile.ParseLong(strings.TrimSpace(word), 0)
		if err != nil || n < takes.least || n > takes.most {
			return fmt.Errorf("%s: %q: %w", name, text, syscall.EINVAL)
		}
		*value = int32(n)
		changed()
		return nil
	}).(*tracefile.File)
}
