package tracer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// hwlat looks for time that the hardware takes: threads switch interrupts off
// and watch the clock for width of every window. The simulated machine has such
// gaps where its firmware has been given some (machine.SetSMI).
//
// Kernel: kernel/trace/trace_hwlat.c.
type hwlat struct {
	of            *Instance // nil: nobody
	mode          hwlatMode
	window, width uint64 // µs
	threads       []*hwlatThread
	sampling      bool   // a thread samples, and none has ended since the last began
	saved, last   uint64 // tracing_thresh before the tracer, and of its last time
	found         uint32
}

type hwlatMode uint8

const (
	hwlatNone hwlatMode = iota
	hwlatRoundRobin
	hwlatPerCPU
)

var hwlatModes = [...]string{"none", "round-robin", "per-cpu"}

func newHwlat() hwlat {
	return hwlat{mode: hwlatRoundRobin, window: 1_000_000, width: 500_000, last: 10_000}
}

// hwlatTracer is the row of hwlat.
func hwlatTracer() Tracer {
	return Tracer{
		Name: "hwlat", instances: true, sampler: true,
		init:  (*Instance).hwlatInit,
		reset: (*Instance).hwlatReset,
		start: (*Instance).hwlatStart,
		stop:  func(tr *Instance) { tr.ft.hwlat.end(tr.ft.machine) },
	}
}

// Kernel: hwlat_tracer_init.
func (tr *Instance) hwlatInit() error {
	s := &tr.ft.hwlat
	if s.of != nil {
		return fmt.Errorf("current_tracer: instance %q looks already: %w", s.of.name, syscall.EBUSY)
	}
	s.of, s.found, tr.latency.max, s.saved = tr, 0, 0, tr.ft.thresh
	if tr.ft.thresh == 0 {
		tr.ft.thresh = s.last
	}
	if tr.buf.Recording() {
		tr.hwlatStart()
	}
	return nil
}

// Kernel: hwlat_tracer_reset.
func (tr *Instance) hwlatReset() {
	s := &tr.ft.hwlat
	s.end(tr.ft.machine)
	s.last, tr.ft.thresh, s.of = tr.ft.thresh, s.saved, nil
}

func (s *hwlat) end(m *machine.Machine) {
	for _, t := range s.threads {
		t.end(m)
	}
	s.threads = nil
}

// hwlatStart starts one thread, or one on every CPU of tracing_cpumask.
//
// Kernel: hwlat_tracer_start.
func (tr *Instance) hwlatStart() {
	ft := tr.ft
	if len(ft.hwlat.threads) > 0 {
		return
	}
	for _, c := range ft.machine.CPUs() {
		switch {
		case !c.Online() || !tr.cpumask[c.ID]:
		case ft.hwlat.mode == hwlatPerCPU:
			tr.hwlatStartOn(c)
		case len(ft.hwlat.threads) == 0:
			w := &hwlatThread{tr: tr}
			w.sampler = ft.startSampler(c, "hwlatd", machine.TaskConfig{}, w.next)
			ft.hwlat.threads = append(ft.hwlat.threads, w)
		}
	}
}

// hwlatStartOn starts the thread of a CPU.
//
// Kernel: start_cpu_kthread.
func (tr *Instance) hwlatStartOn(c *machine.CPU) {
	w := &hwlatThread{tr: tr}
	w.sampler = tr.ft.startSampler(c, fmt.Sprintf("hwlatd/%d", c.ID), machine.TaskConfig{}, w.next)
	tr.ft.hwlat.threads = append(tr.ft.hwlat.threads, w)
}

// hotplug ends the thread of a CPU that goes, and starts one where it comes back. The
// one that goes round leaves, too: it is on another CPU than it chose then, and stays
// there from now on.
//
// Kernel: hwlat_cpu_die and hwlat_hotplug_workfn; move_to_next_cpu.
func (s *hwlat) hotplug(m *machine.Machine, c *machine.CPU, online bool) {
	perCPU := s.mode == hwlatPerCPU
	switch {
	case s.of == nil || online && !perCPU:
	case online:
		if s.of.cpumask[c.ID] && len(s.threads) > 0 {
			s.of.hwlatStartOn(c)
		}
	default:
		for n, w := range s.threads {
			switch {
			case w.task.CPU() != c:
			case perCPU:
				w.end(m)
				s.threads = slices.Delete(s.threads, n, n+1)
				return
			default:
				w.task.Bind(m.CPUs()[0])
				s.mode = hwlatNone
			}
		}
	}
}

// hwlatThread is a thread of hwlat.
type hwlatThread struct {
	*sampler
	tr      *Instance
	sampled bool         // this window
	step    machine.Time // between two looks
	last    machine.Time
	looks   int
	rec     events.HwlatRecord
	nmi     machine.Time // when the last NMI came
}

// maxHwlatLooks bounds the looks of one sampling, and with them the memory that a
// large width takes: of a larger one the looks are further apart.
const maxHwlatLooks = 20_000

