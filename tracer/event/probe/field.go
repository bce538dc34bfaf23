package probe

import (
	"strings"

	"ftracelab/tracer/event"
)

// attachedField finds a field of the event to which a probe is attached. It does not
// look at the common fields.
//
// Kernel: parse_trace_event_arg, kernel/trace/trace_probe.c.
func attachedField(t *event.Type, name string) *event.Field {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// fieldKind says how a field of the attached event is loaded: as a number, or as the
// address of a string.
//
// Kernel: filter_assign_type, kernel/trace/trace_events_filter.c.
type fieldKind uint8

const (
	fieldNumber  fieldKind = iota
	fieldDataLoc           // a string: the location word tells its offset from the record's start
	fieldRelLoc            // a string: the location word tells its offset from the word
	fieldInPlace           // a string: the bytes of the field itself
	fieldPointer           // a string: its address is the value of the field
)

func kindOfField(f *event.Field) fieldKind {
	i := strings.LastIndex(f.Decl, f.Name)
	if i < 0 {
		return fieldNumber
	}
	typ := strings.TrimSpace(f.Decl[:i] + f.Decl[i+len(f.Name):])
	char := strings.Contains(typ, "char")
	switch {
	case char && strings.Contains(typ, "__data_loc"):
		return fieldDataLoc
	case char && strings.Contains(typ, "__rel_loc"):
		return fieldRelLoc
	case char && strings.Contains(typ, "["):
		return fieldInPlace
	case typ == "char *" || typ == "const char *":
		return fieldPointer
	}
	return fieldNumber
}

// value loads a field of a record.
//
// Kernel: get_event_field, kernel/trace/trace_eprobe.c.
func (k fieldKind) value(f *event.Field, data []byte) uint64 {
	switch k {
	case fieldDataLoc:
		return localMemory + f.Uint(data)&0xffff
	case fieldRelLoc:
		return localMemory + uint64(f.Offset) + f.Uint(data)&0xffff
	case fieldInPlace:
		return localMemory + uint64(f.Offset)
	}
	return uint64(f.Int(data))
}
