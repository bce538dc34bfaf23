package dynevent

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/hist"
	"ftracelab/tracer/event/synth"
)

// SynthEvent is a synthetic event that is defined.
//
// Kernel: struct synth_event, kernel/trace/trace_synth.h.
type SynthEvent struct {
	d     *Events
	def   *synth.Definition
	typ   *event.Type
	users int // how many actions generate it, and how many hists are on it
}

// synthetic is the state of the synthetic events.
type synthetic struct {
	kind *Kind
	open OpenEvent // the event whose histograms act now
	// While an event is open, a synthetic event is made; while that is open, another one
	// may be made. Each level of this nesting has its own memory.
	depth  int
	levels []*synthLevel
}

type synthLevel struct {
	values []synth.Value
	texts  []byte // the texts of values that are addresses
	rec    []byte
}

// synthKind is the kind of the lines of dynamic_events that begin with s.
//
// Kernel: synth_event_ops, kernel/trace/trace_events_synth.c.
func synthKind() *Kind {
	return &Kind{Name: synth.System, Create: func(d *Events, command string) error {
		def, err := synth.ParseDynamic(command, d.hasSynth)
		if err != nil || def == nil {
			return d.logSynthFault(err)
		}
		return d.addSynth(def)
	}}
}

// SynthCommand carries out a line that is written to synthetic_events. If it deletes an
// event, the recorded events stay in the buffers.
//
// Kernel: create_or_delete_synth_event.
func (d *Events) SynthCommand(command string) error {
	def, remove, err := synth.Parse(command, d.hasSynth)
	if err != nil || def == nil {
		return d.logSynthFault(err)
	}
	if remove {
		return d.DeleteSynth(def.Name)
	}
	return d.addSynth(def)
}

// Kernel: synth_event_delete.
func (d *Events) DeleteSynth(name string) error {
	if e := d.FindSynth(name); e != nil {
		return e.Free()
	}
	return fmt.Errorf("there is no synthetic event %q: %w", name, syscall.ENOENT)
}

// FindSynth returns the synthetic event with that name; nil if there is none.
//
// Kernel: find_synth_event.
func (d *Events) FindSynth(name string) *SynthEvent {
	for _, e := range d.list {
		if e, ok := e.(*SynthEvent); ok && e.def.Name == name {
			return e
		}
	}
	return nil
}

func (d *Events) hasSynth(name string) bool { return d.FindSynth(name) != nil }

// logSynthFault puts a fault of a definition into error_log and returns err.
func (d *Events) logSynthFault(err error) error {
	var fault *synth.Error
	if errors.As(err, &fault) && fault.Msg != "" {
		d.host.LogError(synth.Location, fault.Msg, fault.Command, fault.Pos)
	}
	return err
}

// addSynth makes an event from a definition.
//
// Kernel: register_synth_event.
func (d *Events) addSynth(def *synth.Definition) error {
	id, err := d.types.FreeID()
	if err != nil {
		return err
	}
	typ, err := def.NewType(id)
	if err != nil {
		return err
	}
	if err := d.host.AddEvent(typ, nil); err != nil {
		return err
	}
	if s, ok := d.machine.Kallsyms().ByName("trace_event_raw_event_synth"); ok {
		d.host.SetInnermost(typ, s.Addr+s.Size/2)
	}
	d.Add(&SynthEvent{d: d, def: def, typ: typ})
	return nil
}

func (e *SynthEvent) Kind() *Kind { return e.d.synthetic.kind }

func (e *SynthEvent) Show() string { return "s:" + synth.System + "/" + e.def.Show() }

// Kernel: synth_event_is_busy.
func (e *SynthEvent) Busy() bool { return e.users > 0 }

// Kernel: synth_event_release.
func (e *SynthEvent) Free() error {
	if e.Busy() {
		return fmt.Errorf("synthetic event %s is generated: %w", e.def.Name, syscall.EBUSY)
	}
	if err := e.d.host.RemoveEvent(e.typ); err != nil {
		return err
	}
	e.d.Drop(e)
	return nil
}

// Kernel: synth_event_match.
func (e *SynthEvent) Match(system *string, name string, _ []string) bool {
	return name == e.def.Name && (system == nil || *system == synth.System)
}

