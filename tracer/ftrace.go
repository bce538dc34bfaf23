package tracer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"

	"ftracelab/fgraph"
	"ftracelab/fgraph/slots"
	"ftracelab/machine"
	"ftracelab/machine/qos"
	"ftracelab/stackmap"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/cmdlines"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/hist"
	"ftracelab/tracer/functions"
	"ftracelab/tracer/option"
	"ftracelab/tracer/plugin"
	"ftracelab/tracer/printk"
	"ftracelab/tracer/profiler"
	"ftracelab/tracer/record"
	"ftracelab/tracer/rv"
	"ftracelab/unwind"
	"ftracelab/unwind/user"
)

// Config is what a kernel fixes when it is built or booted; everything else is
// a file of the tracefs. The zero value is a 6.12 with the documented stackmap.
type Config struct {
	BufferSizeKB int // of each CPU; 0 means 1408, the kernel's default
	// Stackmap is the variant built in; its zero value means record.Documented. With
	// a map of another kind (Stackmap.New) there are no stack_map files, because
	// these show slots. NoStackmap builds a kernel without a stack map.
	Stackmap   record.MapConfig
	NoStackmap bool
	// NoLatencyTracers builds a kernel as Debian does: without irqsoff, wakeup, hwlat
	// and similar tracers, and without the events that belong to them. Such a kernel
	// cannot exchange one CPU's snapshot alone.
	NoLatencyTracers bool
	// NoExt4 leaves out the events of the modules ext4 and jbd2. They are those of a
	// file system that the machine uses as soon as somebody listens to its events.
	NoExt4 bool
	// DeferredUnwind builds a kernel with deferred user stacks and the option
	// userstacktrace_delay, as proposed for the kernels after 6.17.
	DeferredUnwind bool
	// Unwind says how. Its CPUs are those of the machine, its Methods are UserStacks.
	Unwind unwind.Config
	// UserStacks is how user stacks are walked: the methods in the order in which they are
	// tried. None means frame pointers, as in 6.12.
	UserStacks []user.Method
	// Files is where uprobes find their files. If it is nil, only the files that a
	// simulated task has mapped exist.
	Files dynevent.UserFiles
	// FunctionProfiler builds a kernel with the function profiler
	// (CONFIG_FUNCTION_PROFILER), which Debian's kernel does not have.
	FunctionProfiler bool
	// FunctionGraphRetval builds a kernel that records what functions return
	// (CONFIG_FUNCTION_GRAPH_RETVAL), which Debian's does not.
	FunctionGraphRetval bool
	// Fprobe is how fprobes see functions; the zero value is 6.12's way.
	Fprobe dynevent.FprobeDesign
	// ReturnSlots builds a kernel with the tracer return of 2008, which uses so many of its
	// 32 slots; 0 is a kernel without it. The patch as it was posted uses 1.
	ReturnSlots int
	// OwnFiles adds the folder ftracelab, which no kernel has: files that show the
	// bookkeeping of return hooks.
	OwnFiles bool
	// BootOptions is the boot parameter trace_options=: names of options separated by
	// commas; a leading no switches an option off. With BootOptions the run begins
	// while the kernel boots: until InitcallTime there is no stack map, and stacks
	// are recorded in full whatever options/stackmap says.
	BootOptions string
	// TracepointPrintk is the boot parameter tp_printk: events are printed to the kernel's
	// log when they are recorded, until tracepoint_printk says otherwise.
	TracepointPrintk bool
	// InitcallTime is when the kernel makes the stack map, in ns after the
	// start; 0 means 5 ms. It counts only with BootOptions.
	InitcallTime machine.Time
	// Wait is what a reader of an empty trace_pipe does. It returns nil when it is
	// worth looking again, otherwise an errno (EINTR if ctx is done). If Wait is nil,
	// the reader moves simulated time on, and nobody else needs to.
	Wait func(ctx context.Context) error
	// Changed is called when the machine itself, and no user, gives a file another value:
	// tracing_max_latency of the tree or of an instance, by its path in the tree. It runs
	// inside Run and must not use the Ftrace.
	Changed func(file string)
}

const defaultInitcallTime = 5 * machine.Millisecond

const defaultBufferSizeKB = 1408

