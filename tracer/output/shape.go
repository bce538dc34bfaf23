package output

import (
	"strings"

	"ftracelab/tracer/event"
)

// kind selects the code that prints an entry.
type kind uint8

const (
	unknownEntry kind = iota
	eventEntry        // the type's own print format
	syscallEnter
	syscallExit
	probeHit
	probeReturn
	eventProbe
	syntheticEntry
	noText // an ftrace entry that only its own tracer prints
	functionEntry
	graphEntry
	graphExit
	contextSwitch
	wakeup
	stackEntry
	userStack
	stackID
	printEntry
	bprintEntry
	bputsEntry
	branchEntry
	hwlatEntry
	osnoiseEntry
	timerlatEntry
	rawData
	blkEntry
	funcRepeats
	unwindCookie
	unwindStack
	fnReturn
	mmioRW // without a text of its own, as noText
	mmioMapping
)

// shape is what the printer knows about an event type: how to print it, and where the
// fields are that this needs.
type shape struct {
	kind   kind
	typ    *event.Type
	name   string // the name in front of the text; that of a system call has no sys_enter_
	probed string // the event to which an eprobe is attached
	args   []probeArg
	text   event.Text
	bound  bool // text has been made
	off    [10]int
	fields []fieldForm // how each field is printed with the option fields
}

// appendEvent appends the text that the type's own print format makes of a record. For
// an event of the kernel, the name and the newline are part of it.
func (p *Printer) appendEvent(dst []byte, r *record) []byte {
	s := r.shape
	if !s.bound {
		before, after := "", ""
		if s.kind == eventEntry {
			before, after = s.name+": ", "\n"
		}
		s.text, s.bound = s.typ.Text(&p.env, before, after), true
	}
	return s.text.Append(dst, r.Data)
}

func (s *shape) isPrintk() bool {
	return s.kind == printEntry || s.kind == bprintEntry || s.kind == bputsEntry
}

// shapeOf finds the shape of an event id.
func (p *Printer) shapeOf(id int) *shape {
	for len(p.shapes) <= id {
		p.shapes = append(p.shapes, make([]*shape, 64)...)
	}
	if p.shapes[id] == nil {
		s := newShape(id, p.cfg.Types.ByID(id))
		if s.kind == eventEntry && p.cfg.ProbedEvent != nil {
			if s.probed = p.cfg.ProbedEvent(s.typ); s.probed != "" {
				s.probe(eventProbe)
			}
		}
		p.shapes[id] = s
	}
	return p.shapes[id]
}

// ForgetTypes makes the printer look up all types anew. It has to be called when an id
// may mean another event now.
func (p *Printer) ForgetTypes() { clear(p.shapes) }

// Incomplete tells which events lack something in the text that was printed so far, and
// why: their print formats are faulty, or need the kernel itself.
func (p *Printer) Incomplete() []error {
	var list []error
	for _, s := range p.shapes {
		if s != nil && s.kind == eventEntry {
			if err := s.typ.PrintErr(); err != nil {
				list = append(list, err)
			}
		}
	}
	return list
}

// ftraceEntry is a kind of entry of the ftrace system, with the fields that its text
// needs.
type ftraceEntry struct {
	kind   kind
	fields []string
}