// next is a look at the clock for width, or the rest of the window asleep.
//
// Kernel: kthread_fn and get_sample.
func (w *hwlatThread) next(c *machine.CPU) machine.Stay {
	ft := w.tr.ft
	s := &ft.hwlat
	w.sampled = !w.sampled
	if !w.sampled {
		if s.mode == hwlatRoundRobin {
			w.task.Bind(w.nextCPU(c))
		}
		nap := max((s.window-s.width)/1000, 1)
		return machine.Stay{
			Kind: machine.KernelWork, Code: ft.napCode("kthread_fn"),
			Wait: machine.Wait{Timeout: machine.Time(nap) * machine.Millisecond, By: machine.Sleep},
		}
	}
	width := min(s.width, maxHwlatLooks*math.MaxUint32/machine.Microsecond) * machine.Microsecond
	w.step = max(samplerStep, width/maxHwlatLooks)
	looks := max(width/w.step, 2)
	code := ft.threadCode(fmt.Sprintf("hwlat %d*%d", looks, w.step), func(a *machine.Assembler) {
		kthread(a, "kthread_fn").State(machine.FlagIRQsOff, 0, 0)
		for range looks {
			a.Wait(uint32(w.step) - 1).Probe()
		}
		a.State(0, 0, 0).Return(4)
	})
	w.last, w.looks, w.rec, s.sampling = 0, int(looks), events.HwlatRecord{}, true
	return machine.Stay{Kind: machine.KernelWork, Code: code, Probe: w.look}
}

// nextCPU is the next one of tracing_cpumask.
//
// Kernel: move_to_next_cpu.
func (w *hwlatThread) nextCPU(c *machine.CPU) *machine.CPU {
	cpus := w.tr.ft.machine.CPUs()
	for n := 1; n <= len(cpus); n++ {
		if next := cpus[(c.ID+n)%len(cpus)]; next.Online() && w.tr.cpumask[next.ID] {
			return next
		}
	}
	return c
}

// look is one look at the clock. Whether time went missing within a look or
// between two is a matter of chance.
func (w *hwlatThread) look(c *machine.CPU) {
	ft := w.tr.ft
	w.looks--
	if gap := uint64(c.Time-w.last-w.step) / 1000; w.last != 0 && c.Time > w.last+w.step {
		longest := &w.rec.Duration
		if ft.machine.Rand("hwlat").IntN(2) == 0 {
			longest = &w.rec.OuterDuration
		}
		*longest = max(*longest, gap)
		if gap > ft.thresh/1000 {
			if w.rec.Count == 0 {
				now := realTime(c.Time)
				w.rec.TvSec, w.rec.TvNsec = int64(now/1e9), int64(now%1e9)
			}
			w.rec.Count++
		}
	}
	w.last = c.Time
	if w.looks == 0 {
		ft.hwlat.sampling = false
		w.rec.NMITotalTS /= 1000
	}
	if w.looks > 0 || w.rec.Count == 0 || ft.hwlat.of != w.tr {
		return
	}
	ft.running = c
	ft.hwlat.found++
	w.rec.Seqnum = ft.hwlat.found
	w.tr.scratch = events.Hwlat.Append(w.tr.scratch[:0], common(c), &w.rec)
	_ = w.tr.rec.Event(c.ID, contextOf(c), w.tr.scratch) // the buffer counts what it refuses
	// In µs, where tracing_max_latency takes it for ns: as in the kernel.
	w.tr.latency.max = max(w.tr.latency.max, w.rec.Duration, w.rec.OuterDuration)
	ft.running = nil
}

// nmi counts an NMI while a thread samples. There is one count for each CPU's
// thread; where one thread goes round, NMIs of all CPUs count.
//
// Kernel: trace_hwlat_callback and get_cpu_data.
func (s *hwlat) nmi(c *machine.CPU, enter bool) {
	if !s.sampling {
		return
	}
	for _, w := range s.threads {
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

// hwlatFiles are hwlat_detector.
func (ft *Ftrace) hwlatFiles() tracefile.Node {
	tr, s := ft.top, &ft.hwlat
	return &tracefile.Dir{Name: "hwlat_detector", Mode: 0o750, Children: func() []tracefile.Node {
		return []tracefile.Node{
			tr.value("mode", 0o640, s.showMode, s.setMode),
			tr.bounded("width", &s.width, nil, &s.window),
			tr.bounded("window", &s.window, &s.width, nil),
		}
	}}
}

func (s *hwlat) showMode() string {
	names := hwlatModes
	names[s.mode] = "[" + names[s.mode] + "]"
	return strings.Join(names[:], " ") + "\n"
}

// Kernel: hwlat_mode_write.
func (s *hwlat) setMode(text string) error {
	for mode, name := range hwlatModes {
		if name != strings.TrimSpace(text) {
			continue
		}
		if s.of != nil {
			s.end(s.of.ft.machine)
		}
		s.mode = hwlatMode(mode)
		if s.of != nil {
			s.of.hwlatStart()
		}
		return nil
	}
	return fmt.Errorf("hwlat_detector/mode: no mode %q: %w", text, syscall.EINVAL)
}
