package tracer

import (
	"fmt"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/stackmap"
	"ftracelab/tracer/clock"
	"ftracelab/tracer/cpumask"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/hist"
	"ftracelab/tracer/functions"
	"ftracelab/tracer/option"
	"ftracelab/tracer/pidlist"
	"ftracelab/tracer/plugin"
	"ftracelab/tracer/record"
	"ftracelab/unwind"
	"ftracelab/unwind/user"
)

// Instance is struct trace_array: a ring buffer with its tracer, its events and
// its options. The top instance is the root of the tracefs, the others are
// folders below instances/.
//
// Kernel: struct trace_array, kernel/trace/trace.h.
type Instance struct {
	ft         *Ftrace
	name       string // "" for the top instance
	buf        *ringbuf.Buffer
	rec        *record.Recorder
	interner   record.Interner // of the option stackmap; nil for an instance without a map
	stackmap   *stackmap.Map   // the interner's map, if it has one of this kind
	snap       snapshot
	maxLatency uint64      // tracing_max_latency, in units of the trace clock
	longest    longest     // what the snapshot holds
	measured   *fgraph.Ops // the graph of a latency tracer; see traceFunctions
	start      uint64      // when the buffer was last emptied, by the trace clock
	opts       option.Set
	current    *plugin.Tracer
	clock      *clock.Clock
	clockCalls uint64
	cpumask    cpumask.Mask
	percent    uint64        // buffer_percent
	waitsFull  bool          // buffer_percent was written
	expanded   bool          // the buffer has its configured size
	types      []*event.Type // the events in the order of set_event; see eventTypes
	events     []eventState  // by event id
	hists      *hist.Instance
	clearTrace bool // an event was removed that had been enabled: see resetCleared
	pids       eventPIDs
	repeats    []funcRepeat      // by CPU; of func-no-repeats
	functions  functions.OpsHash // set_ftrace_filter and set_ftrace_notrace
	filter     functionFilter    // the files that edit them
	notrace    functionFilter
	ops        functions.Ops    // of a tracer that looks at functions
	probes     []*functionProbe // function commands, the latest first
	// set_ftrace_pid and set_ftrace_notrace_pid
	functionPIDs, functionNoPIDs pidlist.List
	graph                        *fgraph.Ops  // while function_graph is current
	deferred                     *unwind.Work // while userstacktrace_delay is on
	inodes                       []uint64     // room for those of a deferred stack
	devs                         []uint32
	errors                       errorLog
	refs                         int      // open files, of an instance that can be removed
	pauses                       int      // see pause
	readers                      int      // open trace_pipe and trace_pipe_raw files
	piped                        []bool   // by CPU: its trace_pipe is open
	emptied                      []uint64 // by CPU: how often its ring was emptied, see tracefile.Ring
	walker                       user.Walker
	stack                        record.Stack
	moment                       moment
	unbuffered                   int            // see keepUnbuffered
	histMoments                  []*hist.Moment // of nested events
	histDepth                    int
	histStack                    func([]uint64) []uint64 // moment.histStack
}

func (ft *Ftrace) newInstance(name string) (*Instance, error) {
	cpus := len(ft.machine.CPUs())
	tr := &Instance{
		ft:       ft,
		name:     name,
		opts:     ft.newOptions(name == ""),
		current:  ft.tracerByName(nopTracer),
		clock:    &clock.All[0],
		cpumask:  cpumask.All(cpus),
		types:    ft.registered(),
		events:   make([]eventState, ft.maxID+1),
		repeats:  make([]funcRepeat, cpus),
		piped:    make([]bool, cpus),
		emptied:  make([]uint64, cpus),
		expanded: name != "",
		percent:  defaultPercent,
		walker:   user.Walker{Methods: ft.cfg.UserStacks},
	}
	tr.hists = hist.NewInstance(histEnv{tr}, &ft.hists)
	tr.histStack = tr.moment.histStack
	tr.filter = functionFilter{tr: tr, set: &tr.functions.Filter}
	tr.notrace = functionFilter{tr: tr, set: &tr.functions.Notrace, notrace: true}
	size := minBufferSize
	if tr.expanded {
		size = ft.cfg.BufferSizeKB << 10
		if err := ft.bufferRoom(-1, uint64(size)); err != nil {
			return nil, fmt.Errorf("instance %q: %w", name, err)
		}
	}
	buf, err := ringbuf.New(ringbuf.Config{CPUs: cpus, Size: size, NoOverwrite: !tr.opts.Has(option.Overwrite), Clock: tr.now})
	if err != nil {
		return nil, fmt.Errorf("instance %q: %w", name, err)
	}
	tr.buf = buf
	if tr.snap.buf, err = ringbuf.New(ringbuf.Config{CPUs: cpus, Size: minBufferSize, NoOverwrite: !tr.opts.Has(option.Overwrite), Clock: tr.now}); err != nil {
		return nil, fmt.Errorf("instance %q: snapshot: %w", name, err)
	}
	if tr.interner, err = ft.openMap(tr.top()); err != nil {
		return nil, fmt.Errorf("instance %q: %w", name, err)
	}
	if m, ok := tr.interner.(record.Stackmap); ok {
		tr.stackmap = m.Map
	}
	tr.rec = record.NewRecorder(tr.buf, tr.newStacks())
	tr.snap.rec = record.NewRecorder(tr.snap.buf, tr.rec.Stacks())
	return tr, nil
}

