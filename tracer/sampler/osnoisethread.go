package sampler

import (
	"ftracelab/machine"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/plugin"
)

// osnoiseRun is one sampling of the osnoise thread.
type osnoiseRun struct {
	begun        bool
	start, last  machine.Time // when the run began, and when the last look was
	behind       machine.Time // how long the code of the last look takes after it
	ints         uint64       // how many interferences there had been at the last look
	before       [numNoises]uint32
	sum, longest machine.Time
	hw           uint32
}

// osnoiseNext gives the next stay of the osnoise thread of c: a look at the clock, or
// sleep until the next period.
//
// Kernel: osnoise_main and run_osnoise.
func (s *osnoise) osnoiseNext(c *machine.CPU) machine.Stay {
	v := &s.vars[c.ID]
	r := &v.run
	switch {
	case r.begun && r.last-r.start >= s.runtime*machine.Microsecond:
		s.osnoiseDone(c, v)
		if s.period > s.runtime {
			return s.osnoiseNap(s.period - s.runtime)
		}
	case !r.begun && !s.recording():
		return s.osnoiseNap(s.period)
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
	code := s.threadCode(name, func(a *machine.Assembler) {
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
	return machine.Stay{Kind: machine.KernelWork, Code: code, Open: flags == 0, Probe: func(c *machine.CPU) { s.osnoiseLook(c, v, expected) }}
}

func (s *osnoise) osnoiseNap(us uint64) machine.Stay {
	return machine.Stay{
		Kind: machine.KernelWork, Code: s.napCode("osnoise_main"),
		Wait: machine.Wait{Timeout: us * machine.Microsecond, By: machine.Sleep},
	}
}

// osnoiseLook looks at the clock. The time that is missing is noise.
func (s *osnoise) osnoiseLook(c *machine.CPU, v *osnoiseCPU, expected machine.Time) {
	r := &v.run
	missing := c.Time - r.last - expected
	last := r.last + expected
	ints := v.ints - r.ints
	r.last, r.ints = c.Time, v.ints
	threshold := *s.ft.Threshold()
	if threshold == 0 {
		threshold = 1000
	}
	if c.Time < last || missing < threshold || len(s.instances) == 0 {
		return
	}
	r.longest = max(r.longest, missing)
	r.sum += missing
	if ints == 0 {
		r.hw++
	}
	plugin.Emit(s.ft, c, &s.scratch, events.SampleThreshold, &events.SampleThresholdRecord{Start: last, Duration: missing, Interference: ints})
	if s.stopIn > 0 && missing > s.stopIn*machine.Microsecond {
		s.stopTracing(c, "run_osnoise")
	}
}

// osnoiseDone reports a run.
func (s *osnoise) osnoiseDone(c *machine.CPU, v *osnoiseCPU) {
	r := &v.run
	v.sampling, r.begun = false, false
	rec := events.OsnoiseRecord{
		Noise: r.sum / 1000, Runtime: (r.last - r.start) / 1000, MaxSample: r.longest / 1000, HwCount: r.hw,
		NMICount:     v.noises[noiseNMI].count - r.before[noiseNMI],
		IRQCount:     v.noises[noiseIRQ].count - r.before[noiseIRQ],
		SoftirqCount: v.noises[noiseSoftIRQ].count - r.before[noiseSoftIRQ],
		ThreadCount:  v.noises[noiseThread].count - r.before[noiseThread],
	}
	h := s.ft.Common(c)
	h.PreemptCount |= 1 << 4 // the thread may not migrate
	for _, tr := range s.instances {
		s.scratch = events.Osnoise.Append(s.scratch[:0], h, &rec)
		_ = tr.Write(c, s.scratch) // the buffer counts what it refuses
	}
	s.longest(r.longest)
	if s.stopTotal > 0 && rec.Noise > s.stopTotal {
		s.stopTracing(c, "run_osnoise")
	}
}
