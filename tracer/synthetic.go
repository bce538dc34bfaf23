package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/hist"
	"ftracelab/tracer/event/synth"
	"ftracelab/workload/machine"
)

// synthEvent is a synthetic event that is defined.
//
// Kernel: struct synth_event, kernel/trace/trace_synth.h.
type synthEvent struct {
	ft    *Ftrace
	def   *synth.Definition
	typ   *event.Type
	users int // actions that generate it and hists on it
}

// synthetic is what there is of synthetic events.
type synthetic struct {
	kind *dynKind
	open event.Common // of the event whose histogram acts
	// While an event is open a synthetic one is made, and while that is open maybe
	// another.
	depth  int
	levels []*synthLevel
}

type synthLevel struct {
	values []synth.Value
	texts  []byte // of values that are addresses
	rec    []byte
}

// synthKind are the lines of dynamic_events that begin with s.
//
// Kernel: synth_event_ops, kernel/trace/trace_events_synth.c.
func synthKind() *dynKind {
	return &dynKind{name: synth.System, create: func(ft *Ftrace, command string) error {
		def, err := synth.ParseDynamic(command, ft.hasSynth)
		if err != nil || def == nil {
			return ft.logSynthFault(err)
		}
		return ft.addSynth(def)
	}}
}

// synthCommand does a line of synthetic_events. Deleting by it leaves what was
// recorded.
//
// Kernel: create_or_delete_synth_event.
func (ft *Ftrace) synthCommand(command string) error {
	def, remove, err := synth.Parse(command, ft.hasSynth)
	if err != nil || def == nil {
		return ft.logSynthFault(err)
	}
	if remove {
		return ft.deleteSynth(def.Name)
	}
	return ft.addSynth(def)
}

// Kernel: synth_event_delete.
func (ft *Ftrace) deleteSynth(name string) error {
	if e := ft.findSynth(name); e != nil {
		return e.free()
	}
	return fmt.Errorf("there is no synthetic event %q: %w", name, syscall.ENOENT)
}

// findSynth finds a synthetic event, nil if there is none.
//
// Kernel: find_synth_event.
func (ft *Ftrace) findSynth(name string) *synthEvent {
	for _, e := range ft.dynEvents {
		if e, ok := e.(*synthEvent); ok && e.def.Name == name {
			return e
		}
	}
	return nil
}

func (ft *Ftrace) hasSynth(name string) bool { return ft.findSynth(name) != nil }

// logSynthFault puts a fault of a definition into error_log.
func (ft *Ftrace) logSynthFault(err error) error {
	var fault *synth.Error
	if errors.As(err, &fault) && fault.Msg != "" {
		ft.top.errors.add(errorEntry{
			ns: ft.machine.Now(), location: synth.Location, message: fault.Msg, command: fault.Command, pos: fault.Pos,
		})
	}
	return err
}

// addSynth makes an event of a definition.
//
// Kernel: register_synth_event.
func (ft *Ftrace) addSynth(def *synth.Definition) error {
	id, err := ft.types.FreeID()
	if err != nil {
		return err
	}
	typ, err := def.NewType(id)
	if err != nil {
		return err
	}
	if err := ft.addEvent(typ); err != nil {
		return err
	}
	if s, ok := ft.machine.Kallsyms().ByName("trace_event_raw_event_synth"); ok {
		ft.probes[id] = s.Addr + s.Size/2
	}
	ft.addDynEvent(&synthEvent{ft: ft, def: def, typ: typ})
	return nil
}

func (e *synthEvent) kind() *dynKind { return e.ft.synthetic.kind }

func (e *synthEvent) show() string { return "s:" + synth.System + "/" + e.def.Show() }

// Kernel: synth_event_is_busy.
func (e *synthEvent) busy() bool { return e.users > 0 }

// Kernel: synth_event_release.
func (e *synthEvent) free() error {
	if e.busy() {
		return fmt.Errorf("synthetic event %s is generated: %w", e.def.Name, syscall.EBUSY)
	}
	if err := e.ft.removeEvent(e.typ); err != nil {
		return err
	}
	e.ft.dropDynEvent(e)
	return nil
}

// Kernel: synth_event_match.
func (e *synthEvent) match(system *string, name string, _ []string) bool {
	return name == e.def.Name && (system == nil || *system == synth.System)
}