// syntheticEventsFile returns the file synthetic_events.
//
// Kernel: synth_events_fops.
func (d *Events) syntheticEventsFile() tracefile.Node {
	show := func() ([]byte, error) {
		var text []byte
		for _, e := range d.list {
			if e, ok := e.(*SynthEvent); ok {
				text = append(append(text, e.def.Show()...), '\n')
			}
		}
		return text, nil
	}
	f := d.host.Seq("synthetic_events", 0o640, show).
		OnTrunc(func() error { return d.host.Locked(func() error { return d.releaseAllDynEvents(d.synthetic.kind) }) }).
		OnWrite(func(p []byte) error {
			return d.host.Locked(func() error { return runCommands(string(p), d.SynthCommand) })
		})
	f.Defines = true
	return f
}

// OpenEvent is an event whose histograms act.
type OpenEvent struct {
	Header event.Common
	Around
}

// Open sets the event whose histograms act from now on. It returns the event that was
// set before; the caller sets that one again afterwards.
func (d *Events) Open(e OpenEvent) (outer OpenEvent) {
	outer, d.synthetic.open = d.synthetic.open, e
	return outer
}

// Type returns the type of the event that e defines.
func (e *SynthEvent) Type() *event.Type { return e.typ }

// Append appends a record of the event with one value for each field.
func (e *SynthEvent) Append(dst []byte, h event.Common, values []synth.Value) []byte {
	return e.def.Append(dst, h, values)
}

// What a histogram's action asks.

func (e *SynthEvent) Name() string { return e.def.Name }

func (e *SynthEvent) NumFields() int { return len(e.def.Fields) }

func (e *SynthEvent) SynthField(n int) hist.SynthField {
	f := &e.def.Fields[n]
	return hist.SynthField{
		Type: f.DeclType(), Size: f.Size, Signed: f.Signed,
		Text: f.Kind == synth.Text || f.Kind == synth.DynamicText, Dynamic: f.Dynamic(), Stack: f.Kind == synth.Stack,
	}
}

// Hold counts the actions that generate the event and the hists on it.
func (e *SynthEvent) Hold(n int) { e.users += n }

// Generate makes the event happen in each instance that has it enabled, no matter to
// which instance the action belongs. field[n] is the index of the value for field n. If
// a field is a text and its value is a number, the number is the address of the text.
//
// Kernel: trace_synth, kernel/trace/trace_events_hist.c.
func (e *SynthEvent) Generate(m *hist.Moment, values []hist.Value, field []int) {
	d := e.d
	if !d.host.Listens(e.typ) {
		return
	}
	s := &d.synthetic
	if s.depth == len(s.levels) {
		s.levels = append(s.levels, new(synthLevel))
	}
	l := s.levels[s.depth]
	s.depth++
	c := d.machine.CPUs()[m.CPU]
	l.values, l.texts = l.values[:0], l.texts[:0]
	for n, at := range field {
		v := synth.Value{N: values[at].N, B: values[at].B}
		if size := e.def.Fields[n].TextSize(); size > 0 && v.B == nil {
			start := len(l.texts)
			l.texts = d.appendStringAt(l.texts, c, v.N, size)
			if len(l.texts) > start {
				v.B = l.texts[start : len(l.texts)-1]
			}
		}
		l.values = append(l.values, v)
	}
	h := d.synthCommon()
	h.Type = uint16(e.typ.ID)
	l.rec = e.def.Append(l.rec[:0], h, l.values)
	around := s.open.Around
	d.host.EmitNested(c, e.typ, h, l.rec, around)
	s.depth--
}

// synthCommon returns the header of a synthetic event. It is the header of the open
// event with a higher preempt count. Preemption is disabled three more times: for the
// open event, for the histogram and for the synthetic event itself. The kernel takes one
// off the count, because tracepoints disable preemption. It has done the same in the
// header of the open event, so the two cancel out, unless the open event is a marker.
//
// Kernel: ring_buffer_lock_reserve and ring_buffer_nest_start,
// kernel/trace/ring_buffer.c; get_hist_pad, kernel/trace/trace_events_hist.c;
// tracing_gen_ctx_dec, include/linux/trace_events.h.
func (d *Events) synthCommon() event.Common {
	h := d.synthetic.open.Header.Unpreemptible().Unpreemptible()
	if d.synthetic.open.Outside {
		return h
	}
	return h.Unpreemptible()
}

// appendStringAt appends the string at an address of the kernel or of the current task,
// and its NUL. It cuts the string so that both take at most size bytes. It appends
// nothing if the string cannot be read.
//
// Kernel: fetch_store_string, kernel/trace/trace_probe_kernel.h; strncpy_from_user_nofault,
// mm/maccess.c.
func (d *Events) appendStringAt(dst []byte, c *machine.CPU, addr uint64, size int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, size)[:start+size]
	room := dst[start:]
	n := d.read(c, room, addr)
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
