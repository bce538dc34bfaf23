package sampler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/plugin"
)

// hwlat looks for time that the hardware takes. Threads switch interrupts off and watch
// the clock, in every window for the time width. The simulated machine has such gaps if
// its firmware was given some (machine.SetSMI).
//
// Kernel: kernel/trace/trace_hwlat.c.
type hwlat struct {
	threads
	scratch       []byte
	of            plugin.Trace // the instance that has selected the tracer; nil: none
	mode          hwlatMode
	window, width uint64 // in µs
	running       []*hwlatThread
	sampling      bool   // a thread samples, and no sampling has ended since the last one began
	saved, last   uint64 // tracing_thresh before the tracer was selected, and when it was last left
	found         uint32
}

type hwlatMode uint8

const (
	hwlatNone hwlatMode = iota
	hwlatRoundRobin
	hwlatPerCPU
)

var hwlatModes = [...]string{"none", "round-robin", "per-cpu"}

// Hwlat gives the row of the tracer hwlat.
func Hwlat(ft plugin.Ftrace) plugin.Tracer {
	s := &hwlat{threads: threads{ft: ft}, mode: hwlatRoundRobin, window: 1_000_000, width: 500_000, last: 10_000}
	return plugin.Tracer{
		Name: "hwlat", Instances: true, Latency: true,
		Init: s.init, Reset: s.reset, Start: s.begin,
		Stop: func(plugin.Trace) { s.end() },
		NMI:  s.nmi, Hotplug: s.hotplug, Files: s.files,
	}
}

// Kernel: hwlat_tracer_init.
func (s *hwlat) init(tr plugin.Trace) error {
	if s.of != nil {
		return fmt.Errorf("current_tracer: instance %q looks already: %w", s.of.Name(), syscall.EBUSY)
	}
	threshold := s.ft.Threshold()
	s.of, s.found, *tr.MaxLatency(), s.saved = tr, 0, 0, *threshold
	if *threshold == 0 {
		*threshold = s.last
	}
	if tr.Recording() {
		s.begin(tr)
	}
	return nil
}

// Kernel: hwlat_tracer_reset.
func (s *hwlat) reset(plugin.Trace) {
	s.end()
	threshold := s.ft.Threshold()
	s.last, *threshold, s.of = *threshold, s.saved, nil
}

func (s *hwlat) end() {
	for _, t := range s.running {
		t.end(s.ft.Machine())
	}
	s.running = nil
}

// begin starts a single thread, or a thread on every CPU of tracing_cpumask.
//
// Kernel: hwlat_tracer_start.
func (s *hwlat) begin(tr plugin.Trace) {
	if len(s.running) > 0 {
		return
	}
	for _, c := range s.ft.Machine().CPUs() {
		switch {
		case !c.Online() || !tr.Follows(c.ID):
		case s.mode == hwlatPerCPU:
			s.startOn(c, tr, fmt.Sprintf("hwlatd/%d", c.ID))
		case len(s.running) == 0:
			s.startOn(c, tr, "hwlatd")
		}
	}
}

// startOn starts a thread on a CPU.
//
// Kernel: start_cpu_kthread and start_single_kthread.
func (s *hwlat) startOn(c *machine.CPU, tr plugin.Trace, comm string) {
	w := &hwlatThread{s: s, tr: tr}
	w.sampler = s.start(c, comm, machine.TaskConfig{}, w.next)
	s.running = append(s.running, w)
}

// hotplug ends the thread of a CPU that goes offline, and starts one when the CPU comes
// back. The round-robin thread is migrated as well; it keeps its new CPU and the mode
// becomes none.
//
// Kernel: hwlat_cpu_die and hwlat_hotplug_workfn; move_to_next_cpu.
func (s *hwlat) hotplug(c *machine.CPU, online bool) {
	perCPU := s.mode == hwlatPerCPU
	switch {
	case s.of == nil || online && !perCPU:
	case online:
		if s.of.Follows(c.ID) && len(s.running) > 0 {
			s.startOn(c, s.of, fmt.Sprintf("hwlatd/%d", c.ID))
		}
	default:
		for n, w := range s.running {
			switch {
			case w.task.CPU() != c:
			case perCPU:
				w.end(s.ft.Machine())
				s.running = slices.Delete(s.running, n, n+1)
				return
			default:
				w.task.Bind(s.ft.Machine().CPUs()[0])
				s.mode = hwlatNone
			}
		}
	}
}

// hwlatThread is a thread of hwlat.
type hwlatThread struct {
	*sampler
	s       *hwlat
	tr      plugin.Trace
	sampled bool         // it has sampled in this window
	step    machine.Time // the time between two looks at the clock
	last    machine.Time
	looks   int
	rec     events.HwlatRecord
	nmi     machine.Time // when the last NMI came
}

// maxHwlatLooks is the largest number of looks at the clock in one sampling. It limits
// the memory that a large width takes: the looks are then further apart.
const maxHwlatLooks = 20_000

