package synth

import (
	"strings"

	"ftracelab/tracer/event"
)

// System is the event system of synthetic events.
const System = "synthetic"

// maxFields is how many fields an event may have.
//
// Kernel: SYNTH_FIELDS_MAX, kernel/trace/trace_synth.h.
const maxFields = 64

// Definition is a synthetic event as it was defined. It does not change any more.
//
// Kernel: struct synth_event, kernel/trace/trace_synth.h.
type Definition struct {
	Name   string
	Fields []Field

	words int // slots of 8 bytes in a record
}

// Kind is what a field holds.
type Kind uint8

const (
	Number      Kind = iota
	Text             // a string that lies in the slots, in StringSize bytes
	DynamicText      // a string of any length
	Stack            // addresses, after their count
)

// Field is one field.
//
// Kernel: struct synth_field, kernel/trace/trace_synth.h.
type Field struct {
	Name   string
	Type   string // "pid_t", "char[16]", "unsigned long[]"
	Kind   Kind
	Size   int // in bytes; for DynamicText and Stack, the size of the location word
	Signed bool

	slot int // its first slot
}

// Dynamic reports whether the field's content comes after the slots.
func (f *Field) Dynamic() bool { return f.Kind == DynamicText || f.Kind == Stack }

// TextSize is how long a text may be, its NUL included; 0 if the field is no text.
func (f *Field) TextSize() int {
	switch f.Kind {
	case Text:
		return StringSize
	case DynamicText:
		return maxText
	}
	return 0
}

// DeclType is the type as the format file has it.
//
// Kernel: the type of struct synth_field.
func (f *Field) DeclType() string {
	if f.Dynamic() {
		return "__data_loc " + f.Type
	}
	return f.Type
}

// decl is the field's line in the format file. The length of a char[N] is missing there.
//
// Kernel: f_show, kernel/trace/trace_events.c.
func (f *Field) decl() string {
	typ := f.DeclType()
	if n := strings.IndexByte(typ, '['); n >= 0 && !f.Dynamic() {
		return typ[:n] + " " + f.Name + "[]"
	}
	return typ + " " + f.Name
}

// define makes a definition of its fields and gives each its slots.
//
// Kernel: synth_event_define_fields.
func define(name string, fields []Field) *Definition {
	d := &Definition{Name: name, Fields: fields}
	for i := range fields {
		f := &fields[i]
		f.slot = d.words
		if f.Kind == Text {
			d.words += StringSize / slotSize
		} else {
			d.words++
		}
	}
	return d
}

// NewType makes the event type, with an id that the caller has found.
func (d *Definition) NewType(id int) (*event.Type, error) {
	fields := make([]event.Field, len(d.Fields))
	for i := range d.Fields {
		f := &d.Fields[i]
		fields[i] = event.Field{Name: f.Name, Decl: f.decl(), Offset: f.offset(), Size: f.Size, Signed: f.Signed}
	}
	return event.NewType(id, System, d.Name, d.printFmt(), fields)
}

// printFmt is the format file's print fmt. No record is printed with it: it has
// commas where the text has blanks.
//
// Kernel: __set_synth_event_print_fmt.
func (d *Definition) printFmt() string {
	var format, args strings.Builder
	for i := range d.Fields {
		f := &d.Fields[i]
		if i > 0 {
			format.WriteString(", ")
		}
		format.WriteString(f.Name + "=" + Conversion(f.Type))
		switch f.Kind {
		case DynamicText:
			args.WriteString(", __get_str(" + f.Name + ")")
		case Stack:
			args.WriteString(", __get_stacktrace(" + f.Name + ")")
		default:
			args.WriteString(", REC->" + f.Name)
		}
	}
	return `"` + format.String() + `"` + args.String()
}

// Show is the event's line in synthetic_events. With s:synthetic/ before it, it is
// the line in dynamic_events.
//
// Kernel: __synth_event_show.
func (d *Definition) Show() string {
	var text strings.Builder
	text.WriteString(d.Name + "\t")
	for i := range d.Fields {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(d.Fields[i].Type + " " + d.Fields[i].Name)
	}
	return text.String()
}