// Ftrace is the tracing of one simulated machine: its instances and what they
// share. Its methods may be called from any goroutine; the machine runs only
// inside [Ftrace.Run], so what a file shows is a moment between two steps.
type Ftrace struct {
	mu           sync.Mutex
	machine      *machine.Machine
	cfg          Config
	types        *event.Table
	graph        *fgraph.Graph
	unwind       *unwind.Deferred // nil in a kernel without it
	inodes       inodeCache
	cmdlines     *cmdlines.Cmdlines
	thresh       uint64 // tracing_thresh, in ns; 0: none
	unused       unusedSysctls
	maxID        int // the highest event id
	top          *Instance
	instances    []*Instance      // the others, sorted by name
	users        *functions.Users // of function entries
	graphFilters graphFilters
	tracers      []plugin.Tracer // the rows of available_tracers
	rv           *rv.RV
	profiler     *profiler.Profiler
	slots        *slots.Table // of the tracer return; nil in a kernel without it
	stackTracer  stackTracer
	hists        hist.Registry
	booted       booted
	dynamic      map[*event.Type]*dynamicEvent
	dyn          *dynevent.Events
	listening    []bool   // by event id: some instance has it enabled
	probes       []uint64 // by event id: the innermost frame of its stacks
	syscalls     events.SyscallTypes
	formats      printk.Formats
	ptrKey       printk.Key                         // of %p
	points       [machine.NumTracepoints]pointProbe // by tracepoint, see tracepoints
	learned      map[string]*event.Type             // by name, see learnedType
	changes      changes
	scratch      []byte
	printkBanner bool      // the kernel has warned of trace_printk
	latencyLimit qos.Limit // of idle CPUs
	tpPrintk     tpPrintk
}

// New attaches tracing to m. The machine's hooks belong to it from then on.
func New(m *machine.Machine, cfg Config) (*Ftrace, error) {
	if cfg.BufferSizeKB == 0 {
		cfg.BufferSizeKB = defaultBufferSizeKB
	}
	if cfg.BufferSizeKB < 0 || cfg.BufferSizeKB > maxBufferSizeKB {
		return nil, fmt.Errorf("tracer: Config.BufferSizeKB %d: want 1 to %d: %w", cfg.BufferSizeKB, maxBufferSizeKB, syscall.EINVAL)
	}
	if cfg.ReturnSlots < 0 || cfg.ReturnSlots > slots.Max {
		return nil, fmt.Errorf("tracer: Config.ReturnSlots %d: want 0 to %d: %w", cfg.ReturnSlots, slots.Max, syscall.EINVAL)
	}
	kernel := events.Kernel{
		Stackmap: !cfg.NoStackmap, DeferredUnwind: cfg.DeferredUnwind, Full: !cfg.NoLatencyTracers, Ext4: !cfg.NoExt4, Retval: cfg.FunctionGraphRetval,
		Return: cfg.ReturnSlots > 0,
	}
	types, err := event.NewTable(kernel.Events()...)
	if err != nil {
		return nil, fmt.Errorf("event catalogue: %w", err)
	}
	ft := &Ftrace{learned: map[string]*event.Type{}, machine: m, cfg: cfg, types: types, cmdlines: cmdlines.New(len(m.CPUs()))}
	for _, t := range types.All() {
		ft.maxID = max(ft.maxID, t.ID)
	}
	if !cfg.NoStackmap {
		if cfg.Stackmap.IsZero() {
			ft.cfg.Stackmap = record.Documented()
		}
		if ft.cfg.Stackmap.Seed == 0 {
			ft.cfg.Stackmap.Seed = m.Rand("stackmap/seed").Uint32()
		}
	}
	ft.dyn = dynevent.New((*dynHost)(ft), cfg.Files, cfg.Fprobe)
	ft.rv = rv.New((*host)(ft))
	if cfg.ReturnSlots > 0 {
		ft.slots = slots.New(cfg.ReturnSlots)
	}
	ft.tracers = ft.newTracers()
	ft.listening = make([]bool, ft.maxID+1)
	ft.syscalls = events.NewSyscallTypes(types)
	ft.findProbes()
	ft.points = ft.tracepoints()
	if cfg.DeferredUnwind {
		cfg.Unwind.CPUs, cfg.Unwind.Methods = len(m.CPUs()), cfg.UserStacks
		ft.unwind = unwind.NewDeferred(cfg.Unwind)
		ft.unwind.SetMethods(cfg.UserStacks)
	}
	ft.graph = fgraph.New(fgraph.Config{Stack: ft.shadowStack, SubtimeWord: cfg.FunctionProfiler})
	ft.users = functions.NewUsers(m, ft.graph, ft.changed)
	if ft.top, err = ft.newInstance(""); err != nil {
		return nil, err
	}
	ft.top.types = slices.Clone(types.All())
	secret := m.Rand("ptr_key")
	ft.ptrKey = printk.Key{secret.Uint64(), secret.Uint64()}
	ft.graphFilters.ft, ft.profiler = ft, profiler.New((*host)(ft))
	ft.stackTracer.init(ft)
	ft.logBoot()
	m.Log().Trace = ft.console
	if cfg.TracepointPrintk {
		ft.tpPrintk.on = 1
	}
	ft.changed()
	ft.boot()
	return ft, nil
}

