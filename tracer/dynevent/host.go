package dynevent

import (
	"io/fs"

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

	// AddEvent makes an event known in all instances. Before it is turned on in one, if
	// only softly, and after it was turned off, reg runs, which may be nil; an error
	// refuses. Errors: EEXIST, ENODEV.
	AddEvent(t *event.Type, reg func(in Instance, on bool) error) error
	// RemoveEvent takes it out again. Errors: EBUSY while it is enabled somewhere or held.
	RemoveEvent(t *event.Type) error
	// HoldEvent keeps an event from being removed until it is called with false.
	HoldEvent(t *event.Type, on bool)
	// Enabled reports whether an instance has the event enabled, if only softly, and
	// Listens whether it has to be recorded for one.
	Enabled(t *event.Type) bool
	Listens(t *event.Type) bool
	// SetInnermost says at which address the kernel stacks of an event begin, 0 for where
	// it happens.
	SetInnermost(t *event.Type, ip uint64)
	// ResetCleared empties the buffers that may hold records of events that were removed.
	ResetCleared()

	// Common is the header of a record that is made on c now.
	Common(c *machine.CPU) event.Common
	// Emit makes an event happen on c in all instances that have it enabled.
	Emit(c *machine.CPU, t *event.Type, h event.Common, rec []byte, around Around)
	// EmitNested does so within another event, whose record is not committed yet.
	EmitNested(c *machine.CPU, t *event.Type, h event.Common, rec []byte, around Around)

	// RegisterOps adds a user of function entries, or brings up to date what it wants.
	RegisterOps(*functions.Ops)
	UnregisterOps(*functions.Ops)
	// Users counts the users of a function, and Touch notes that it has had one.
	Users(ip uint64) int
	Touch(ip uint64)
	// Match puts the functions that a pattern means into a set, and counts them.
	Match(set *functions.Hash, pattern string) int
	// ForgetModule makes the entries of a module's functions match nothing.
	ForgetModule(name string, set *functions.Hash)
	// Rethooks are the hooked returns of a task.
	Rethooks(*machine.Task) *rethook.Task
	// Rehook tells that what is wanted of the machine's hooks and tracepoints has changed.
	Rehook()

	// HashPtr is a pointer as %p prints it.
	HashPtr(ptr uint64) uint64
	// FilterEnv is what a filter may ask. LogFilter and LogError put a fault into the
	// error_log of the top instance.
	FilterEnv() filter.Env
	LogFilter(*filter.Error)
	LogError(location, message, command string, pos int)

	// Value and Seq are files under tracing's lock; Locked runs what else a file does.
	Value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node
	Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File
	Locked(do func() error) error
}

// Instance is an instance as an event probe sees it.
type Instance interface {
	FilterEnv() filter.Env
	// Attach lets e fire when t happens, which is enabled softly meanwhile; Detach ends that.
	Attach(t *event.Type, e *Eprobe)
	Detach(t *event.Type, e *Eprobe)
	// SoftDisabled reports whether an event is enabled only softly.
	SoftDisabled(t *event.Type) bool
	// Happen makes an event happen in this instance.
	Happen(c *machine.CPU, t *event.Type, h event.Common, rec []byte, around Around)
}

// Around is what belongs to an event and is not in its record. The zero value is that of
// most events of the kernel itself.
type Around struct {
	// Task is the task besides the current one that the event's tracepoint is about.
	Task *machine.Task
	// Hit says that the event is the hit of a probe: its kernel stack is that of the place
	// that was hit. It begins at IP in the innermost function of the CPU, or if IP is 0
	// where that function returns to. Without Hit it begins in the function that makes the
	// record.
	Hit bool
	IP  uint64
	// Outside says that a write to a file made the event, and no hook of the machine.
	Outside bool
}
