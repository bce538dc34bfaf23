package output

import (
	"strconv"
	"strings"

	"ftracelab/tracer/event"
)

// fieldForm says how a field is printed with the option fields.
//
// Kernel: enum with FILTER_OTHER …, include/linux/trace_events.h.
type fieldForm uint8

const (
	numberField fieldForm = iota
	fixedString
	locString    // __data_loc char[]
	relLocString // __rel_loc char[]
	pointerString
	locArray    // __data_loc of something else
	relLocArray // __rel_loc of something else
	invalidType
)

// formOf classifies a field by its declaration.
//
// Kernel: filter_assign_type, kernel/trace/trace_events_filter.c.
func formOf(t *event.Type, f *event.Field) fieldForm {
	decl := declType(f.Decl)
	char := strings.Contains(decl, "char")
	loc, rel := strings.Contains(decl, "__data_loc"), strings.Contains(decl, "__rel_loc")
	switch {
	case loc && char:
		return locString
	case loc && strings.Contains(decl, "cpumask_t"):
		return invalidType
	case rel && char:
		return relLocString
	case char && strings.Contains(f.Decl, "["):
		return fixedString
	case decl == "char *" || decl == "const char *":
		return pointerString
	case loc && t.System == "synthetic": // a stack
		return invalidType
	case loc:
		return locArray
	case rel:
		return relLocArray
	}
	return numberField
}

// lastType is the id behind that of the last of ftrace's own entries, which the first event
// gets.
//
// Kernel: __TRACE_LAST_TYPE, kernel/trace/trace.h.
const lastType = 20

// appendFields appends the fields of an entry by name instead of its text. The kernel
// does not find the fields of ftrace's own entries, because it looks for their types at
// the wrong end of its list. Here they are not found either. It takes the first event, whose
// id follows those of ftrace's own, for one of them.
//
// Kernel: print_event_fields and print_fields, kernel/trace/trace_output.c.
func (p *Printer) appendFields(dst []byte, r *record) []byte {
	s := r.shape
	if s.typ == nil || s.typ.System == "ftrace" || r.common.Type == lastType {
		dst = padded(append(dst, "UNKNOWN TYPE "...), uint64(r.common.Type), 0)
		return append(dst, '\n')
	}
	if s.fields == nil {
		for i := range s.typ.Fields {
			s.fields = append(s.fields, formOf(s.typ, &s.typ.Fields[i]))
		}
	}
	dst = append(append(dst, s.typ.Name...), ':')
	if len(s.typ.Fields) == 0 {
		return append(dst, "No fields found\n"...)
	}
	for i := range s.typ.Fields {
		f := &s.typ.Fields[i]
		dst = append(append(append(dst, ' '), f.Name...), '=')
		if f.Offset+f.Size > len(r.Data) {
			dst = append(dst, overflow...)
			continue
		}
		dst = p.appendField(dst, r.Data, f, s.fields[i])
	}
	return append(dst, '\n')
}

const overflow = "<OVERFLOW>"

func (p *Printer) appendField(dst, data []byte, f *event.Field, form fieldForm) []byte {
	value := data[f.Offset : f.Offset+f.Size]
	switch form {
	case fixedString:
		return append(dst, text(value, 0)...)
	case locString, relLocString, locArray, relLocArray:
		part, ok := located(data, f, form == relLocString || form == relLocArray)
		switch {
		case !ok:
			return append(dst, overflow...)
		case form == locString || form == relLocString:
			return append(dst, text(part, 0)...)
		}
		return appendBytes(dst, part)
	case pointerString:
		return p.appendPointerString(dst, le(value, 0, f.Size))
	case invalidType:
		return append(dst, "<INVALID-TYPE>"...)
	}
	return appendNumberField(dst, le(value, 0, min(8, f.Size)), f.Size)
}

// located gives the part of a record to which a __data_loc or __rel_loc word points.
func located(data []byte, f *event.Field, relative bool) ([]byte, bool) {
	loc := le32(data, f.Offset)
	off, n := int(loc&0xffff), int(loc>>16)
	if relative {
		off += f.Offset + 4
	}
	if off+n > len(data) {
		return nil, false
	}
	return data[off : off+n], true
}

func appendBytes(dst, b []byte) []byte {
	for i, c := range b {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = hexPadded(dst, uint64(c), 2)
	}
	return dst
}

func (p *Printer) appendPointerString(dst []byte, addr uint64) []byte {
	dst = hexPadded(append(dst, "(0x"...), addr, 16)
	if p.cfg.String != nil {
		if s, ok := p.cfg.String(addr); ok {
			dst = append(append(dst, ':'), s...)
		}
	}
	return append(dst, ')')
}

func appendNumberField(dst []byte, v uint64, size int) []byte {
	switch size {
	case 1:
		if c := byte(v); c >= 0xa0 || c >= ' ' && c < 0x7f {
			dst = append(dst, '\'', c, '\'')
		}
		dst = strconv.AppendUint(append(dst, '('), v, 10)
		return append(dst, ')')
	case 2, 4, 8:
		dst = strconv.AppendUint(append(dst, "0x"...), v, 16)
		n := int64(v)
		if size == 4 {
			n = int64(int32(v))
		}
		dst = strconv.AppendInt(append(dst, " ("...), n, 10)
		return append(dst, ')')
	}
	return append(dst, "<INVALID-SIZE>"...)
}
