package workload

import (
	"slices"

	"ftracelab/machine"
	"ftracelab/machine/klog"
)

// The module trace_events_sample has two threads. Each sleeps for a second and then passes
// its tracepoints, again and again. The first one lives as long as the module. The second one
// exists while somebody listens to one of its two tracepoints.
//
// Departure: the kernel waits until the second thread has ended when its last listener goes.
// Here the thread ends right after that.
//
// Kernel: samples/trace_events/trace-events-sample.c and .h.

// sampleThread is one of the threads.
type sampleThread struct {
	code  machine.Code // the code of a round
	exit  machine.Code
	count int32
	stop  bool
}

// The names of the two threads.
const (
	sampleThreadName = "event-sample"
	sampleFnName     = "event-sample-fn"
)

// sampleFunctions are the functions of the module that can be traced, in the order in which
// the compiler put them.
var sampleFunctions = []string{
	"__traceiter_foo_bar", "__probestub_foo_bar", "__traceiter_foo_bar_with_cond", "__probestub_foo_bar_with_cond",
	"__traceiter_foo_bar_with_fn", "__traceiter_foo_with_template_simple", "__traceiter_foo_with_template_cond",
	"__traceiter_foo_with_template_fn", "__traceiter_foo_with_template_print", "__traceiter_foo_rel_loc",
	"__probestub_foo_rel_loc", "foo_bar_reg", "foo_bar_unreg", "__probestub_foo_with_template_fn", "simple_thread_fn",
	"do_simple_thread_func.constprop.0", "simple_thread", "__probestub_foo_with_template_print",
	"__probestub_foo_bar_with_fn", "__probestub_foo_with_template_simple", "__probestub_foo_with_template_cond",
}

// sampleUntraced are those that make the records of its events, for stacks.
var sampleUntraced = []string{
	"do_trace_event_raw_event_foo_bar", "trace_event_raw_event_foo_template", "trace_event_raw_event_foo_bar_with_cond",
	"trace_event_raw_event_foo_rel_loc", "trace_event_raw_event_foo_bar_with_fn",
}

// sampleModule describes the module.
func sampleModule() module {
	return module{
		Module: machine.Module{
			Name: "trace_events_sample", Functions: sampleFunctions, Untraced: sampleUntraced, Registered: sampleRegistered,
		},
		start: func(m *machine.Machine, _ map[string]string) (done func() bool, err error) {
			if err := startSample(m, sampleThreadName); err != nil {
				return nil, err
			}
			return func() bool { return true }, nil
		},
		end: func(m *machine.Machine) (done func() bool) {
			first, second := stopSample(m, sampleThreadName), stopSample(m, sampleFnName)
			return func() bool { return first() && second() }
		},
	}
}

// sampleRegistered starts the second thread with the first of the listeners to its two
// tracepoints, and stops it with the last one.
//
// Kernel: foo_bar_reg and foo_bar_unreg; simple_thread_cnt counts the tracepoints.
func sampleRegistered(m *machine.Machine, e machine.Event, on bool) {
	var other machine.Event
	switch e {
	case machine.EvSampleFooBarFn:
		other = machine.EvSampleTemplateFn
	case machine.EvSampleTemplateFn:
		other = machine.EvSampleFooBarFn
	default:
		return
	}
	switch {
	case m.Enabled(other):
	case on:
		m.Printk(klog.Info, "Starting thread for foo_bar_fn")
		if err := startSample(m, sampleFnName); err != nil {
			panic("workload: invariant: " + err.Error()) // the same code could be assembled before
		}
	default:
		m.Printk(klog.Info, "Killing thread for foo_bar_fn")
		stopSample(m, sampleFnName)
	}
}

// startSample starts one of the threads.
func startSample(m *machine.Machine, name string) (err error) {
	s := new(sampleThread)
	s.code, err = m.Assemble(150, func(a *machine.Assembler) {
		thread, points := "simple_thread", samplePoints
		if name == sampleFnName {
			thread, points = "simple_thread_fn", sampleFnPoints
		}
		a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("kthread").Call(thread)
		depth := 4
		if name == sampleThreadName {
			a.Call("do_simple_thread_func.constprop.0")
			depth++
		}
		a.Call("schedule_timeout").Call("schedule").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule")
		a.Switch(machine.StateInterruptible).Return(1).State(0, 0, 0).Return(2)
		for _, e := range points {
			a.Trace(e, 0)
		}
		a.Return(depth)
	})
	if err != nil {
		return err
	}
	s.exit, err = m.Assemble(150, func(a *machine.Assembler) {
		a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("kthread").Call("kthread_exit").Exit().Return(4)
	})
	if err != nil {
		return err
	}
	m.Spawn(machine.TaskConfig{Comm: name, Kernel: true, Data: s, Next: s.next})
	return nil
}

// The tracepoints that the threads pass in a round.
var (
	samplePoints = []machine.Event{
		machine.EvSampleFooBar, machine.EvSampleTemplateSimple, machine.EvSampleFooBarCond, machine.EvSampleTemplateCond,
		machine.EvSampleTemplatePrint, machine.EvSampleFooRelLoc,
	}
	sampleFnPoints = []machine.Event{machine.EvSampleFooBarFn, machine.EvSampleTemplateFn}
)

// next gives a round of a thread: it sleeps for a second and passes its tracepoints.
//
// Kernel: do_simple_thread_func and simple_thread_func_fn; the conditions are those of
// trace-events-sample.h.
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

// stopSample tells a thread to end, as kthread_stop does, and wakes it. done reports whether
// it has ended.
func stopSample(m *machine.Machine, name string) (done func() bool) {
	for _, t := range m.Tasks() {
		s, ok := t.Data.(*sampleThread)
		if !ok || t.Comm != name || s.stop {
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
