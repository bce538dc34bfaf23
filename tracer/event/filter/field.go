package filter

import (
	"strings"

	"ftracelab/tracer/event"
)

// Kind says how a filter treats a field. The field's C type decides it.
//
// Kernel: FILTER_OTHER and its kin, include/linux/trace_events.h.
type Kind uint8

const (
	Number   Kind = iota // of the field's size, whatever its type
	Text                 // char array in place
	Dynamic              // char array behind a __data_loc word
	Relative             // char array behind a __rel_loc word
	Pointer              // char *
	CPUMask              // cpumask_t behind a __data_loc word
	CPU                  // CPU and its kin
	Comm                 // COMM, comm
	Stack                // stacktrace, a synthetic event's stack: nothing to compare with
)

// IsText reports whether a field of that kind is compared as text.
//
// Kernel: is_string_field, kernel/trace/trace.h.
func (k Kind) IsText() bool {
	return k == Text || k == Dynamic || k == Relative || k == Pointer || k == Comm
}

// generic are the fields that every event has besides those of its record. They
// have no bytes in it: their Size is 0.
//
// Kernel: trace_define_generic_fields, kernel/trace/trace_events.c.
func generic(name string) (f event.Field, k Kind, ok bool) {
	switch name {
	case "CPU", "cpu", "common_cpu":
		return event.Field{Name: name, Decl: "int " + name, Signed: true}, CPU, true
	case "COMM", "comm":
		return event.Field{Name: name, Decl: "char * " + name}, Comm, true
	case "stacktrace", "STACKTRACE":
		return event.Field{Name: name, Decl: "char * " + name}, Stack, true
	}
	return event.Field{}, 0, false
}

// Find looks a field up. A field of the event hides the generic field of the
// same name.
//
// Kernel: trace_find_event_field, kernel/trace/trace_events.c;
// synth_event_define_fields, kernel/trace/trace_events_synth.c.
func Find(t *event.Type, name string) (f event.Field, k Kind, ok bool) {
	own := t.Field(name)
	switch {
	case own == nil:
		return generic(name)
	case t.System == "synthetic" && own.Dynamic() && !own.IsText() && strings.Contains(own.Decl, "long["):
		return *own, Stack, true
	}
	return *own, kindOf(own), true
}

// kindOf tells a field's kind from its C type.
//
// Kernel: filter_assign_type, kernel/trace/trace_events_filter.c.
func kindOf(f *event.Field) Kind {
	typ := cType(f)
	char := strings.Contains(typ, "char")
	switch {
	case strings.Contains(typ, "__data_loc") && char:
		return Dynamic
	case strings.Contains(typ, "__data_loc") && strings.Contains(typ, "cpumask_t"):
		return CPUMask
	case strings.Contains(typ, "__rel_loc") && char:
		return Relative
	case f.IsArray() && char:
		return Text
	case typ == "char *" || typ == "const char *":
		return Pointer
	}
	return Number
}

// cType is the declaration without the field's name and the brackets after it.
func cType(f *event.Field) string {
	decl := f.Decl
	if strings.HasSuffix(decl, "]") {
		decl = decl[:max(strings.LastIndexByte(decl, '['), 0)]
	}
	return strings.TrimRight(strings.TrimSuffix(decl, f.Name), " ")
}
