// Package sampler samples a simulated machine as perf record --call-graph fp,defer does:
// every CPU takes an NMI each time it has run for a while, and the NMI's sample has the kernel
// stack and, for a task with a user space, a cookie. The user stack that the cookie stands for
// is a record of its own, once for all samples of a stay in the kernel.
//
//	     NMI        NMI                 NMI
//	      │          │                   │
//	user ─┴─syscall──┴───────────────────┴──────────┐ return to user space
//	  sample      sample              sample        └► DEFERRED CALLCHAIN
//	  cookie a    cookie b            cookie b         of cookie b
//
// A [Sampler] hands out the records, [Text] writes them as perf script --no-merge-callchains
// does, and package capture reads that text.
//
// Kernel: perf_callchain and perf_unwind_deferred_callback, kernel/events/core.c of 6.19.
package sampler

import (
	"cmp"
	"fmt"
	"slices"

	"ftracelab/machine"
	"ftracelab/unwind"
	"ftracelab/unwind/cookie"
)

// MinPeriod is the shortest period. An NMI itself takes some microseconds.
const MinPeriod = 10 * machine.Microsecond

// Config says how a machine is sampled.
type Config struct {
	Unwind unwind.Config // CPUs is filled in
	Period machine.Time  // how long a CPU runs, without the time that it halts, until it is sampled
}

// Record is a sample, or with Deferred the user stack of the samples with its cookie.
type Record struct {
	Deferred bool
	Comm     string
	PID, TID int
	CPU      int
	Time     machine.Time
	Cookie   cookie.ID // 0: no user stack will come
	// IPs is the kernel stack of a sample, innermost first; it is empty if the sample hit user
	// space. With Deferred it is the user stack.
	IPs []uint64
	// Files are, with Deferred, where the addresses are mapped: one for each of IPs.
	Files []string
}

// Sampler samples one machine, whose hooks belong to it.
type Sampler struct {
	m       *machine.Machine
	cfg     Config
	d       *unwind.Deferred
	work    unwind.Work
	tasks   map[*machine.Task]*unwind.Task
	records []Record // since the last Run began
	// Refused counts samples without a cookie: of kernel threads, of the idle task, of tasks
	// that exit.
	Refused uint64
}

// New begins to sample m, which no tracer may observe beside it.
func New(m *machine.Machine, cfg Config) (*Sampler, error) {
	if cfg.Period < MinPeriod {
		return nil, fmt.Errorf("sampler: a period of %d ns: want at least %d", cfg.Period, MinPeriod)
	}
	cfg.Unwind.CPUs = len(m.CPUs())
	s := &Sampler{m: m, cfg: cfg, d: unwind.NewDeferred(cfg.Unwind), tasks: map[*machine.Task]*unwind.Task{}}
	s.work.Func = s.unwound
	if err := s.d.Init(&s.work); err != nil {
		return nil, err
	}
	m.Hooks.NMI, m.Hooks.UserExit, m.Hooks.Exiting, m.Hooks.Exit = s.nmi, s.returns, s.exits, s.gone
	m.Hooks.Executing = s.execs
	m.SetNMIWatchdog(cfg.Period)
	return s, nil
}

// Run lets simulated time pass and returns the records of that time, sorted by it. They are
// valid until the next Run.
func (s *Sampler) Run(d machine.Time) []Record {
	s.records = s.records[:0]
	s.m.Run(d)
	slices.SortStableFunc(s.records, func(a, b Record) int { return cmp.Compare(a.Time, b.Time) })
	return s.records
}

// nmi takes a sample where an NMI has begun.
func (s *Sampler) nmi(c *machine.CPU, enter bool) {
	if !enter {
		return
	}
	r := recordOf(c, c.Current)
	r.IPs = s.interrupted(c.AppendKernelStack(nil))
	var err error
	if _, r.Cookie, err = s.d.RequestNMI(s.task(c.Current), c.ID, &s.work); err != nil {
		s.Refused++
	}
	s.records = append(s.records, r)
}

func recordOf(c *machine.CPU, t *machine.Task) Record {
	return Record{Comm: t.Comm, PID: t.TGID, TID: t.PID, CPU: c.ID, Time: c.Time}
}

// interrupted is a stack without the functions of the NMI itself.
func (s *Sampler) interrupted(ips []uint64) []uint64 {
	for i, ip := range slices.Backward(ips) {
		if sym, ok := s.m.Kallsyms().At(ip); ok && sym.Name == "asm_exc_nmi" {
			return ips[i+1:]
		}
	}
	return ips
}

func (s *Sampler) task(t *machine.Task) *unwind.Task {
	u := s.tasks[t]
	if u == nil {
		u = s.d.NewTask(t)
		s.tasks[t] = u
	}
	u.Exiting = t.Exiting()
	return u
}

// unwound makes the record of a user stack.
func (s *Sampler) unwound(t *unwind.Task, stack []uint64, id cookie.ID) {
	r := recordOf(t.Machine.CPU(), t.Machine)
	r.Deferred, r.Cookie, r.IPs = true, id, slices.Clone(stack)
	for _, ip := range stack {
		file := ""
		if m := t.Machine.Mapping(ip); m != nil {
			file = m.Path
		}
		r.Files = append(r.Files, file)
	}
	s.records = append(s.records, r)
}

func (s *Sampler) returns(c *machine.CPU) {
	if u := s.tasks[c.Current]; u != nil {
		s.d.ReturnToUser(u)
	}
}

func (s *Sampler) execs(c *machine.CPU) {
	if u := s.tasks[c.Current]; u != nil {
		s.d.Exec(u)
	}
}

func (s *Sampler) exits(c *machine.CPU) {
	if u := s.tasks[c.Current]; u != nil {
		s.d.Exit(u)
	}
}

func (s *Sampler) gone(t *machine.Task) { delete(s.tasks, t) }