// next gives the next stay of the thread: it watches the clock for width, or sleeps for
// the rest of the window.
//
// Kernel: kthread_fn and get_sample.
func (w *hwlatThread) next(c *machine.CPU) machine.Stay {
	s := w.s
	w.sampled = !w.sampled
	if !w.sampled {
		if s.mode == hwlatRoundRobin {
			w.task.Bind(w.nextCPU(c))
		}
		nap := max((s.window-s.width)/1000, 1)
		return machine.Stay{
			Kind: machine.KernelWork, Code: s.napCode("kthread_fn"),
			Wait: machine.Wait{Timeout: machine.Time(nap) * machine.Millisecond, By: machine.Sleep},
		}
	}
	width := min(s.width, maxHwlatLooks*math.MaxUint32/machine.Microsecond) * machine.Microsecond
	w.step = max(samplerStep, width/maxHwlatLooks)
	looks := max(width/w.step, 2)
	code := s.threadCode(fmt.Sprintf("hwlat %d*%d", looks, w.step), func(a *machine.Assembler) {
		kthread(a, "kthread_fn").State(machine.FlagIRQsOff, 0, 0)
		for range looks {
			a.Wait(uint32(w.step) - 1).Probe()
		}
		a.State(0, 0, 0).Return(4)
	})
	w.last, w.looks, w.rec, s.sampling = 0, int(looks), events.HwlatRecord{}, true
	return machine.Stay{Kind: machine.KernelWork, Code: code, Probe: w.look}
}

// nextCPU gives the next CPU of tracing_cpumask.
//
// Kernel: move_to_next_cpu.
func (w *hwlatThread) nextCPU(c *machine.CPU) *machine.CPU {
	cpus := w.s.ft.Machine().CPUs()
	for n := 1; n <= len(cpus); n++ {
		if next := cpus[(c.ID+n)%len(cpus)]; next.Online() && w.tr.Follows(next.ID) {
			return next
		}
	}
	return c
}

// look is one look at the clock. Chance decides whether missing time counts as lost
// within a look or between two looks.
func (w *hwlatThread) look(c *machine.CPU) {
	s := w.s
	w.looks--
	if gap := uint64(c.Time-w.last-w.step) / 1000; w.last != 0 && c.Time > w.last+w.step {
		longest := &w.rec.Duration
		if s.ft.Machine().Rand("hwlat").IntN(2) == 0 {
			longest = &w.rec.OuterDuration
		}
		*longest = max(*longest, gap)
		if gap > *s.ft.Threshold()/1000 {
			if w.rec.Count == 0 {
				now := s.ft.WallClock(c.Time)
				w.rec.TvSec, w.rec.TvNsec = int64(now/1e9), int64(now%1e9)
			}
			w.rec.Count++
		}
	}
	w.last = c.Time
	if w.looks == 0 {
		s.sampling = false
		w.rec.NMITotalTS /= 1000
	}
	if w.looks > 0 || w.rec.Count == 0 || s.of != w.tr {
		return
	}
	s.found++
	w.rec.Seqnum = s.found
	s.scratch = events.Hwlat.Append(s.scratch[:0], s.ft.Common(c), &w.rec)
	_ = w.tr.Write(c, s.scratch) // the buffer counts what it refuses
	// The value is in µs although tracing_max_latency is in ns, as in the kernel.
	if longest := max(w.rec.Duration, w.rec.OuterDuration); longest > *w.tr.MaxLatency() {
		w.tr.NewMaxLatency(longest)
	}
}

// nmi counts an NMI while a thread samples. Each CPU's thread has a count of its own.
// If a single thread goes from CPU to CPU, the NMIs of all CPUs count.
//
// Kernel: trace_hwlat_callback and get_cpu_data.
func (s *hwlat) nmi(c *machine.CPU, enter bool) {
	if !s.sampling {
		return
	}
	for _, w := range s.running {
		switch {
		case s.mode == hwlatPerCPU && w.task.CPU() != c:
		case enter:
			w.nmi = c.Time
			w.rec.NMICount++
		default:
			w.rec.NMITotalTS += c.Time - w.nmi
		}
	}
}

// files gives the folder hwlat_detector.
func (s *hwlat) files() []tracefile.Node {
	return []tracefile.Node{&tracefile.Dir{Name: "hwlat_detector", Mode: 0o750, Children: func() []tracefile.Node {
		return []tracefile.Node{
			s.ft.Value("mode", 0o640, s.showMode, s.setMode),
			plugin.Bounded(s.ft, "width", &s.width, nil, &s.window),
			plugin.Bounded(s.ft, "window", &s.window, &s.width, nil),
		}
	}}}
}

func (s *hwlat) showMode() string {
	names := hwlatModes
	names[s.mode] = "[" + names[s.mode] + "]"
	return strings.Join(names[:], " ") + "\n"
}

// Kernel: hwlat_mode_write.
func (s *hwlat) setMode(text string) error {
	written := tracefile.Stripped(text)
	for mode, name := range hwlatModes {
		if name != written {
			continue
		}
		if s.of != nil {
			s.end()
		}
		s.mode = hwlatMode(mode)
		if s.of != nil {
			s.begin(s.of)
		}
		return nil
	}
	return fmt.Errorf("hwlat_detector/mode: no mode %q: %w", text, syscall.EINVAL)
}