// ftraceEntries finds the entries for whose text the kernel has code of its own.
//
// Kernel: trace_entries.h for the fields, trace_output.c for the text.
func ftraceEntries(name string) (ftraceEntry, bool) {
	switch name {
	case "function":
		return ftraceEntry{functionEntry, []string{"ip", "parent_ip"}}, true
	case "funcgraph_entry":
		return ftraceEntry{graphEntry, []string{"func", "depth"}}, true
	case "funcgraph_exit":
		return ftraceEntry{graphExit, []string{"func", "depth", "overrun", "calltime", "rettime", "retval"}}, true
	case "context_switch":
		return ftraceEntry{contextSwitch, switchFields()}, true
	case "wakeup":
		return ftraceEntry{wakeup, switchFields()}, true
	case "kernel_stack":
		return ftraceEntry{stackEntry, []string{"caller"}}, true
	case "user_stack":
		return ftraceEntry{userStack, []string{"caller", "tgid"}}, true
	case "stack_id":
		return ftraceEntry{stackID, []string{"stack_id"}}, true
	case "print":
		return ftraceEntry{printEntry, []string{"ip", "buf"}}, true
	case "bprint":
		return ftraceEntry{bprintEntry, []string{"ip", "fmt", "buf"}}, true
	case "bputs":
		return ftraceEntry{bputsEntry, []string{"ip", "str"}}, true
	case "branch":
		return ftraceEntry{branchEntry, []string{"line", "func", "file", "correct"}}, true
	case "hwlat":
		return ftraceEntry{hwlatEntry, []string{"duration", "outer_duration", "nmi_total_ts", "tv_sec", "tv_nsec", "nmi_count", "seqnum", "count"}}, true
	case "osnoise":
		return ftraceEntry{osnoiseEntry, []string{"noise", "runtime", "max_sample", "hw_count", "nmi_count", "irq_count", "softirq_count", "thread_count"}}, true
	case "timerlat":
		return ftraceEntry{timerlatEntry, []string{"seqnum", "context", "timer_latency"}}, true
	case "raw_data":
		return ftraceEntry{rawData, []string{"id", "buf"}}, true
	case "func_repeats":
		return ftraceEntry{funcRepeats, []string{"ip", "parent_ip", "count", "top_delta_ts", "bottom_delta_ts"}}, true
	case "blk":
		return ftraceEntry{blkEntry, nil}, true
	case "mmiotrace_rw":
		return ftraceEntry{mmioRW, []string{"phys", "value", "pc", "map_id", "opcode", "width"}}, true
	case "mmiotrace_map":
		return ftraceEntry{mmioMapping, []string{"phys", "virt", "len", "map_id", "opcode"}}, true
	case "fn_ret":
		return ftraceEntry{fnReturn, []string{"ip", "calltime", "rettime"}}, true
	case "user_unwind_cookie":
		return ftraceEntry{unwindCookie, []string{"cookie"}}, true
	case "user_unwind_stack":
		return ftraceEntry{unwindStack, []string{"cookie", "stack", "inodes", "dev"}}, true
	}
	return ftraceEntry{}, false
}

func switchFields() []string {
	return []string{"prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio", "next_state", "next_cpu"}
}

// blkType is the id of block layer entries. They have no format file, so a table of
// types may not know them.
//
// Kernel: TRACE_BLK, kernel/trace/trace.h.
const blkType = 13

// newShape makes the shape of a type, which is nil if it is unknown.
func newShape(id int, t *event.Type) *shape {
	switch {
	case t == nil && id == blkType:
		return &shape{kind: blkEntry}
	case t == nil:
		return &shape{kind: unknownEntry}
	}
	s := &shape{kind: eventEntry, typ: t, name: t.Name}
	switch {
	case t.System == "ftrace":
		s.kind = noText
		if e, ok := ftraceEntries(t.Name); ok {
			s.kind = e.kind
			s.locate(e.fields)
		}
	case t.System == "syscalls" && strings.HasPrefix(t.Name, "sys_enter_"):
		s.kind, s.name = syscallEnter, "sys_"+t.Name[len("sys_enter_"):]
	case t.System == "syscalls" && strings.HasPrefix(t.Name, "sys_exit_"):
		s.kind, s.name = syscallExit, "sys_"+t.Name[len("sys_exit_"):]
		s.locate([]string{"ret"})
	case t.System == "synthetic":
		s.kind = syntheticEntry
	case strings.HasPrefix(t.PrintFmt, `"(%lx`) && t.Field("__probe_ip") != nil:
		s.probe(probeHit, "__probe_ip")
	case strings.HasPrefix(t.PrintFmt, `"(%lx`) && t.Field("__probe_func") != nil:
		s.probe(probeReturn, "__probe_func", "__probe_ret_ip")
	}
	return s
}

// probe makes s the shape of a probe's event if its print fmt looks like a probe's.
func (s *shape) probe(k kind, place ...string) {
	args, ok := probeArgs(s.typ)
	if !ok {
		return
	}
	s.kind, s.args = k, args
	s.locate(place)
}

// locate notes the offsets of fields. It notes -1 for a field that the type does not
// have.
func (s *shape) locate(names []string) {
	for i := range s.off {
		s.off[i] = -1
	}
	for i, name := range names {
		if f := s.typ.Field(name); f != nil {
			s.off[i] = f.Offset
		}
	}
}

func (r *record) u64(field int) uint64 { return le64(r.Data, r.shape.off[field]) }
func (r *record) u32(field int) uint32 { return le32(r.Data, r.shape.off[field]) }
func (r *record) u8(field int) uint64  { return le(r.Data, r.shape.off[field], 1) }
