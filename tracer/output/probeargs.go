package output

import (
	"strconv"
	"strings"

	"ftracelab/tracer/event"
)

// probeArg is an argument of a probe: a field of its event and how it is printed.
type probeArg struct {
	field      *event.Field
	before     string // " name="
	conversion string
	size       int // how many bytes an element has
	count      int // how many elements; 0: the argument is no array
}

// probeConversions are the conversions in the print fmt of a probe.
//
// Kernel: PRINT_TYPE_FMT_NAME, kernel/trace/trace_probe.c.
var probeConversions = [...]string{stringConversion, "%u", "%Lu", "%d", "%Ld", "0x%x", "0x%Lx", "'%c'", "%pS"}

const stringConversion = `\"%s\"`

// probeArgs reads the arguments of a probe's event from its print fmt. They are the
// fields behind those that tell the place. It returns false if the print fmt does not
// look like a probe's.
func probeArgs(t *event.Type) ([]probeArg, bool) {
	args := make([]probeArg, 0, len(t.Fields))
	text := t.PrintFmt
	for i := range t.Fields {
		f := &t.Fields[i]
		if strings.HasPrefix(f.Name, "__probe_") {
			continue
		}
		a := probeArg{field: f, before: " " + f.Name + "=", size: f.Size}
		var ok bool
		if _, text, ok = strings.Cut(text, a.before); !ok {
			return nil, false
		}
		conversions, _, array := strings.Cut(strings.TrimPrefix(text, "{"), "}")
		if array = array && text[0] == '{'; array {
			a.count = 1 + strings.Count(conversions, ",")
			a.size /= a.count
		}
		if a.conversion = findConversion(strings.TrimPrefix(text, "{")); a.conversion == "" {
			return nil, false
		}
		args = append(args, a)
	}
	return args, true
}

func findConversion(text string) string {
	for _, c := range probeConversions {
		if strings.HasPrefix(text, c) {
			return c
		}
	}
	return ""
}

// appendProbeArgs appends the arguments of a probe's hit.
//
// Kernel: trace_probe_print_args, kernel/trace/trace_probe.c.
func (p *Printer) appendProbeArgs(dst []byte, r *record) []byte {
	for i := range r.shape.args {
		a := &r.shape.args[i]
		dst = append(dst, a.before...)
		if a.count == 0 {
			dst = p.appendProbeValue(dst, r, a, a.field.Offset)
			continue
		}
		for n := range a.count {
			sep := byte(',')
			if n == 0 {
				sep = '{'
			}
			dst = p.appendProbeValue(append(dst, sep), r, a, a.field.Offset+n*a.size)
		}
		dst = append(dst, '}')
	}
	return dst
}

// appendProbeValue appends the value at an offset. If a string has no length, it could
// not be read when the probe was hit.
func (p *Printer) appendProbeValue(dst []byte, r *record, a *probeArg, off int) []byte {
	v := le(r.Data, off, min(a.size, 8))
	switch a.conversion {
	case stringConversion:
		if v>>16 == 0 {
			return append(dst, "(fault)"...)
		}
		dst = append(append(dst, '"'), text(r.Data, int(v&0xffff))...)
		return append(dst, '"')
	case "%d", "%Ld":
		shift := 64 - 8*min(a.size, 8)
		return strconv.AppendInt(dst, int64(v<<shift)>>shift, 10)
	case "0x%x", "0x%Lx":
		return strconv.AppendUint(append(dst, "0x"...), v, 16)
	case "'%c'":
		return append(dst, '\'', byte(v), '\'')
	case "%pS":
		return p.appendSymbolText(dst, 'S', v)
	}
	return strconv.AppendUint(dst, v, 10)
}