// syntheticEventsFile is synthetic_events.
//
// Kernel: synth_events_fops.
func (ft *Ftrace) syntheticEventsFile() tracefile.Node {
	show := func() ([]byte, error) {
		var text []byte
		for _, e := range ft.dynEvents {
			if e, ok := e.(*synthEvent); ok {
				text = append(append(text, e.def.Show()...), '\n')
			}
		}
		return text, nil
	}
	tr := ft.top
	return tr.seq("synthetic_events", 0o640, show).
		OnTrunc(func() error { return tr.locked(func() error { return ft.releaseAllDynEvents(ft.synthetic.kind) }) }).
		OnWrite(func(p []byte) error {
			return tr.locked(func() error { return runCommands(string(p), ft.synthCommand) })
		})
}

// What a histogram's action asks.

func (e *synthEvent) Name() string { return e.def.Name }

func (e *synthEvent) NumFields() int { return len(e.def.Fields) }

func (e *synthEvent) SynthField(n int) hist.SynthField {
	f := &e.def.Fields[n]
	return hist.SynthField{
		Type: f.DeclType(), Size: f.Size, Signed: f.Signed,
		Text: f.Kind == synth.Text || f.Kind == synth.DynamicText, Dynamic: f.Dynamic(), Stack: f.Kind == synth.Stack,
	}
}

// Hold counts the actions that generate the event and the hists on it.
func (e *synthEvent) Hold(n int) { e.users += n }

// Generate lets the event happen in each instance that has it enabled, whichever
// the action is of. field says which of the values goes to each of its fields. A
// number that goes to a text is an address.
//
// Kernel: trace_synth, kernel/trace/trace_events_hist.c.
func (e *synthEvent) Generate(m *hist.Moment, values []hist.Value, field []int) {
	ft := e.ft
	if !ft.listening[e.typ.ID] {
		return
	}
	s := &ft.synthetic
	if s.depth == len(s.levels) {
		s.levels = append(s.levels, new(synthLevel))
	}
	l := s.levels[s.depth]
	s.depth++
	c := ft.machine.CPUs()[m.CPU]
	l.values, l.texts = l.values[:0], l.texts[:0]
	for n, at := range field {
		v := synth.Value{N: values[at].N, B: values[at].B}
		if size := e.def.Fields[n].TextSize(); size > 0 && v.B == nil {
			start := len(l.texts)
			l.texts = ft.appendStringAt(l.texts, c, v.N, size)
			if len(l.texts) > start {
				v.B = l.texts[start : len(l.texts)-1]
			}
		}
		l.values = append(l.values, v)
	}
	h := ft.synthCommon()
	h.Type = uint16(e.typ.ID)
	l.rec = e.def.Append(l.rec[:0], h, l.values)
	for tr := range ft.all {
		if !tr.events[e.typ.ID].enabled {
			continue
		}
		if tr.snap.allocated { // no event is open, and the rings may be exchanged
			tr.happen(c, e.typ, h, l.rec)
			continue
		}
		tr.rec.Nested(c.ID, func() { tr.happen(c, e.typ, h, l.rec) })
	}
	s.depth--
}

// synthCommon is the header of a synthetic event: that of the event that is open, but
// preemption is off for that, for the histogram and for the synthetic event itself. One
// is taken off, for tracepoints hold preemption off, and was of that event, too, unless
// it is a marker.
//
// Kernel: ring_buffer_lock_reserve and ring_buffer_nest_start,
// kernel/trace/ring_buffer.c; get_hist_pad, kernel/trace/trace_events_hist.c;
// tracing_gen_ctx_dec, include/linux/trace_events.h.
func (ft *Ftrace) synthCommon() event.Common {
	h := ft.synthetic.open.Unpreemptible().Unpreemptible()
	if ft.running == nil {
		return h
	}
	return h.Unpreemptible()
}

// appendStringAt appends the string at an address of the kernel or of the current
// task, cut so that with its NUL it has at most size bytes; nothing if it cannot be
// read.
//
// Kernel: fetch_store_string, kernel/trace/trace_probe_kernel.h; strncpy_from_user_nofault,
// mm/maccess.c.
func (ft *Ftrace) appendStringAt(dst []byte, c *machine.CPU, addr uint64, size int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, size)[:start+size]
	room := dst[start:]
	var n int
	if int64(addr) < 0 {
		n = ft.memory().Kernel(c, room, addr)
	} else {
		n = ft.memory().User(c, room, addr)
	}
	end := bytes.IndexByte(room[:n], 0)
	switch {
	case end >= 0:
	case n == size:
		end = size - 1
		room[end] = 0
	default:
		return dst[:start]
	}
	return dst[:start+end+1]
}
