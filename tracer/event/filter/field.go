package filter

import (
	"strings"

	"ftracelab/tracer/event"
)

// kind is what a field is to a filter; its C type says so.
//
// Kernel: FILTER_OTHER and its kin, include/linux/trace_events.h.
type kind uint8

const (
	number     kind = iota // of the field's size, whatever its type
	text                   // char array in place
	dynamic                // char array behind a __data_loc word
	relative               // char array behind a __rel_loc word
	pointer                // char *
	cpumask                // cpumask_t behind a __data_loc word
	currentCPU             // CPU and its kin
	comm                   // COMM, comm
	stack                  // stacktrace: nothing to compare with
)

func (k kind) isText() bool {
	return k == text || k == dynamic || k == relative || k == pointer || k == comm
}

// generic are the fields that every event has besides those of its record.
//
// Kernel: trace_define_generic_fields, kernel/trace/trace_events.c.
func generic(name string) (f event.Field, k kind, ok bool) {
	switch name {
	case "CPU", "cpu", "common_cpu":
		return event.Field{Name: name, Decl: "int " + name, Signed: true}, currentCPU, true
	case "COMM", "comm":
		return event.Field{Name: name, Decl: "char * " + name}, comm, true
	case "stacktrace", "STACKTRACE":
		return event.Field{Name: name, Decl: "char * " + name}, stack, true
	}
	return event.Field{}, 0, false
}

// find looks a field up: the event's own hides the generic one of that name.
//
// Kernel: trace_find_event_field, kernel/trace/trace_events.c.
func find(t *event.Type, name string) (f event.Field, k kind, ok bool) {
	if own := t.Field(name); own != nil {
		return *own, kindOf(own), true
	}
	return generic(name)
}

// kindOf tells a field's kind from its C type.
//
// Kernel: filter_assign_type, kernel/trace/trace_events_filter.c.
func kindOf(f *event.Field) kind {
	typ := cType(f)
	char := strings.Contains(typ, "char")
	switch {
	case strings.Contains(typ, "__data_loc") && char:
		return dynamic
	case strings.Contains(typ, "__data_loc") && strings.Contains(typ, "cpumask_t"):
		return cpumask
	case strings.Contains(typ, "__rel_loc") && char:
		return relative
	case f.IsArray() && char:
		return text
	case typ == "char *" || typ == "const char *":
		return pointer
	}
	return number
}

// cType is the declaration without the field's name, and without the brackets
// behind it.
func cType(f *event.Field) string {
	decl := f.Decl
	if strings.HasSuffix(decl, "]") {
		decl = decl[:max(strings.LastIndexByte(decl, '['), 0)]
	}
	return strings.TrimRight(strings.TrimSuffix(decl, f.Name), " ")
}
