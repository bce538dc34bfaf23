package workload

import (
	"slices"

	"ftracelab/machine"
)

// sampleThread is the thread of the module trace_events_sample. Once a second it passes
// tracepoints of the module, some of them only in certain rounds.
//
// Departure: the module has its tracepoints, so probes can be put on them, but not the
// events of these tracepoints.
//
// Kernel: samples/trace_events/trace-events-sample.c.
type sampleThread struct {
	code  machine.Code // the code of a round
	exit  machine.Code
	count int32
	stop  bool
}

const sampleThreadName = "event-sample"

// sampleFunctions are the functions of the module: those of its thread, and those that
// its tracepoints call for probes.
func sampleFunctions() []string {
	names := []string{"simple_thread", "simple_thread_func", "do_simple_thread_func"}
	for e := machine.EvSampleFooBar; e <= machine.EvSampleFooRelLoc; e++ {
		names = append(names, "__probestub_"+e.TracepointName()[len("sample-trace:"):])
	}
	return names
}

func startSample(m *machine.Machine, _ map[string]string) (done func() bool, err error) {
	s := new(sampleThread)
	s.code, err = m.Assemble(150, func(a *machine.Assembler) {
		a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("kthread").Call("simple_thread").Call("simple_thread_func")
		a.Call("schedule_timeout").Call("schedule").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule")
		a.Switch(machine.StateInterruptible).Return(1).State(0, 0, 0).Return(2).Call("do_simple_thread_func")
		for e := machine.EvSampleFooBar; e <= machine.EvSampleFooRelLoc; e++ {
			a.Trace(e, 0)
		}
		a.Return(6)
	})
	if err != nil {
		return nil, err
	}
	s.exit, err = m.Assemble(150, func(a *machine.Assembler) {
		a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("kthread").Call("simple_thread").Return(1)
		a.Call("kthread_exit").Exit().Return(4)
	})
	if err != nil {
		return nil, err
	}
	m.Spawn(machine.TaskConfig{Comm: sampleThreadName, Kernel: true, Data: s, Next: s.next})
	return func() bool { return true }, nil
}

// next gives a round of the thread: it sleeps for a second and passes its tracepoints.
//
// Kernel: do_simple_thread_func, samples/trace_events/trace-events-sample.c; the
// conditions are those of trace-events-sample.h.
func (s *sampleThread) next(*machine.CPU, *machine.Task) machine.Stay {
	if s.stop {
		return machine.Stay{Kind: machine.KernelWork, Code: s.exit}
	}
	code := slices.Clone(s.code)
	for n := range code {
		op := &code[n]
		if op.Kind != machine.OpTrace {
			continue
		}
		op.Arg = s.count
		if op.Event == machine.EvSampleFooBarCond && s.count%10 != 0 || op.Event == machine.EvSampleTemplateCond && s.count%8 != 0 {
			op.Event = machine.EvNone
		}
	}
	s.count++
	return machine.Stay{Kind: machine.KernelWork, Code: code, Wait: machine.Wait{Timeout: machine.Second, By: machine.Sleep}}
}

// endSample stops the thread, as kthread_stop does.
func endSample(m *machine.Machine) (done func() bool) {
	for _, t := range m.Tasks() {
		s, ok := t.Data.(*sampleThread)
		if !ok {
			continue
		}
		s.stop = true
		if _, asleep := t.Sleeping(); asleep {
			t.CPU().Interrupt(machine.Interrupt{Kind: machine.Sleep, Task: t})
		}
		return func() bool { return m.Task(t.PID) != t }
	}
	return func() bool { return true }
}
