// Package plugin is the seam between ftrace and a tracer that lives in a package of
// its own: what such a tracer gives, a [Tracer], and what it gets, a [Trace] to record
// into and the [Ftrace] around it.
//
// Package tracer implements the two interfaces and calls the tracers' functions with
// its lock held. A tracer package imports plugin and never package tracer.
//
// Kernel: struct tracer and register_tracer, kernel/trace/trace.h and trace.c, whose
// comments call such a tracer a plugin.
package plugin

import (
	"io/fs"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/option"
	"ftracelab/workload/machine"
)

// Tracer is what current_tracer selects: one row of the table of tracers. A function
// that is nil has nothing to do. What a tracer remembers belongs to its functions.
//
// Kernel: struct tracer, kernel/trace/trace.h.
type Tracer struct {
	Name string
	// Instances says that an instance other than the top one may select it
	// (allow_instances).
	Instances bool
	// MaxBuffer says that it keeps its longest latency in the snapshot, which trace
	// then shows (use_max_tr and print_max).
	MaxBuffer bool
	// Latency says that only a kernel built with the latency tracers has it.
	Latency bool
	// KeepsOverwrite says that overwrite may not be switched off meanwhile.
	KeepsOverwrite bool
	// KeepsBuffer says that a design may keep the buffer when this tracer is selected.
	KeepsBuffer bool

	// Init and Reset run when the tracer is selected and left. If Init fails the
	// tracer is not selected.
	Init  func(Trace) error
	Reset func(Trace)
	// Start and Stop run when tracing_on is switched on and off.
	Start, Stop func(Trace)
	// Changed runs after an option changed.
	Changed func(Trace, option.Option)
	// Trace runs in each instance that has the tracer, at the tracepoints named in
	// Points (SYSTEM:NAME) and before the records of the events themselves.
	Trace  func(Trace, *machine.CPU, machine.Tracepoint)
	Points []string
	// Pipe gives what an open trace_pipe says besides the records: a function that
	// appends what is next to dst.
	Pipe func(Trace) func(dst []byte) []byte

	// What follows runs whichever tracer is selected.

	// NMI runs where an NMI begins and where it ends.
	NMI func(c *machine.CPU, enter bool)
	// Hotplug runs where a CPU is about to go, and where one has come.
	Hotplug func(c *machine.CPU, online bool)
	// ModuleGoes runs before a module is unloaded.
	ModuleGoes func(*machine.Module)
	// Hook hangs more functions into the machine's hooks. Those hooks are nil when it
	// is called, and a hook that is not wanted stays so.
	Hook func(*machine.Hooks)
	// Files are its files and folders in the root of the tree.
	Files func() []tracefile.Node
}

// Trace is an instance: a buffer that the tracer records into, and its settings. Two
// are the same instance if they are equal.
//
// Kernel: struct trace_array, kernel/trace/trace.h.
type Trace interface {
	// Name is "" for the top instance.
	Name() string
	// Recording is tracing_on.
	Recording() bool
	SetRecording(on bool)
	// Follows reports whether tracing_cpumask has a CPU.
	Follows(cpu int) bool
	// Has reports whether an option is on.
	Has(option.Option) bool
	// MaxLatency is tracing_max_latency, in ns.
	MaxLatency() *uint64
	// Overrun counts the events that the buffer has overwritten, of all CPUs.
	Overrun() uint64
	// ResetBuffer empties the buffer.
	ResetBuffer()

	// Write records data on c and nothing else; the error says that there was no room,
	// which the buffer counts.
	Write(c *machine.CPU, data []byte) error
	// Record records data, of type t with the header h, remembers the task's name and
	// adds the stacks that the options ask for.
	Record(c *machine.CPU, t *event.Type, h event.Common, data []byte) error
	// Stacks adds the stacks that the options ask for behind a record of type t with
	// the header h.
	Stacks(c *machine.CPU, t *event.Type, h event.Common)
	// Print records a text as trace_printk does, from a function of the kernel.
	Print(c *machine.CPU, from, text string)
	// RecordStack records a kernel stack, the innermost address first.
	RecordStack(c *machine.CPU, ips []uint64)
}

// Ftrace is what all instances share.
type Ftrace interface {
	Machine() *machine.Machine
	// Do runs do with tracing locked; Run locks it and lets simulated time pass. They
	// are for what does not run with the lock held: handles of files.
	Do(do func(*machine.Machine) error) error
	Run(d machine.Time)
	// Advance lets simulated time pass with the lock held.
	Advance(d machine.Time)
	// Threshold is tracing_thresh, in ns; 0 for none.
	Threshold() *uint64
	// Inside is an address in a function of the kernel, 0 if there is none.
	Inside(function string) uint64
	// WallClock is the time of day, in ns since 1970, at a simulated time.
	WallClock(at machine.Time) uint64
	// Common is the header of a record that is made on c now.
	Common(c *machine.CPU) event.Common
	// Listens reports whether any instance has an event enabled.
	Listens(t *event.Type) bool
	// Emit makes an event happen in all instances that have it enabled: triggers act,
	// filters judge, stacks are recorded.
	Emit(c *machine.CPU, t *event.Type, h event.Common, data []byte)
	// Remember keeps a task's name for saved_cmdlines.
	Remember(*machine.Task)
	// Rehook tells that the hooks or tracepoints which a tracer wants have changed.
	Rehook()

	// Value and Seq are files under tracing's lock, see [tracefile.Value] and
	// [tracefile.Seq]. Locked runs what else a file does.
	Value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node
	Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File
	Locked(do func() error) error
}

// Emit makes an event of d happen on c, if anybody listens. The record is made in
// scratch, which the caller keeps so that nothing is allocated.
func Emit[T any](ft Ftrace, c *machine.CPU, scratch *[]byte, d *event.Def[T], v *T) {
	if !ft.Listens(d.Type) {
		return
	}
	h := ft.Common(c)
	*scratch = d.Append((*scratch)[:0], h, v)
	h.Type = uint16(d.Type.ID)
	ft.Emit(c, d.Type, h, *scratch)
}
