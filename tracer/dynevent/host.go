package dynevent

import (
	"io/fs"

	"ftracelab/fgraph"
	"ftracelab/fgraph/rethook"
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/functions"
)

// Host is ftrace as dynamic events see it.
type Host interface {
	Machine() *machine.Machine
	Types() *event.Table

	// AddEvent makes an event known in all instances. reg, which may be nil, runs before
	// an instance enables the event, even if only softly, and after it has disabled the
	// event. If reg returns an error, the event is not enabled. Errors: EEXIST, ENODEV.
	AddEvent(t *event.Type, reg func(in Instance, on bool) error) error
	// RemoveEvent removes the event again. Errors: EBUSY while it is enabled in an
	// instance or held.
	RemoveEvent(t *event.Type) error
	// HoldEvent keeps an event from being removed until it is called with false.
	HoldEvent(t *event.Type, on bool)
	// Enabled reports whether any instance has the event enabled, even if only softly.
	// Listens reports whether the event has to be recorded for any instance.
	Enabled(t *event.Type) bool
	Listens(t *event.Type) bool
	// SetInnermost sets the address at which the kernel stacks of an event begin; 0
	// stands for the place where the event happens.
	SetInnermost(t *event.Type, ip uint64)
	// ResetCleared empties the buffers that may hold records of events that were removed.
	ResetCleared()

	// Common returns the header of a record that is made on c now.
	Common(c *machine.CPU) event.Common
	// Emit makes an event happen on c in all instances that have it enabled.
	Emit(c *machine.CPU, t *event.Type, h event.Common, rec []byte, around Around)
	// EmitNested does the same while the record of another event is not committed yet.
	EmitNested(c *machine.CPU, t *event.Type, h event.Common, rec []byte, around Around)

	// RegisterOps adds a user of function entries. If the user is registered already,
	// it updates which functions the user wants.
	RegisterOps(*functions.Ops)
	UnregisterOps(*functions.Ops)
	// RegisterGraph adds a user of the shadow stacks for the functions of a set, which
	// may change while it is registered; Rehook has to be called then. Errors: ENOSPC.
	RegisterGraph(*fgraph.Ops, *functions.OpsHash) error
	UnregisterGraph(*fgraph.Ops)
	// Users counts the users of a function. Touch notes that it has had one.
	Users(ip uint64) int
	Touch(ip uint64)
	// Match adds the functions that a pattern matches to a set, and returns their
	// number.
	Match(set *functions.Hash, pattern string) int
	// ForgetModule makes the entries of a module's functions match nothing.
	ForgetModule(name string, set *functions.Hash)
	// Rethooks returns the hooked returns of a task.
	Rethooks(*machine.Task) *rethook.Task
	// Rehook has to be called when other hooks or tracepoints of the machine are needed
	// than before.
	Rehook()

	// HashPtr returns a pointer as %p prints it.
	HashPtr(ptr uint64) uint64
	// FilterEnv returns what a filter may ask. LogFilter and LogError put a fault into
	// the error_log of the top instance.
	FilterEnv() filter.Env
	LogFilter(*filter.Error)
	LogError(location, message, command string, pos int)
	// Warn writes a message of the kernel to its log.
	Warn(text string)

	// Value and Seq make files that take tracing's lock. Locked is for everything else
	// that a file does.
	Value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node
	Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File
	Locked(do func() error) error
}

// Instance is an instance as an event probe sees it.
type Instance interface {
	FilterEnv() filter.Env
	// Attach lets e fire when t happens; t is enabled softly meanwhile. Detach ends that.
	Attach(t *event.Type, e *Eprobe)
	Detach(t *event.Type, e *Eprobe)
	// SoftDisabled reports whether an event is enabled only softly.
	SoftDisabled(t *event.Type) bool
	// Happen makes an event happen in this instance.
	Happen(c *machine.CPU, t *event.Type, h event.Common, rec []byte, around Around)
}

// Around is what belongs to an event but is not in its record. Most of the kernel's own
// events have the zero value.
type Around struct {
	// Task is the task that the event's tracepoint is about, besides the current one.
	Task *machine.Task
	// Hit says that the event is the hit of a probe, so that its kernel stack is that of
	// the place that was hit. The stack begins at IP in the innermost function of the
	// CPU; if IP is 0, it begins where that function returns to. Without Hit it begins
	// in the function that makes the record.
	Hit bool
	IP  uint64
	// Entry says that the event is the hit of a uprobe at the first instruction of a
	// function, which has no frame yet.
	Entry bool
	// Outside says that a write to a file made the event, and no hook of the machine.
	Outside bool
}