func (tr *Instance) top() bool { return tr.name == "" }

// Name returns the name of the instance's folder below instances; it is empty for the
// top instance.
func (tr *Instance) Name() string { return tr.name }

// Buffer returns the instance's ring buffer.
func (tr *Instance) Buffer() *ringbuf.Buffer { return tr.buf }

// Recorder returns the instance's recorder.
func (tr *Instance) Recorder() *record.Recorder { return tr.rec }

// resetBuffer empties the buffer on all CPUs (echo > trace).
//
// Kernel: tracing_reset_online_cpus, kernel/trace/trace.c.
func (tr *Instance) resetBuffer() {
	resetCPUs(tr.buf, -1)
	tr.wasEmptied(-1)
	tr.start = tr.now(0)
}

// wasEmptied counts that the buffer of one CPU or, with cpu < 0, of all CPUs was
// emptied.
func (tr *Instance) wasEmptied(cpu int) {
	for n := range tr.emptied {
		if cpu < 0 || cpu == n {
			tr.emptied[n]++
		}
	}
}

// resetSnapshot empties the snapshot on all CPUs.
func (tr *Instance) resetSnapshot() {
	resetCPUs(tr.snap.buf, -1)
	tr.longest = longest{began: tr.now(0)}
}

// resetCPUs empties a buffer on one CPU or, with cpu < 0, on all.
func resetCPUs(buf *ringbuf.Buffer, cpu int) {
	for n := range buf.CPUs() {
		if cpu < 0 || cpu == n {
			buf.Reset(n)
		}
	}
}

// common returns the header of a record made on c now.
//
// Kernel: tracing_gen_ctx_irq_test, kernel/trace/trace.c.
func common(c *machine.CPU) event.Common {
	var h event.Common
	h.PID = int32(c.Current.PID)
	h.PreemptCount = uint8(min(c.PreemptCount, 15) | min(c.MigrateDisable, 15)<<4)
	flag := func(on bool, bit uint8) {
		if on {
			h.Flags |= bit
		}
	}
	flag(c.IRQsOff, event.FlagIRQsOff)
	flag(c.BHOff, event.FlagBHOff)
	flag(c.NeedResched, event.FlagNeedResched|event.FlagPreemptResched)
	flag(c.InHardIRQ, event.FlagHardIRQ)
	flag(c.InSoftIRQ, event.FlagSoftIRQ)
	flag(c.InNMI, event.FlagNMI)
	return h
}

// contextOf returns the context in which c runs, as the ring buffer distinguishes it.
func contextOf(c *machine.CPU) ringbuf.Context {
	switch {
	case c.InNMI:
		return ringbuf.NMI
	case c.InHardIRQ:
		return ringbuf.IRQ
	case c.InSoftIRQ:
		return ringbuf.SoftIRQ
	}
	return ringbuf.Normal
}

// records reports whether the instance records on c at all. That depends on
// tracing_cpumask, on tracing_on, and on readers of trace with
// options/pause-on-trace.
func (tr *Instance) records(c *machine.CPU) bool {
	return tr.cpumask[c.ID] && tr.buf.Enabled()
}
