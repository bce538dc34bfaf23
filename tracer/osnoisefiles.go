package tracer

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/cpumask"
)

// osnoiseOption is one of osnoise/options.
//
// Kernel: enum osnoise_options_index, kernel/trace/trace_osnoise.c.
type osnoiseOption uint8

const (
	osnoiseDefaults osnoiseOption = iota
	osnoiseWorkload
	osnoisePanicOnStop
	osnoisePreemptDisable
	osnoiseIRQDisable
)

var osnoiseOptions = [...]string{"DEFAULTS", "OSNOISE_WORKLOAD", "PANIC_ON_STOP", "OSNOISE_PREEMPT_DISABLE", "OSNOISE_IRQ_DISABLE"}

// osnoiseFiles are the folder osnoise.
//
// Kernel: init_tracefs and init_timerlat_tracefs, kernel/trace/trace_osnoise.c.
func (ft *Ftrace) osnoiseFiles() tracefile.Node {
	tr, s := ft.top, &ft.osnoise
	return &tracefile.Dir{Name: "osnoise", Mode: 0o750, Children: func() []tracefile.Node {
		return []tracefile.Node{
			tr.bounded("period_us", &s.period, &s.runtime, nil),
			tr.bounded("runtime_us", &s.runtime, nil, &s.period),
			tr.bounded("stop_tracing_us", &s.stopIn, nil, nil),
			tr.bounded("stop_tracing_total_us", &s.stopTotal, nil, nil),
			tr.value("cpus", 0o640, func() string { return s.cpus.List() + "\n" }, ft.setOsnoiseCPUs),
			tr.value("options", 0o640, s.showOptions, ft.setOsnoiseOption),
			tr.bounded("print_stack", &s.printStack, nil, nil),
			tr.bounded("timerlat_period_us", &s.timerPeriod, &s.minPeriod, &s.maxPeriod),
			&tracefile.Dir{Name: "per_cpu", Mode: 0o750, Children: ft.osnoiseCPUDirs},
		}
	}}
}

// osnoiseCPUDirs are the folders below osnoise/per_cpu.
//
// Kernel: osnoise_create_cpu_timerlat_fd.
func (ft *Ftrace) osnoiseCPUDirs() []tracefile.Node {
	var dirs []tracefile.Node
	for _, c := range ft.machine.CPUs() {
		dirs = append(dirs, &tracefile.Dir{Name: fmt.Sprintf("cpu%d", c.ID), Mode: 0o750, Children: func() []tracefile.Node {
			return []tracefile.Node{ft.timerlatFD(c)}
		}})
	}
	return dirs
}

// Kernel: s_options_show.
func (s *osnoise) showOptions() string {
	var text strings.Builder
	for o, name := range osnoiseOptions {
		on := s.has(osnoiseOption(o))
		if osnoiseOption(o) == osnoiseDefaults {
			on = s.options == 1<<osnoiseWorkload
		}
		if !on {
			text.WriteString("NO_")
		}
		text.WriteString(name + " ")
	}
	return text.String() + "\n"
}

// maxOsnoiseWrite bounds a write to osnoise/cpus and osnoise/options.
const maxOsnoiseWrite = 256

// setOsnoiseOption is NAME or NO_NAME; the threads start anew.
//
// Kernel: osnoise_options_write.
func (ft *Ftrace) setOsnoiseOption(text string) error {
	name, off := strings.CutPrefix(text, "NO_")
	name = strings.TrimSpace(name)
	for o, have := range osnoiseOptions {
		if have != name || len(text) >= maxOsnoiseWrite {
			continue
		}
		s := &ft.osnoise
		switch bit := osnoiseOption(o); {
		case bit == osnoiseDefaults && off:
			return fmt.Errorf("osnoise/options: NO_DEFAULTS: %w", syscall.EINVAL)
		case bit == osnoiseDefaults:
			s.options = 1 << osnoiseWorkload
		case off:
			s.options &^= 1 << bit
		default:
			s.options |= 1 << bit
		}
		s.restart(ft)
		return nil
	}
	return fmt.Errorf("osnoise/options: no option %q: %w", name, syscall.EINVAL)
}

// Departure: where neither a newline nor a NUL ends what is written, a kernel reads on
// in whatever lies behind it.
//
// Kernel: osnoise_cpus_write.
func (ft *Ftrace) setOsnoiseCPUs(text string) error {
	if len(text) >= maxOsnoiseWrite {
		return fmt.Errorf("osnoise/cpus: %d bytes: %w", len(text), syscall.EINVAL)
	}
	mask, err := cpumask.ParseList(text, len(ft.machine.CPUs()))
	if err != nil {
		return fmt.Errorf("osnoise/cpus: %w", err)
	}
	ft.osnoise.cpus = mask
	ft.osnoise.restart(ft)
	return nil
}

// restart starts the threads anew if there are any.
func (s *osnoise) restart(ft *Ftrace) {
	if len(s.instances) > 0 {
		s.end(ft.machine)
		s.start(ft)
	}
}
