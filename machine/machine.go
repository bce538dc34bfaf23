package machine

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cespare/xxhash/v2"

	"ftracelab/machine/klog"
)

// Time is simulated time in nanoseconds since boot.
type Time = uint64

// Durations. Multiply them: 50*Millisecond.
const (
	Microsecond Time = 1000
	Millisecond Time = 1000 * Microsecond
	Second      Time = 1000 * Millisecond
)

// Release is what uname -r prints. PreemptModel says how tasks are preempted (desktop:
// PREEMPT_DYNAMIC, booted with preempt=voluntary, which is Debian's default).
const (
	Release      = "6.12.0-ftracelab"
	PreemptModel = "desktop"
)

// Banner is the content of /proc/version. It says who compiled the kernel, and how.
const Banner = "Linux version " + Release + " (ftracelab@ftracelab) (gcc 12.2.0) " + Version + "\n"

// Version is what uname -v says.
const Version = "#1 SMP PREEMPT_DYNAMIC"

// never is the time of something that will not happen.
const never = Time(math.MaxUint64)

// Config describes a machine. The zero value is a machine with four CPUs and seed 1,
// booted at time 0.
type Config struct {
	CPUs int    // number of CPUs, 1…MaxCPUs; 0 means 4
	Seed uint64 // seed of all random streams; 0 means 1
	Boot Time   // simulated time at which the machine starts, in the first two years
	// Foreign are the pids that tasks with TaskConfig.Foreign can have. No other task gets
	// one of them: one that would have the pid First or more gets Limit more than that. The
	// zero value is a machine without such tasks.
	Foreign PIDs
	// Cmdline is the kernel's command line. Malformed are the names of those of its
	// parameters whose values the kernel cannot read.
	Cmdline   string
	Malformed []string
}

// PIDs is a range of pids: from First to below Limit.
type PIDs struct{ First, Limit int }

// MaxCPUs is the largest value of Config.CPUs.
const MaxCPUs = 256

// Machine is a set of simulated CPUs that share one clock, one task list and one
// kernel. It is not safe for concurrent use.
type Machine struct {
	Hooks Hooks // set by the tracer before the run, or between two calls of Run

	cfg         Config
	now         Time
	cpus        []*CPU
	order       order
	kallsyms    *Kallsyms
	modules     []*Module // the modules that were loaded since the start, in this order
	streams     map[string]*rand.Rand
	kernel      Kernel
	callees     []callee // by site
	tracepoints *[NumTracepoints]tracepoint
	enabled     [NumTracepoints]bool
	learned     map[string]bool           // which events of learned activities are enabled
	subsystems  map[string][]func() error // what begins when somebody listens to an event
	begins      []func() error            // what begins at the next step
	watched     bool                      // a tracepoint of the preemptirq system is enabled
	tasks       map[int]*Task
	nextPID     int
	slab        slab
	pages       uint64  // the position of the page allocator
	dead        []*Task // tasks whose sched_process_free is due, the oldest first
	steps       uint64
	smi         smi
	io          ioSpace
	watchPeriod Time // the period of the NMI watchdog; 0: it is off
	log         *klog.Log
}

// New builds a machine whose CPUs are idle. It runs nothing until Boot gives it
// a kernel.
//
// Errors name the Config field that is out of range.
func New(cfg Config) (*Machine, error) {
	if cfg.CPUs == 0 {
		cfg.CPUs = 4
	}
	if cfg.Seed == 0 {
		cfg.Seed = 1
	}
	if cfg.CPUs < 0 || cfg.CPUs > MaxCPUs {
		return nil, fmt.Errorf("machine: Config.CPUs %d: want 1 to %d", cfg.CPUs, MaxCPUs)
	}
	if cfg.Boot >= latest {
		return nil, fmt.Errorf("machine: Config.Boot %d: want less than %d", cfg.Boot, latest)
	}
	if f := cfg.Foreign; f.First < 0 || f.Limit < f.First {
		return nil, fmt.Errorf("machine: Config.Foreign %d to below %d: want a range", f.First, f.Limit)
	}
	ks, err := LoadKallsyms()
	if err != nil {
		return nil, err
	}
	m := &Machine{
		tracepoints: &tracepoints,
		cfg:         cfg, now: cfg.Boot, kallsyms: ks,
		learned: map[string]bool{}, subsystems: map[string][]func() error{},
		streams: map[string]*rand.Rand{}, tasks: map[int]*Task{}, nextPID: 1, smi: smi{at: never},
		log: klog.New(),
	}
	for id := range cfg.CPUs {
		c := &CPU{ID: id, Time: cfg.Boot, m: m, opDue: never, watchdog: watchdog{at: never}, nmiAt: never}
		c.idle = newIdleTask(c)
		c.Current = c.idle
		m.cpus = append(m.cpus, c)
	}
	m.order = newOrder(cfg.CPUs)
	m.logBoot()
	return m, nil
}

