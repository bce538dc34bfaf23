package sampler

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/tracer/cpumask"
	"ftracelab/tracer/plugin"
	"ftracelab/workload/machine"
)

// osnoise is what the tracers osnoise and timerlat share: they measure how an
// operating system disturbs a thread that wants a CPU for itself, or wants to
// wake at a moment. Only one of the two runs at a time, in any instances.
//
// Kernel: kernel/trace/trace_osnoise.c.
type osnoise struct {
	threads
	scratch              []byte
	period, runtime      uint64 // µs; runtime of each period is sampled
	stopIn, stopTotal    uint64 // µs; stop tracing at so much noise, 0: never
	timerPeriod          uint64 // µs, of timerlat
	printStack           uint64 // µs; timerlat shows the stack of an interrupt so late, 0: never
	options              uint8  // bits by osnoiseOption
	cpus                 cpumask.Mask
	instances            []plugin.Trace
	timerlat             bool // it is timerlat that runs
	vars                 []osnoiseCPU
	minPeriod, maxPeriod uint64
}

// osnoiseCPU is the measurement on one CPU.
//
// Kernel: struct osnoise_variables and struct timerlat_variables.
type osnoiseCPU struct {
	thread   *sampler
	user     *timerlatUser // instead
	pid      int
	sampling bool
	noises   [numNoises]noise
	ints     uint64 // interferences so far
	run      osnoiseRun
	timer    timerlatCPU
}

// Osnoise is the rows of timerlat and osnoise.
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
	// These are for both.
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

// join begins to record into an instance; the first one starts the threads.
//
// Kernel: osnoise_tracer_start and timerlat_tracer_start.
func (s *osnoise) join(tr plugin.Trace) {
	if slices.Contains(s.instances, tr) {
		return // a threshold has stopped it, or nobody
	}
	if s.instances = append(s.instances, tr); len(s.instances) == 1 {
		s.startAll()
	}
}

// leave is the end of the tracer in an instance.
//
// Kernel: osnoise_tracer_reset and timerlat_tracer_reset.
func (s *osnoise) leave(tr plugin.Trace) {
	s.part(tr)
	if len(s.instances) == 0 {
		s.timerlat = false
	}
}

// part ends the recording into an instance; with the last one the threads end.
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

// startOn starts the thread of a CPU, if it has none. Without OSNOISE_WORKLOAD osnoise
// has no threads and samples all the time; timerlat does as with it, which matters where
// a CPU comes back.
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

// hotplug ends the thread of a CPU that goes, and starts one where it comes back.
//
// Departure: it starts at once; a kernel's waits for the CPU's worker thread.
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

// longest keeps the largest noise or latency.
//
// Kernel: notify_new_max_latency.
func (s *osnoise) longest(ns machine.Time) {
	for _, tr := range s.instances {
		if tr.Recording() {
			longest := tr.MaxLatency()
			*longest = max(*longest, ns)
		}
	}
}

// stopTracing ends the recording of all instances; their threads go on.
//
// Departure: with PANIC_ON_STOP a kernel panics.
//
// Kernel: osnoise_stop_tracing.
func (s *osnoise) stopTracing(c *machine.CPU, from string) {
	for _, tr := range s.instances {
		tr.Print(c, from, fmt.Sprintf("stop tracing hit on cpu %d\n", c.ID))
		tr.SetRecording(false)
	}
}
