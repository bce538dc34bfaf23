package sampler

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/cpumask"
	"ftracelab/tracer/plugin"
)

// osnoiseOption is an option in osnoise/options.
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

// files gives the folder osnoise.
//
// Kernel: init_tracefs and init_timerlat_tracefs, kernel/trace/trace_osnoise.c.
func (s *osnoise) files() []tracefile.Node {
	return []tracefile.Node{&tracefile.Dir{Name: "osnoise", Mode: 0o750, Children: func() []tracefile.Node {
		return []tracefile.Node{
			plugin.Bounded(s.ft, "period_us", &s.period, &s.runtime, nil),
			plugin.Bounded(s.ft, "runtime_us", &s.runtime, nil, &s.period),
			plugin.Bounded(s.ft, "stop_tracing_us", &s.stopIn, nil, nil),
			plugin.Bounded(s.ft, "stop_tracing_total_us", &s.stopTotal, nil, nil),
			s.ft.Value("cpus", 0o640, func() string { return s.cpus.List() + "\n" }, s.setCPUs),
			s.ft.Value("options", 0o640, s.showOptions, s.setOption),
			plugin.Bounded(s.ft, "print_stack", &s.printStack, nil, nil),
			plugin.Bounded(s.ft, "timerlat_period_us", &s.timerPeriod, &s.minPeriod, &s.maxPeriod),
			&tracefile.Dir{Name: "per_cpu", Mode: 0o750, Children: s.cpuDirs},
		}
	}}}
}

// cpuDirs gives the folders below osnoise/per_cpu.
//
// Kernel: osnoise_create_cpu_timerlat_fd.
func (s *osnoise) cpuDirs() []tracefile.Node {
	var dirs []tracefile.Node
	for _, c := range s.ft.Machine().CPUs() {
		dirs = append(dirs, &tracefile.Dir{Name: fmt.Sprintf("cpu%d", c.ID), Mode: 0o750, Children: func() []tracefile.Node {
			return []tracefile.Node{s.timerlatFD(c)}
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

// maxOsnoiseWrite is the largest size of a write to osnoise/cpus and osnoise/options.
const maxOsnoiseWrite = 256

// setOption takes NAME or NO_NAME. It restarts the threads.
//
// Kernel: osnoise_options_write.
func (s *osnoise) setOption(text string) error {
	name, off := strings.CutPrefix(text, "NO_")
	name = tracefile.Stripped(name)
	for o, have := range osnoiseOptions {
		if have != name || len(text) >= maxOsnoiseWrite {
			continue
		}
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
		s.restart()
		return nil
	}
	return fmt.Errorf("osnoise/options: no option %q: %w", name, syscall.EINVAL)
}

// Departure: if neither a newline nor a NUL ends the text, a kernel reads on into the
// memory after it.
//
// Kernel: osnoise_cpus_write.
func (s *osnoise) setCPUs(text string) error {
	if len(text) >= maxOsnoiseWrite {
		return fmt.Errorf("osnoise/cpus: %d bytes: %w", len(text), syscall.EINVAL)
	}
	mask, err := cpumask.ParseList(text, len(s.ft.Machine().CPUs()))
	if err != nil {
		return fmt.Errorf("osnoise/cpus: %w", err)
	}
	s.cpus = mask
	s.restart()
	return nil
}

// restart restarts the threads if there are any.
func (s *osnoise) restart() {
	if len(s.instances) > 0 {
		s.end()
		s.startAll()
	}
}
