// Package plugin is the interface between ftrace and a tracer in a package of its own.
// The tracer provides a [Tracer]. It gets a [Trace], into which it records, and the
// [Ftrace] around it.
//
// Package tracer implements the two interfaces and calls the tracers' functions with
// its lock held. A tracer package imports plugin and never package tracer.
//
// Kernel: struct tracer and register_tracer, kernel/trace/trace.h and trace.c, whose
// comments call such a tracer a plugin.
package plugin

import (
	"io/fs"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/option"
)

// Tracer is what current_tracer selects: a row of the table of tracers. All functions
// may be nil. They keep the state of the tracer themselves.
//
// Kernel: struct tracer, kernel/trace/trace.h.
type Tracer struct {
	Name string
	// Instances says that other instances than the top one may select it
	// (allow_instances).
	Instances bool
	// MaxBuffer says that the tracer keeps its longest latency in the snapshot, and
	// that trace shows the snapshot (use_max_tr and print_max).
	MaxBuffer bool
	// Latency says that only a kernel that is built with the latency tracers has it.
	Latency bool
	// KeepsOverwrite says that the option overwrite cannot be switched off while the
	// tracer is selected.
	KeepsOverwrite bool
	// KeepsBuffer says that a design may keep the buffer when this tracer is selected.
	KeepsBuffer bool

	// Init runs when the tracer is selected, Reset when another one is. If Init fails,
	// the tracer is not selected.
	Init  func(Trace) error
	Reset func(Trace)
	// Start and Stop run when tracing_on is switched on and off.
	Start, Stop func(Trace)
	// Changed runs after an option has changed.
	Changed func(Trace, option.Option)
	// Trace runs in each instance that has selected the tracer, at the tracepoints
	// named in Points (SYSTEM:NAME). It runs before the events themselves are recorded.
	Trace  func(Trace, *machine.CPU, machine.Tracepoint)
	Points []string
	// Pipe gives a function for an open trace_pipe. It appends to dst the next piece of
	// text that comes besides the records.
	Pipe func(Trace) func(dst []byte) []byte

	// The following functions run whichever tracer is selected.

	// NMI runs when an NMI begins and when it ends.
	NMI func(c *machine.CPU, enter bool)
	// Hotplug runs when a CPU is about to go offline, and when one has come online.
	Hotplug func(c *machine.CPU, online bool)
	// ModuleGoes runs before a module is unloaded.
	ModuleGoes func(*machine.Module)
	// Hook sets further hooks of the machine. All hooks are nil when it is called; it
	// leaves those nil that it does not need.
	Hook func(*machine.Hooks)
	// Files are its files and folders in the root of the tree.
	Files func() []tracefile.Node
	// DiskFiles are its files in the folder of a disk in sysfs, for a disk of so many
	// sectors.
	DiskFiles func(sectors uint64) []*tracefile.File
}

// Trace is an instance: the buffer into which the tracer records, and its settings. Two
// Traces are the same instance if they are equal.
//
// Kernel: struct trace_array, kernel/trace/trace.h.
type Trace interface {
	// Name is "" for the top instance.
	Name() string
	// Recording is tracing_on.
	Recording() bool
	SetRecording(on bool)
	// Follows reports whether a CPU is in tracing_cpumask.
	Follows(cpu int) bool
	// Has reports whether an option is on.
	Has(option.Option) bool
	// MaxLatency is tracing_max_latency, in ns.
	MaxLatency() *uint64
	// NewMaxLatency sets tracing_max_latency as the machine does it, and not a user, and
	// tells who watches the file.
	//
	// Kernel: latency_fsnotify, kernel/trace/trace.c.
	NewMaxLatency(ns uint64)
	// Overrun tells how many events were overwritten in the buffers of all CPUs.
	Overrun() uint64
	// ResetBuffer empties the buffer.
	ResetBuffer()

	// Write records data on c and does nothing else. The error says that there was no
	// room; the buffer has counted that already.
	Write(c *machine.CPU, data []byte) error
	// Record records data, which has type t and the header h. It also remembers the
	// task's name, and adds the stacks that the options ask for.
	Record(c *machine.CPU, t *event.Type, h event.Common, data []byte) error
	// Stacks adds the stacks that the options ask for. They belong to the last record,
	// which has type t and the header h.
	Stacks(c *machine.CPU, t *event.Type, h event.Common)
	// Print records a text like trace_printk does. from is the function of the kernel
	// that seems to call it.
	Print(c *machine.CPU, from, text string)
	// RecordStack records a kernel stack, the innermost address first.
	RecordStack(c *machine.CPU, ips []uint64)
}

// Ftrace is what all instances share.
type Ftrace interface {
	Machine() *machine.Machine
	// Do takes the lock of tracing and calls do. Run takes it and lets simulated time
	// pass. They are for code that runs without the lock, such as the handles of files.
	Do(do func(*machine.Machine) error) error
	Run(d machine.Time)
	// Advance lets simulated time pass with the lock held.
	Advance(d machine.Time)
	// Recording is tracing_on of the top instance.
	Recording() bool
	// Threshold is tracing_thresh, in ns; 0: there is none.
	Threshold() *uint64
	// Inside gives an address in a function of the kernel; 0 if there is no such
	// function.
	Inside(function string) uint64
	// WallClock gives the time of day at a simulated time, in ns since 1970.
	WallClock(at machine.Time) uint64
	// Common gives the header of a record that is made on c now.
	Common(c *machine.CPU) event.Common
	// Listens reports whether any instance has an event enabled.
	Listens(t *event.Type) bool
	// Emit makes an event happen in all instances in which it is enabled: triggers act,
	// filters decide, stacks are recorded.
	Emit(c *machine.CPU, t *event.Type, h event.Common, data []byte)
	// Remember keeps the name of a task for saved_cmdlines.
	Remember(*machine.Task)
	// Rehook has to be called when the hooks or tracepoints that a tracer needs have
	// changed.
	Rehook()

	// Value and Seq make files that take the lock of tracing, see [tracefile.Value] and
	// [tracefile.Seq]. Locked is for everything else that a file does.
	Value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node
	Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File
	Locked(do func() error) error
}

// Emit makes an event of d happen on c if it is enabled anywhere. The record is made in
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
