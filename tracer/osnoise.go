package tracer

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// osnoise is what the tracers osnoise and timerlat share: they measure how an
// operating system disturbs a thread that wants a CPU for itself, or wants to
// wake at a moment. Only one of the two runs at a time, in any instances.
//
// Departure: a workload in user space (osnoise/per_cpu/cpuN/timerlat_fd) is not
// there, and PANIC_ON_STOP only stops.
//
// Kernel: kernel/trace/trace_osnoise.c.
type osnoise struct {
	period, runtime      uint64 // µs; runtime of each period is sampled
	stopIn, stopTotal    uint64 // µs; stop tracing at so much noise, 0: never
	timerPeriod          uint64 // µs, of timerlat
	printStack           uint64 // µs; timerlat shows the stack of an interrupt so late, 0: never
	options              uint8  // bits by osnoiseOption
	cpus                 cpuMask
	instances            []*Instance
	timerlat             bool // it is timerlat that runs
	vars                 []osnoiseCPU
	minPeriod, maxPeriod uint64
}

func newOsnoise(cpus int) osnoise {
	return osnoise{
		period: 1_000_000, runtime: 1_000_000, timerPeriod: 1000, options: 1 << osnoiseWorkload,
		cpus: allCPUs(cpus), vars: make([]osnoiseCPU, cpus), minPeriod: 100, maxPeriod: 1_000_000,
	}
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

// noise is one kind of interference: how often it came, and since when it has
// been going on; what is of a higher kind does not count into its length.
type noise struct {
	count          uint32
	arrived, since machine.Time // 0: none goes on
}

const (
	noiseNMI = iota
	noiseIRQ
	noiseSoftIRQ
	noiseThread
	numNoises
)

// osnoiseTracer is the row of osnoise or timerlat.
func osnoiseTracer(name string) Tracer {
	return Tracer{
		Name: name, instances: true, sampler: true,
		init:  func(i *Instance) error { return i.osnoiseInit(name == "timerlat") },
		reset: (*Instance).osnoiseReset,
		start: (*Instance).osnoiseStart,
		stop:  (*Instance).osnoiseStop,
		trace: osnoiseTrace,
		points: []string{
			"irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit", "irq_vectors:reschedule_entry", "irq_vectors:reschedule_exit",
			"irq_vectors:call_function_single_entry", "irq_vectors:call_function_single_exit",
			"irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_entry", "irq:softirq_exit",
			"sched:sched_switch", "sched:sched_waking",
		},
	}
}

// Kernel: osnoise_tracer_init and timerlat_tracer_init.
func (i *Instance) osnoiseInit(timerlat bool) error {
	s := &i.ft.osnoise
	if s.timerlat && !timerlat || timerlat && !s.timerlat && len(s.instances) > 0 {
		return fmt.Errorf("current_tracer: osnoise and timerlat do not run at once: %w", syscall.EBUSY)
	}
	s.timerlat = timerlat
	i.latency.max = 0
	i.osnoiseStart()
	return nil
}

// osnoiseStart begins to record; the first instance starts the threads.
//
// Kernel: osnoise_tracer_start and timerlat_tracer_start.
func (i *Instance) osnoiseStart() {
	s := &i.ft.osnoise
	if slices.Contains(s.instances, i) {
		return // a threshold has stopped it, or nobody
	}
	if s.instances = append(s.instances, i); len(s.instances) == 1 {
		s.start(i.ft)
	}
}

// Kernel: osnoise_tracer_reset and timerlat_tracer_reset.
func (i *Instance) osnoiseReset() {
	i.osnoiseStop()
	if s := &i.ft.osnoise; len(s.instances) == 0 {
		s.timerlat = false
	}
}

// osnoiseStop ends the recording; with the last instance the threads end.
//
// Kernel: osnoise_tracer_stop and timerlat_tracer_stop.
func (i *Instance) osnoiseStop() {
	s := &i.ft.osnoise
	if !slices.Contains(s.instances, i) {
		return
	}
	s.instances = slices.DeleteFunc(s.instances, func(o *Instance) bool { return o == i })
	if len(s.instances) == 0 {
		s.end(i.ft.machine)
	}
}

// start starts the threads on the CPUs of osnoise/cpus.
//
// Kernel: start_per_cpu_kthreads.
func (s *osnoise) start(ft *Ftrace) {
	for _, c := range ft.machine.CPUs() {
		s.vars[c.ID] = osnoiseCPU{}
		if c.Online() && s.cpus[c.ID] && (s.has(osnoiseWorkload) || !s.timerlat) {
			s.startOn(ft, c)
		}
	}
}

// startOn starts the thread of a CPU, if it has none. Without OSNOISE_WORKLOAD osnoise
// has no threads and samples all the time; timerlat does as with it, which matters where
// a CPU comes back.
//
// Kernel: start_kthread.
func (s *osnoise) startOn(ft *Ftrace, c *machine.CPU) {
	v := &s.vars[c.ID]
	switch {
	case v.thread != nil, v.user != nil:
		return
	case s.timerlat:
		v.thread = ft.startSampler(c, fmt.Sprintf("timerlat/%d", c.ID), machine.TaskConfig{Policy: machine.FIFO, Prio: machine.RTPrio(timerlatPriority)}, ft.timerlatNext)
	case !s.has(osnoiseWorkload):
		v.sampling = true
		return
	default:
		v.thread = ft.startSampler(c, fmt.Sprintf("osnoise/%d", c.ID), machine.TaskConfig{}, ft.osnoiseNext)
	}
	v.pid = v.thread.task.PID
}

// hotplug ends the thread of a CPU that goes, and starts one where it comes back.
//
// Departure: it starts at once; a kernel's waits for the CPU's worker thread.
//
// Kernel: osnoise_cpu_die and osnoise_hotplug_workfn.
func (s *osnoise) hotplug(ft *Ftrace, c *machine.CPU, online bool) {
	switch {
	case len(s.instances) == 0:
	case !online:
		s.vars[c.ID].thread.end(ft.machine)
		s.vars[c.ID].user.end(ft.machine)
		s.vars[c.ID] = osnoiseCPU{}
	case s.cpus[c.ID]:
		s.startOn(ft, c)
	}
}

// Kernel: stop_per_cpu_kthreads.
func (s *osnoise) end(m *machine.Machine) {
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
	return slices.ContainsFunc(s.instances, func(i *Instance) bool { return i.buf.Recording() })
}

// longest keeps the largest noise or latency.
//
// Kernel: notify_new_max_latency.
func (s *osnoise) longest(ns machine.Time) {
	for _, i := range s.instances {
		if i.buf.Recording() {
			i.latency.max = max(i.latency.max, ns)
		}
	}
}

// stopTracing ends the recording of all instances; their threads go on.
//
// Departure: with PANIC_ON_STOP a kernel panics.
//
// Kernel: osnoise_stop_tracing.
func (s *osnoise) stopTracing(c *machine.CPU, from string) {
	for _, i := range s.instances {
		i.print(c, from, fmt.Sprintf("stop tracing hit on cpu %d\n", c.ID))
		i.buf.SetRecording(false)
	}
}

// osnoiseTrace accounts the interferences, once for all instances.
//
// Kernel: trace_irqentry_callback, trace_softirq_entry_callback,
// trace_sched_switch_callback and their counterparts; trace_intel_irq_entry,
// arch/x86/kernel/trace.c.
func osnoiseTrace(i *Instance, c *machine.CPU, tp machine.Tracepoint) {
	ft := i.ft
	s := &ft.osnoise
	if len(s.instances) == 0 || s.instances[0] != i {
		return
	}
	v := &s.vars[c.ID]
	if tp, ok := tp.(*machine.SchedWakeup); ok && tp.ID == machine.EvSchedWaking && s.timerlat {
		ft.timerlatIRQ(c, tp.Task)
		return
	}
	if !v.sampling {
		return
	}
	switch tp := tp.(type) {
	case *machine.Vector:
		name, entry := vectorName(tp.ID)
		if entry {
			v.enter(c, noiseIRQ)
		} else {
			ft.leaveIRQ(c, v, int(tp.Vector), name)
		}
	case *machine.IRQHandlerEntry:
		v.enter(c, noiseIRQ)
	case *machine.IRQHandlerExit:
		ft.leaveIRQ(c, v, tp.IRQ, irqName(c, tp.IRQ))
	case *machine.SoftIRQ:
		switch {
		case tp.ID == machine.EvSoftIRQEntry:
			v.enter(c, noiseSoftIRQ)
		case tp.ID == machine.EvSoftIRQExit && s.timerlat && !v.timer.tracing:
			v.noises[noiseSoftIRQ].since, v.noises[noiseSoftIRQ].arrived = 0, 0
		case tp.ID == machine.EvSoftIRQExit:
			rec := events.SoftirqNoiseRecord{Vector: int32(tp.Vec)}
			rec.Start, rec.Duration = v.leave(c, noiseSoftIRQ)
			emit(ft, c, events.SoftirqNoise, &rec)
		}
	case *machine.SchedSwitch:
		if tp.Prev.PID != v.pid || !s.has(osnoiseWorkload) {
			ft.leaveThread(c, v, tp.Prev)
		}
		if tp.Next.PID != v.pid || !s.has(osnoiseWorkload) {
			v.enter(c, noiseThread)
		}
	}
}

// enter begins an interference.
func (v *osnoiseCPU) enter(c *machine.CPU, kind int) {
	n := &v.noises[kind]
	n.arrived, n.since = c.Time, c.Time
	n.count++
	v.ints++
}

// osnoiseNMI accounts an NMI.
//
// Kernel: trace_osnoise_callback.
func (ft *Ftrace) osnoiseNMI(c *machine.CPU, enter bool) {
	if len(ft.osnoise.instances) == 0 {
		return
	}
	v := &ft.osnoise.vars[c.ID]
	switch {
	case !v.sampling:
	case enter:
		v.enter(c, noiseNMI)
	case v.noises[noiseNMI].since != 0: // it came during the sampling
		rec := events.NMINoiseRecord{}
		rec.Start, rec.Duration = v.leave(c, noiseNMI)
		emit(ft, c, events.NMINoise, &rec)
	}
}

// leave ends one: it says when it came and how long it was, and takes that off
// what it interrupted.
//
// Kernel: get_int_safe_duration, cond_move_softirq_delta_start and
// cond_move_thread_delta_start.
func (v *osnoiseCPU) leave(c *machine.CPU, kind int) (start, duration machine.Time) {
	n := &v.noises[kind]
	start, duration = n.arrived, c.Time-n.since
	n.arrived, n.since = 0, 0
	for k := kind + 1; k < numNoises; k++ {
		if v.noises[k].since != 0 {
			v.noises[k].since += duration
		}
	}
	return start, duration
}

func (ft *Ftrace) leaveIRQ(c *machine.CPU, v *osnoiseCPU, vector int, name string) {
	if v.noises[noiseIRQ].since == 0 {
		return // it came before the sampling
	}
	rec := events.IRQNoiseRecord{Desc: name, Vector: int32(vector)}
	rec.Start, rec.Duration = v.leave(c, noiseIRQ)
	emit(ft, c, events.IRQNoise, &rec)
}

func (ft *Ftrace) leaveThread(c *machine.CPU, v *osnoiseCPU, t *machine.Task) {
	n := &v.noises[noiseThread]
	if ft.osnoise.timerlat && !v.timer.tracing || n.since == 0 {
		n.since, n.arrived = 0, 0
		return
	}
	rec := events.ThreadNoiseRecord{Comm: comm16(t.Comm), PID: int32(t.PID)}
	rec.Start, rec.Duration = v.leave(c, noiseThread)
	emit(ft, c, events.ThreadNoise, &rec)
}

// vectorName is what irq_noise calls an interrupt without a number, and whether it
// begins.
//
// Kernel: trace_intel_irq_entry and trace_intel_irq_exit's users, arch/x86/kernel/trace.c.
func vectorName(id machine.Event) (name string, entry bool) {
	switch id {
	case machine.EvRescheduleEntry, machine.EvRescheduleExit:
		return "reschedule", id == machine.EvRescheduleEntry
	case machine.EvCallFunctionSingleEntry, machine.EvCallFunctionSingleExit:
		return "call_function_single", id == machine.EvCallFunctionSingleEntry
	}
	return "local_timer", id == machine.EvLocalTimerEntry
}

func irqName(c *machine.CPU, irq int) string {
	if name := c.IRQName(); name != "" {
		return name
	}
	return fmt.Sprintf("irq/%d", irq)
}

// osnoiseRun is one sampling of the osnoise thread.
type osnoiseRun struct {
	begun        bool
	start, last  machine.Time // of the run, of the last look
	behind       machine.Time // what the code that looked last does after it
	ints         uint64       // interferences at the last look
	before       [numNoises]uint32
	sum, longest machine.Time
	hw           uint32
}

// osnoiseNext is the next step of the osnoise thread of c: a look at the clock, or
// sleep until the next period.
//
// Kernel: osnoise_main and run_osnoise.
func (ft *Ftrace) osnoiseNext(c *machine.CPU) machine.Stay {
	s := &ft.osnoise
	v := &s.vars[c.ID]
	r := &v.run
	switch {
	case r.begun && r.last-r.start >= s.runtime*machine.Microsecond:
		ft.osnoiseDone(c, v)
		if s.period > s.runtime {
			return ft.osnoiseNap(s.period - s.runtime)
		}
	case !r.begun && !s.recording():
		return ft.osnoiseNap(s.period)
	}
	name := "osnoise"
	flags, preempt := uint8(0), 0
	switch {
	case s.has(osnoiseIRQDisable):
		name, flags = "osnoise irqs off", machine.FlagIRQsOff
	case s.has(osnoisePreemptDisable):
		name, preempt = "osnoise preemption off", 1
	case c.NeedResched:
		name = "osnoise yields"
	}
	code := ft.threadCode(name, func(a *machine.Assembler) {
		kthread(a, "osnoise_main").State(flags, preempt, 1).Wait(uint32(samplerStep)).Probe()
		if name == "osnoise yields" {
			a.Hide("__cond_resched").Call("schedule").State(machine.FlagIRQsOff, 1, 1).Hide("__schedule")
			a.Switch(machine.StateRunning).State(0, 0, 1).Return(3)
		}
		a.Return(4)
	})
	before, behind := length(code)
	expected := r.behind + 1 + before
	r.behind = behind
	if !r.begun {
		*r = osnoiseRun{begun: true, start: c.Time, last: c.Time, behind: behind, ints: v.ints}
		for k := range v.noises {
			r.before[k] = v.noises[k].count
		}
		v.sampling = true
		expected = 1 + before
	}
	return machine.Stay{Kind: machine.KernelWork, Code: code, Open: flags == 0, Probe: func(c *machine.CPU) { ft.osnoiseLook(c, v, expected) }}
}

func (ft *Ftrace) osnoiseNap(us uint64) machine.Stay {
	return machine.Stay{
		Kind: machine.KernelWork, Code: ft.napCode("osnoise_main"),
		Wait: machine.Wait{Timeout: us * machine.Microsecond, By: machine.Sleep},
	}
}

// osnoiseLook is a look at the clock: what is missing is noise.
func (ft *Ftrace) osnoiseLook(c *machine.CPU, v *osnoiseCPU, expected machine.Time) {
	s, r := &ft.osnoise, &v.run
	missing := c.Time - r.last - expected
	last := r.last + expected
	ints := v.ints - r.ints
	r.last, r.ints = c.Time, v.ints
	threshold := ft.thresh
	if threshold == 0 {
		threshold = 1000
	}
	if c.Time < last || missing < threshold || len(s.instances) == 0 {
		return
	}
	ft.running = c
	r.longest = max(r.longest, missing)
	r.sum += missing
	if ints == 0 {
		r.hw++
	}
	emit(ft, c, events.SampleThreshold, &events.SampleThresholdRecord{Start: last, Duration: missing, Interference: ints})
	if s.stopIn > 0 && missing > s.stopIn*machine.Microsecond {
		s.stopTracing(c, "run_osnoise")
	}
	ft.running = nil
}

// osnoiseDone reports a run.
func (ft *Ftrace) osnoiseDone(c *machine.CPU, v *osnoiseCPU) {
	s, r := &ft.osnoise, &v.run
	v.sampling, r.begun = false, false
	ft.running = c
	rec := events.OsnoiseRecord{
		Noise: r.sum / 1000, Runtime: (r.last - r.start) / 1000, MaxSample: r.longest / 1000, HwCount: r.hw,
		NMICount:     v.noises[noiseNMI].count - r.before[noiseNMI],
		IRQCount:     v.noises[noiseIRQ].count - r.before[noiseIRQ],
		SoftirqCount: v.noises[noiseSoftIRQ].count - r.before[noiseSoftIRQ],
		ThreadCount:  v.noises[noiseThread].count - r.before[noiseThread],
	}
	h := common(c)
	h.PreemptCount |= 1 << 4 // the thread may not migrate
	for _, i := range s.instances {
		i.scratch = events.Osnoise.Append(i.scratch[:0], h, &rec)
		_ = i.rec.Event(c.ID, contextOf(c), i.scratch) // the buffer counts what it refuses
	}
	s.longest(r.longest)
	if s.stopTotal > 0 && rec.Noise > s.stopTotal {
		s.stopTracing(c, "run_osnoise")
	}
	ft.running = nil
}