// Top returns the global instance, the one at the root of the tracefs.
func (ft *Ftrace) Top() *Instance { return ft.top }

// Types returns the event types of this kernel.
func (ft *Ftrace) Types() *event.Table { return ft.types }

// Stackmap returns the stack map of the top instance, nil in a kernel without one.
func (ft *Ftrace) Stackmap() *stackmap.Map { return ft.top.stackmap }

// Run lets the machine run for d nanoseconds of simulated time.
func (ft *Ftrace) Run(d machine.Time) {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	ft.run(d)
}

// run is Run under the lock.
func (ft *Ftrace) run(d machine.Time) {
	ft.settle()
	if end := ft.machine.Now() + d; !ft.booted.mapped && end >= ft.booted.end {
		ft.machine.Run(ft.booted.end - ft.machine.Now())
		ft.initcalls()
		d = end - ft.machine.Now()
	}
	ft.machine.Run(d)
}

// cpuTime is the simulated time on cpu: the CPU's own, which may be ahead of the
// machine's within a step.
func (ft *Ftrace) cpuTime(cpu int) machine.Time {
	return max(ft.machine.Now(), ft.machine.CPUs()[cpu].Time)
}

// maxName is the longest name of an instance.
//
// Kernel: NAME_MAX, include/uapi/linux/limits.h.
const maxName = 255

// mkdir makes an instance.
//
// Kernel: instance_mkdir, kernel/trace/trace.c.
func (ft *Ftrace) mkdir(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("instances: a name of %d bytes: %w", len(name), syscall.ENAMETOOLONG)
	}
	ft.mu.Lock()
	defer ft.mu.Unlock()
	at, exists := ft.findInstance(name)
	if exists {
		return fmt.Errorf("instances/%s: %w", name, syscall.EEXIST)
	}
	tr, err := ft.newInstance(name)
	if err != nil {
		return err
	}
	ft.instances = slices.Insert(ft.instances, at, tr)
	return nil
}

// rmdir removes an instance, stopping what it traced.
//
// Kernel: instance_rmdir, kernel/trace/trace.c.
func (ft *Ftrace) rmdir(name string) error {
	return ft.top.locked(func() error { return ft.remove(name) })
}

func (ft *Ftrace) remove(name string) error {
	at, exists := ft.findInstance(name)
	if !exists {
		return fmt.Errorf("instances/%s: %w", name, syscall.ENOENT)
	}
	tr := ft.instances[at]
	if tr.refs > 0 {
		return fmt.Errorf("instances/%s has open files: %w", name, syscall.EBUSY)
	}
	if tr.hists.HasVariables() {
		return fmt.Errorf("instances/%s has hist triggers with variables: %w", name, syscall.EBUSY)
	}
	tr.dropTriggers()
	tr.disableAllEvents()
	if err := tr.setTracer(nopTracer); err != nil {
		return err
	}
	tr.clearProbes()
	if err := tr.setOption(option.PrintkDest, false); err != nil {
		return err
	}
	if err := tr.setOption(option.UserStacktraceDelay, false); err != nil {
		return err
	}
	ft.instances = slices.Delete(ft.instances, at, at+1)
	ft.changed()
	return nil
}

func (ft *Ftrace) findInstance(name string) (int, bool) {
	return slices.BinarySearchFunc(ft.instances, name, func(tr *Instance, name string) int {
		switch {
		case tr.name < name:
			return -1
		case tr.name > name:
			return 1
		}
		return 0
	})
}

// Instances returns the top instance and then the others, sorted by name.
func (ft *Ftrace) Instances() []*Instance { return slices.Collect(ft.all) }

// all yields every instance, the top one first.
func (ft *Ftrace) all(yield func(*Instance) bool) {
	if !yield(ft.top) {
		return
	}
	for _, tr := range ft.instances {
		if !yield(tr) {
			return
		}
	}
}

// BlockFiles returns the files of the folder trace in the sysfs folder of a block
// device with that many sectors.
func (ft *Ftrace) BlockFiles(sectors uint64) (files []*tracefile.File) {
	for n := range ft.tracers {
		if of := ft.tracers[n].DiskFiles; of != nil {
			files = append(files, of(sectors)...)
		}
	}
	return files
}
