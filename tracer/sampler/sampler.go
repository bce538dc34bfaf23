// Package sampler holds the tracers hwlat, osnoise and timerlat. Each has kernel
// threads of its own that watch the clock. Time that is missing between two looks was
// taken by the hardware (hwlat), or by interrupts, softirqs and other threads
// (osnoise). timerlat measures the time from the moment at which a timer should fire
// until the thread runs that it wakes.
//
// Kernel: kernel/trace/trace_hwlat.c and trace_osnoise.c.
package sampler

import (
	"ftracelab/machine"
	"ftracelab/tracer/plugin"
)

// samplerStep is how often a sampling thread looks at the clock.
//
// Departure: the kernel's threads look thousands of times as often. They see the same:
// the time that is missing since the last look.
const samplerStep = 50 * machine.Microsecond

// sampler is the thread of a tracer that samples on one CPU: hwlatd, osnoise/N or
// timerlat/N.
type sampler struct {
	task *machine.Task
	stop bool // it has to exit
}

// threads starts the threads of a tracer and makes their code.
type threads struct {
	ft   plugin.Ftrace
	code map[string]machine.Code // by name
}

// start starts a kernel thread on c. next gives its stays until it is stopped.
func (h *threads) start(c *machine.CPU, comm string, cfg machine.TaskConfig, next func(c *machine.CPU) machine.Stay) *sampler {
	s := new(sampler)
	cfg.Comm, cfg.Kernel, cfg.CPU, cfg.Bound = comm, true, c.ID, true
	cfg.Next = func(c *machine.CPU, _ *machine.Task) machine.Stay {
		if s.stop {
			return machine.Stay{Kind: machine.KernelWork, Code: h.threadCode("exit", func(a *machine.Assembler) { kthread(a, "").Exit().Return(3) })}
		}
		return next(c)
	}
	s.task = h.ft.Machine().Spawn(cfg)
	return s
}

// end makes the thread exit, a moment later.
//
// Kernel: kthread_stop, kernel/kthread.c.
func (s *sampler) end(m *machine.Machine) {
	if s == nil {
		return
	}
	s.stop = true
	if _, asleep := s.task.Sleeping(); asleep {
		m.Wake(s.task)
	}
}

// threadCode gives the code with that name; build makes it the first time it is asked
// for.
func (h *threads) threadCode(name string, build func(*machine.Assembler)) machine.Code {
	if code, ok := h.code[name]; ok {
		return code
	}
	code, err := h.ft.Machine().Assemble(1, build)
	if err != nil {
		panic("sampler: invariant: " + err.Error())
	}
	if h.code == nil {
		h.code = map[string]machine.Code{}
	}
	h.code[name] = code
	return code
}

// kthread begins the code of a kernel thread, and that of its main function if main is
// not "". These functions are not traced, because they are not called anew each time.
func kthread(a *machine.Assembler, main string) *machine.Assembler {
	a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Hide("kthread")
	if main != "" {
		a.Hide(main)
	}
	return a
}

// length gives how long code takes, up to its first probe and after it, if nothing
// interrupts it.
func length(code machine.Code) (before, behind machine.Time) {
	for i, op := range code {
		before += machine.Time(op.Delta)
		if op.Kind == machine.OpProbe {
			for _, op := range code[i+1:] {
				behind += machine.Time(op.Delta)
			}
			return before, behind
		}
	}
	return before, 0
}

// napCode is the code that puts a thread to sleep, for as long as its Stay.Wait says.
func (h *threads) napCode(main string) machine.Code {
	return h.threadCode("nap "+main, func(a *machine.Assembler) {
		kthread(a, main).Call("schedule").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule")
		a.Switch(machine.StateInterruptible).State(0, 0, 0).Return(6)
	})
}
