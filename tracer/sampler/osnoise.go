package sampler

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracer/cpumask"
	"ftracelab/tracer/plugin"
)

// osnoise is the state that the tracers osnoise and timerlat share. They measure how an
// operating system disturbs a thread that needs a CPU for itself, or that has to wake
// at a certain moment. Only one of the two runs at a time, in any number of instances.
//
// Kernel: kernel/trace/trace_osnoise.c.
type osnoise struct {
	threads
	scratch              []byte
	period, runtime      uint64 // in µs; of each period, runtime is sampled
	stopIn, stopTotal    uint64 // in µs; tracing stops at this much noise; 0: never
	timerPeriod          uint64 // in µs, for timerlat
	printStack           uint64 // in µs; timerlat shows the stack if the interrupt is this late; 0: never
	options              uint8  // a bit for each osnoiseOption
	cpus                 cpumask.Mask
	instances            []plugin.Trace
	timerlat             bool // the tracer that runs is timerlat
	vars                 []osnoiseCPU
	minPeriod, maxPeriod uint64
}

// osnoiseCPU is the measurement on one CPU.
//
// Kernel: struct osnoise_variables and struct timerlat_variables.
type osnoiseCPU struct {
	thread   *sampler
	user     *timerlatUser // the process that takes the place of the thread; nil: there is none
	pid      int
	sampling bool
	noises   [numNoises]noise
	ints     uint64 // how many interferences there were so far
	run      osnoiseRun
	timer    timerlatCPU
}

// Osnoise gives the rows of the tracers timerlat and osnoise.
func Osnoise(ft plugin.Ftrace) (timerlat, osnoiseRow plugin.Tracer) {
	cpus := len(ft.Machine().CPUs())
	s := &osnoise{
		threads: threads{ft: ft},
		period:  1_000_000, runtime: 1_000_000, timerPeriod: 1000, options: 1 << osnoiseWorkload,
		cpus: cpumask.All(cpus), vars: make([]osnoiseCPU, cpus), minPeriod: 100, maxPeriod: 1_000_000,
	}
	row := plugin.Tracer{
		Instances: true, Latency: true,
		Reset: s.leave, Start: s.join, Stop: s.part, Trace: s.trace,
		Points: []string{
			"irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit", "irq_vectors:reschedule_entry", "irq_vectors:reschedule_exit",
			"irq_vectors:call_function_single_entry", "irq_vectors:call_function_single_exit",
			"irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_entry", "irq:softirq_exit",
			"sched:sched_switch", "sched:sched_waking",
		},
	}
	timerlat, osnoiseRow = row, row
	timerlat.Name, timerlat.Init = "timerlat", func(tr plugin.Trace) error { return s.init(tr, true) }
	osnoiseRow.Name, osnoiseRow.Init = "osnoise", func(tr plugin.Trace) error { return s.init(tr, false) }
	// These three serve both tracers.
	osnoiseRow.NMI, osnoiseRow.Hotplug, osnoiseRow.Files = s.nmi, s.hotplug, s.files
	return timerlat, osnoiseRow
}

// Kernel: osnoise_tracer_init and timerlat_tracer_init.
func (s *osnoise) init(tr plugin.Trace, timerlat bool) error {
	if s.timerlat && !timerlat || timerlat && !s.timerlat && len(s.instances) > 0 {
		return fmt.Errorf("current_tracer: osnoise and timerlat do not run at once: %w", syscall.EBUSY)
	}
	s.timerlat = timerlat
	*tr.MaxLatency() = 0
	s.join(tr)
	return nil
}

// join begins to record into an instance. The first instance starts the threads.
//
// Kernel: osnoise_tracer_start and timerlat_tracer_start.
func (s *osnoise) join(tr plugin.Trace) {
	if slices.Contains(s.instances, tr) {
		return // a threshold has stopped the tracer, or it does not run
	}
	if s.instances = append(s.instances, tr); len(s.instances) == 1 {
		s.startAll()
	}
}