// Seed is the seed from which all random streams are made.
func (m *Machine) Seed() uint64 { return m.cfg.Seed }

// Now is the global simulated time: the end of the last Run, or the time of the
// step that is being executed.
func (m *Machine) Now() Time { return m.now }

// CPUs returns the processors in order of their number; the slice is the machine's own.
func (m *Machine) CPUs() []*CPU { return m.cpus }

// Workload is the workload that Boot was given; nil before that.
func (m *Machine) Workload() Workload { return m.kernel.Workload }

// Kallsyms is the symbol table of the simulated kernel. When a module is loaded or
// unloaded, there is a new table.
func (m *Machine) Kallsyms() *Kallsyms { return m.kallsyms }

// Steps counts the steps executed since New: calls, returns, tracepoints, halts.
func (m *Machine) Steps() uint64 { return m.steps }

// Rand returns the random stream with that name, the same one at every call. A stream
// depends only on the machine's seed and its own name, so a new consumer does not
// disturb the others.
func (m *Machine) Rand(name string) *rand.Rand {
	if r, ok := m.streams[name]; ok {
		return r
	}
	h := xxhash.Sum64String(fmt.Sprintf("%d/%s", m.cfg.Seed, name))
	r := rand.New(rand.NewPCG(m.cfg.Seed, h))
	m.streams[name] = r
	return r
}

// Task returns the live task with that pid, or nil. Pid 0 is CPU 0's idle task.
func (m *Machine) Task(pid int) *Task {
	if pid == 0 {
		return m.cpus[0].idle
	}
	return m.tasks[pid]
}

// Tasks returns the live tasks in order of their pids, idle tasks excluded.
func (m *Machine) Tasks() []*Task {
	ts := make([]*Task, 0, len(m.tasks))
	for _, t := range m.tasks {
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b *Task) int { return cmp.Compare(a.PID, b.PID) })
	return ts
}

// Boot gives the machine the kernel that it runs, and starts the idle loops. Tasks are
// added with Spawn, before or after that.
func (m *Machine) Boot(k Kernel) {
	m.kernel = k
	m.kernel.Sites = slices.Clip(k.Sites) // others may have more behind them
	m.callees = make([]callee, 0, len(k.Sites))
	m.addCallees(k.Sites)
	for _, c := range m.cpus {
		c.Time = m.now
		c.opDue = m.now
		c.pace = newPace(m, k.Pace, c.ID)
	}
}

// Run advances simulated time by d. It executes the CPUs' steps in the order of (time,
// CPU). Runs add up: ten short ones do exactly the same, hook for hook, as a single one
// that is ten times as long.
func (m *Machine) Run(d Time) {
	m.beginActivities()
	end := m.now + d
	m.touchAll()
	for m.turn(end) {
	}
	m.now = end
	for _, c := range m.cpus {
		c.Time = max(c.Time, end)
	}
}

// Step executes the next step of the machine if it is due by end, and reports whether
// it was.
func (m *Machine) Step(end Time) bool {
	m.touchAll()
	c, due := m.next(end)
	if c == nil {
		return false
	}
	m.do(c, due, due)
	return true
}

// turn executes the steps of the CPU that has the next one, up to the next step of
// another CPU. It reports whether there was any by end.
func (m *Machine) turn(end Time) bool {
	c, due := m.next(end)
	if c == nil {
		return false
	}
	limit := min(m.order.rival(), m.smi.at, end+1)
	m.order.moved = false
	for {
		m.do(c, due, limit)
		if due = c.due(); due >= limit || m.order.moved {
			break
		}
	}
	m.order.set(c.ID, due)
	return true
}

// next gives the CPU whose step comes next, and when that is due; nil if none has a step
// by end. System management interrupts that come before it happen.
func (m *Machine) next(end Time) (*CPU, Time) {
	for {
		if m.order.stale {
			m.refresh()
		}
		id, due := m.order.first()
		switch {
		case m.smi.at <= due && m.smi.at <= end:
			m.manage()
		case due > end, due == never:
			return nil, never
		default:
			return m.cpus[id], due
		}
	}
}

// do executes a step of c that is due, and those behind it that are due before limit.
func (m *Machine) do(c *CPU, due, limit Time) {
	m.now, c.Time = due, due
	m.steps++
	c.run(limit)
}
