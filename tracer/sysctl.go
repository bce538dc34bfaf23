package tracer

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/internal/tracefile"
)

// Sysctls are the files of /proc/sys/kernel that belong to tracing.
func (ft *Ftrace) Sysctls() []*tracefile.File {
	return []*tracefile.File{
		// With it off no function's entry is seen.
		//
		// Kernel: ftrace_enable_sysctl, kernel/trace/ftrace.c.
		ft.sysctl("ftrace_enabled", &ft.functionsEnabled, ft.opsChanged),
		ft.sysctl("stack_tracer_enabled", &ft.stackTracer.enabled, ft.switchStackTracer),
	}
}

// sysctl is a number that switches something on if it is not 0; changed looks at it.
//
// Kernel: proc_dointvec, kernel/sysctl.c.
func (ft *Ftrace) sysctl(name string, value *int32, changed func()) *tracefile.File {
	show := func() string { return strconv.Itoa(int(*value)) + "\n" }
	return ft.top.value(name, 0o644, show, func(text string) error {
		word, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), "\n")
		n, err := tracefile.ParseLong(strings.TrimSpace(word), 0)
		if err != nil || int64(int32(n)) != n {
			return fmt.Errorf("%s: %q: %w", name, text, syscall.EINVAL)
		}
		*value = int32(n)
		changed()
		return nil
	}).(*tracefile.File)
}
