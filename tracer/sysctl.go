package tracer

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/internal/tracefile"
)

// setFunctions is kernel.ftrace_enabled: with it off no function's entry is seen.
//
// Kernel: ftrace_enable_sysctl, kernel/trace/ftrace.c.
func (ft *Ftrace) setFunctions(on bool) {
	ft.functionsOff = !on
	ft.opsChanged()
}

// Sysctls are the files of /proc/sys/kernel that belong to tracing.
func (ft *Ftrace) Sysctls() []*tracefile.File {
	return []*tracefile.File{
		ft.sysctl("ftrace_enabled", func() bool { return !ft.functionsOff }, ft.setFunctions),
		ft.sysctl("stack_tracer_enabled", func() bool { return ft.stackTracer.on }, ft.setStackTracer),
	}
}

// sysctl is a switch; every number but 0 switches it on.
//
// Departure: the kernel shows the number that was written, here it is 1.
//
// Kernel: proc_dointvec, kernel/sysctl.c.
func (ft *Ftrace) sysctl(name string, get func() bool, set func(bool)) *tracefile.File {
	show := func() string {
		if get() {
			return "1\n"
		}
		return "0\n"
	}
	return ft.top.value(name, 0o644, show, func(text string) error {
		word, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), "\n")
		n, err := tracefile.ParseLong(strings.TrimSpace(word), 0)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", name, text, syscall.EINVAL)
		}
		set(n != 0)
		return nil
	}).(*tracefile.File)
}
