package tracer

import (
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
	}
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