// leave ends the tracer in an instance.
//
// Kernel: osnoise_tracer_reset and timerlat_tracer_reset.
func (s *osnoise) leave(tr plugin.Trace) {
	s.part(tr)
	if len(s.instances) == 0 {
		s.timerlat = false
	}
}

// part ends the recording into an instance. With the last instance the threads end.
//
// Kernel: osnoise_tracer_stop and timerlat_tracer_stop.
func (s *osnoise) part(tr plugin.Trace) {
	at := slices.Index(s.instances, tr)
	if at < 0 {
		return
	}
	if s.instances = slices.Delete(s.instances, at, at+1); len(s.instances) == 0 {
		s.end()
	}
}

// startAll starts the threads on the CPUs of osnoise/cpus.
//
// Kernel: start_per_cpu_kthreads.
func (s *osnoise) startAll() {
	for _, c := range s.ft.Machine().CPUs() {
		s.vars[c.ID] = osnoiseCPU{}
		if c.Online() && s.cpus[c.ID] && (s.has(osnoiseWorkload) || !s.timerlat) {
			s.startOn(c)
		}
	}
}

// startOn starts the thread of a CPU, if it has none. Without OSNOISE_WORKLOAD, osnoise
// has no threads and samples all the time. timerlat then starts a thread as with that
// option; this matters when a CPU comes back online.
//
// Kernel: start_kthread.
func (s *osnoise) startOn(c *machine.CPU) {
	v := &s.vars[c.ID]
	switch {
	case v.thread != nil, v.user != nil:
		return
	case s.timerlat:
		v.thread = s.start(c, fmt.Sprintf("timerlat/%d", c.ID), machine.TaskConfig{Policy: machine.FIFO, Prio: machine.RTPrio(timerlatPriority)}, s.timerlatNext)
	case !s.has(osnoiseWorkload):
		v.sampling = true
		return
	default:
		v.thread = s.start(c, fmt.Sprintf("osnoise/%d", c.ID), machine.TaskConfig{}, s.osnoiseNext)
	}
	v.pid = v.thread.task.PID
}

// hotplug ends the thread of a CPU that goes offline, and starts one when the CPU comes
// back.
//
// Departure: the thread starts at once. In a kernel it waits for the worker thread of
// the CPU.
//
// Kernel: osnoise_cpu_die and osnoise_hotplug_workfn.
func (s *osnoise) hotplug(c *machine.CPU, online bool) {
	switch {
	case len(s.instances) == 0:
	case !online:
		s.vars[c.ID].thread.end(s.ft.Machine())
		s.vars[c.ID].user.end(s.ft.Machine())
		s.vars[c.ID] = osnoiseCPU{}
	case s.cpus[c.ID]:
		s.startOn(c)
	}
}

// Kernel: stop_per_cpu_kthreads.
func (s *osnoise) end() {
	m := s.ft.Machine()
	for cpu := range s.vars {
		s.vars[cpu].thread.end(m)
		s.vars[cpu].user.end(m)
		s.vars[cpu] = osnoiseCPU{}
	}
}

func (s *osnoise) has(o osnoiseOption) bool { return s.options>>o&1 != 0 }

// recording reports whether any instance records.
//
// Kernel: osnoise_has_tracing_on.
func (s *osnoise) recording() bool {
	return slices.ContainsFunc(s.instances, plugin.Trace.Recording)
}

// longest notes a noise or latency if it is the largest so far.
//
// Kernel: notify_new_max_latency.
func (s *osnoise) longest(ns machine.Time) {
	for _, tr := range s.instances {
		if tr.Recording() && ns > *tr.MaxLatency() {
			tr.NewMaxLatency(ns)
		}
	}
}

// stopTracing ends the recording in all instances. The threads go on.
//
// Departure: PANIC_ON_STOP has no effect. A kernel panics with it.
//
// Kernel: osnoise_stop_tracing.
func (s *osnoise) stopTracing(c *machine.CPU, from string) {
	for _, tr := range s.instances {
		tr.Print(c, from, fmt.Sprintf("stop tracing hit on cpu %d\n", c.ID))
		tr.SetRecording(false)
	}
}
