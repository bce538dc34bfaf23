package capture

import (
	"fmt"
	"strings"

	"ftracelab/tracer/event"
)

// base is what all importers share.
type base struct {
	opt      Options
	info     Info
	types    typeIndex
	comms    comms
	frames   *frames
	kallsyms *kallsyms // nil: there is none
	ids      *stackIDs // nil: stack ids stay as they are
}

func newBase(l location, opt Options, format string) base {
	return base{
		opt:    opt,
		info:   Info{Path: l.shown, Format: format, Timed: true},
		comms:  comms{byPID: map[int32]string{}},
		frames: newFrames(),
	}
}

// stopped reports whether Options.Context has ended the reading.
func (b *base) stopped() bool { return b.opt.Context != nil && b.opt.Context.Err() != nil }

// maxComms is how many task names are kept at most, as saved_cmdlines_size limits them
// in a kernel.
const maxComms = 1 << 16

// keptComm is how many bytes of a name are kept. A text may hold longer names than a
// task can have.
const keptComm = 64

// maxComm is the length of the longest name of a task.
//
// Kernel: TASK_COMM_LEN, include/linux/sched.h.
const maxComm = 15

// comms are the names of tasks.
type comms struct {
	byPID map[int32]string
}

func (c *comms) set(pid int32, comm string) {
	if len(comm) > keptComm {
		comm = strings.Clone(comm[:keptComm])
	}
	if len(c.byPID) < maxComms || c.byPID[pid] != "" {
		c.byPID[pid] = comm
	}
}

// setBytes is set for a name in bytes; it allocates nothing if the name is the same as
// before.
func (c *comms) setBytes(pid int32, comm []byte) {
	comm = comm[:min(len(comm), keptComm)]
	if c.byPID[pid] != string(comm) && string(comm) != "<...>" {
		c.set(pid, string(comm))
	}
}

// shown gives a name as the file trace shows it. A task can have an empty name.
func (c *comms) shown(pid int32) string {
	if comm, ok := c.byPID[pid]; ok {
		return comm
	}
	return "<...>"
}

// Ids of event types that no kernel numbers: the kinds of samples that a text holds,
// and events whose format is not known.
const (
	firstSyntheticID = 0xc000
	lastSyntheticID  = 0xffff
)

// maxEventName is longer than the name of any event.
//
// Kernel: MAX_EVENT_NAME_LEN, kernel/trace/trace_probe.h.
const maxEventName = 256

// typeIndex finds an event type: by its id for pages, by its name for text.
type typeIndex struct {
	table  *event.Table
	byName map[string]*event.Type
	nextID int
}

func newTypeIndex(table *event.Table) typeIndex {
	x := typeIndex{table: table, byName: map[string]*event.Type{}, nextID: firstSyntheticID}
	for _, t := range table.All() {
		if x.byName[t.Name] == nil {
			x.byName[t.Name] = t
		}
	}
	return x
}

// synthetic adds a type for which there is no format file of a kernel.
func (x *typeIndex) synthetic(system, name string, fields ...event.Field) (*event.Type, error) {
	if len(name) > maxEventName {
		return nil, fmt.Errorf("a name of %d bytes is none of an event", len(name))
	}
	for x.nextID <= lastSyntheticID && x.table.ByID(x.nextID) != nil {
		x.nextID++
	}
	if x.nextID > lastSyntheticID {
		return nil, fmt.Errorf("more than %d kinds of events without a format", lastSyntheticID-firstSyntheticID)
	}
	t, err := event.NewType(x.nextID, system, name, `""`, fields)
	if err != nil {
		return nil, err
	}
	return t, x.table.Add(t)
}

// word64 is an unsigned 64-bit field of a synthetic type.
func word64(name string, offset int) event.Field {
	return event.Field{Name: name, Decl: "unsigned long " + name, Offset: offset, Size: 8}
}
