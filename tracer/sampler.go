package tracer

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// samplerStep is how often a sampling thread looks at the clock.
//
// Departure: the kernel's look thousands of times as often. What they see is the
// same: the time that is missing since the last look.
const samplerStep = 50 * machine.Microsecond

// sampler is the thread of a tracer that samples on one CPU: hwlatd, osnoise/N or
// timerlat/N.
type sampler struct {
	task *machine.Task
	stop bool // it is to exit
}

// startSampler starts a kernel thread on c that does what next says until it is
// stopped.
func (ft *Ftrace) startSampler(c *machine.CPU, comm string, cfg machine.TaskConfig, next func(c *machine.CPU) machine.Stay) *sampler {
	s := new(sampler)
	cfg.Comm, cfg.Kernel, cfg.CPU, cfg.Bound = comm, true, c.ID, true
	cfg.Next = func(c *machine.CPU, _ *machine.Task) machine.Stay {
		if s.stop {
			return machine.Stay{Kind: machine.KernelWork, Code: ft.threadCode("exit", func(a *machine.Assembler) { kthread(a, "").Exit().Return(3) })}
		}
		return next(c)
	}
	s.task = ft.machine.Spawn(cfg)
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

// hotplug runs where a CPU is about to go, and where one has come.
func (ft *Ftrace) hotplug(c *machine.CPU, online bool) {
	ft.osnoise.hotplug(ft, c, online)
	ft.hwlat.hotplug(ft.machine, c, online)
}

// threadCode is code of the samplers, made when it is first wanted.
func (ft *Ftrace) threadCode(name string, build func(*machine.Assembler)) machine.Code {
	if code, ok := ft.code[name]; ok {
		return code
	}
	code, err := ft.machine.Assemble(1, build)
	if err != nil {
		panic("tracer: invariant: " + err.Error())
	}
	if ft.code == nil {
		ft.code = map[string]machine.Code{}
	}
	ft.code[name] = code
	return code
}

// kthread begins the code of a kernel thread, and of its main function if that is
// not "". Nothing of it is traced: it does not run anew each time.
func kthread(a *machine.Assembler, main string) *machine.Assembler {
	a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Hide("kthread")
	if main != "" {
		a.Hide(main)
	}
	return a
}

// length is how long code takes if nothing comes between, up to its first probe
// and behind that.
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

// napCode puts a thread to sleep, for as long as its Stay.Wait says.
func (ft *Ftrace) napCode(main string) machine.Code {
	return ft.threadCode("nap "+main, func(a *machine.Assembler) {
		kthread(a, main).Call("schedule").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule")
		a.Switch(machine.StateInterruptible).State(0, 0, 0).Return(6)
	})
}

// print records a text as trace_printk does, from a function of the tracer.
//
// Kernel: trace_array_printk_buf, kernel/trace/trace.c.
func (tr *Instance) print(c *machine.CPU, from, text string) {
	rec := events.PrintRecord{IP: tr.ft.inside(from), Buf: text}
	tr.scratch = events.Print.Append(tr.scratch[:0], common(c), &rec)
	_ = tr.rec.Event(c.ID, contextOf(c), tr.scratch) // the buffer counts what it refuses
	tr.ft.remember(c.Current)
}

// bounded is a file with a number that has to lie between two others, where they
// are not nil.
//
// Kernel: trace_min_max_read and trace_min_max_write, kernel/trace/trace.c.
func (tr *Instance) bounded(name string, val, lo, hi *uint64) tracefile.Node {
	return tr.value(name, 0o640,
		func() string { return strconv.FormatUint(*val, 10) + "\n" },
		func(s string) error {
			n, err := tracefile.ParseUserUlong(s, 10)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if lo != nil && n < *lo || hi != nil && n > *hi {
				return fmt.Errorf("%s: %d is out of range: %w", name, n, syscall.EINVAL)
			}
			*val = n
			return nil
		})
}
