package tracer

import (
	"fmt"
	"strings"
)

// boot applies the boot parameter trace_options=. Without it the run begins in
// a kernel that has booted.
//
// Departure: a kernel ignores the names it does not know; here they are an
// error, for nobody reads a simulated boot log.
//
// Kernel: apply_trace_boot_options, kernel/trace/trace.c.
func (ft *Ftrace) boot() error {
	if ft.cfg.BootOptions == "" {
		ft.initcalls()
		return nil
	}
	ft.bootEnd = ft.machine.Now() + ft.cfg.InitcallTime
	if ft.cfg.InitcallTime == 0 {
		ft.bootEnd = ft.machine.Now() + defaultInitcallTime
	}
	for word := range strings.SplitSeq(ft.cfg.BootOptions, ",") {
		if word == "" {
			continue
		}
		if err := ft.top.writeOption(word); err != nil {
			return fmt.Errorf("trace_options=%s: %w", ft.cfg.BootOptions, err)
		}
	}
	return nil
}

// initcalls is the moment of the boot at which the stack map is made. From here
// on the stacks of an instance that asks for it are ids.
//
// Kernel: tracer_init_tracefs, kernel/trace/trace.c, an fs_initcall, where the
// stackmap patches make the map.
func (ft *Ftrace) initcalls() {
	ft.mapped = true
	ft.optionChanged(ft.top)
}
