package tracer

import (
	"errors"
	"fmt"
	"strings"

	"ftracelab/machine"
)

// booted is how far the kernel has booted, if the run begins while it boots.
type booted struct {
	end     machine.Time // when the initcalls run
	mapped  bool         // the initcalls have run: the stack map exists
	ignored []error      // see Ignored
}

// maxBootOptions is how many bytes of trace_options= a kernel keeps.
//
// Kernel: MAX_TRACER_SIZE, kernel/trace/trace.h.
const maxBootOptions = 99

// boot applies the boot parameter trace_options=. Without it the run begins in a
// kernel that has booted. boot ignores what it cannot apply.
//
// Kernel: apply_trace_boot_options, kernel/trace/trace.c.
func (ft *Ftrace) boot() {
	if ft.cfg.BootOptions == "" {
		ft.initcalls()
		return
	}
	ft.booted.end = ft.machine.Now() + ft.cfg.InitcallTime
	if ft.cfg.InitcallTime == 0 {
		ft.booted.end = ft.machine.Now() + defaultInitcallTime
	}
	for word := range strings.SplitSeq(ft.cfg.BootOptions[:min(len(ft.cfg.BootOptions), maxBootOptions)], ",") {
		if word == "" {
			continue
		}
		if err := ft.top.writeOption(strings.TrimSpace(word)); err != nil {
			ft.booted.ignored = append(ft.booted.ignored, err)
		}
	}
	if len(ft.cfg.BootOptions) > maxBootOptions {
		ft.booted.ignored = append(ft.booted.ignored, fmt.Errorf("trace_options: more than %d bytes", maxBootOptions))
	}
}

// Ignored returns which parts of Config.BootOptions had no effect, and why. A kernel
// does not report them.
func (ft *Ftrace) Ignored() error { return errors.Join(ft.booted.ignored...) }

// initcalls is the moment of the boot at which the stack map is made. From then on an
// instance that asks for it records stacks as ids.
//
// Kernel: tracer_init_tracefs, kernel/trace/trace.c, an fs_initcall, where the
// stackmap patches make the map.
func (ft *Ftrace) initcalls() {
	ft.booted.mapped = true
	ft.changed()
}
