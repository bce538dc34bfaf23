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
	kallsyms *kallsyms // nil: none
	ids      *stackIDs // nil: they are to stay
}

func newBase(l location, opt Options, format string) base {
	return base{
		opt:    opt,
		info:   Info{Path: l.shown, Format: format, Timed: true},
		comms:  comms{byPID: map[int32]string{}},
		frames: newFrames(),
	}
}

// stopped says whether the reading was ended by Options.Context.
func (b *base) stopped() bool { return b.opt.Context != nil && b.opt.Context.Err() != nil }

// maxComms bounds the names kept, like saved_cmdlines_size does.
const maxComms = 1 << 16

// keptComm is how much is kept of a name. A text may have longer ones than a task.
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

// setBytes is set without an allocation where nothing changes.
func (c *comms) setBytes(pid int32, comm []byte) {
	comm = comm[:min(len(comm), keptComm)]
	if c.byPID[pid] != string(comm) && string(comm) != "<...>" {
		c.set(pid, string(comm))
	}
}

// Ids of types that no kernel numbers: of the sort of sample a text holds, and of
// events whose format is not known.
const (
	firstSyntheticID = 0xc000
	lastSyntheticID  = 0xffff
)

// maxEventName is longer than the name of any event.
//
// Kernel: MAX_EVENT_NAME_LEN, kernel/trace/trace_probe.h.
const maxEventName = 256

// typeIndex finds an event type by id as pages have it, or by name as text does.
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

// synthetic adds a type that no kernel has told us of.
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

// word64 is a field of such a type.
func word64(name string, offset int) event.Field {
	return event.Field{Name: name, Decl: "unsigned long " + name, Offset: offset, Size: 8}
}
