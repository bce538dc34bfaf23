package output

import (
	"strconv"
	"strings"
	"sync"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/synth"
)

// appendSynthetic appends a synthetic event. There are blanks between its fields,
// although its format file has commas there. With the option verbose, the conversion
// that prints a field is shown, too.
//
// Kernel: print_synth_event, kernel/trace/trace_events_synth.c.
func (p *Printer) appendSynthetic(dst []byte, r *record) []byte {
	dst = append(append(dst, r.shape.name...), ": "...)
	fields := r.shape.typ.Fields
	for i := range fields {
		f := &fields[i]
		typ := synthType(f)
		conversion := synth.Conversion(typ)
		if p.cfg.Options&Verbose != 0 {
			dst = append(append(dst, conversion...), ' ')
		}
		dst = append(append(dst, f.Name...), '=')
		space := " "
		if i == len(fields)-1 {
			space = ""
		}
		switch {
		case f.Offset+f.Size > len(r.Data):
			dst = append(dst, space...)
		case conversion != "%s":
			dst = appendSynthNumber(dst, r.Data, f, conversion)
			dst = append(dst, space...)
			if typ == "gfp_t" { // the names of the flags come behind the blank, not before it
				dst = append(appendGFPFlags(append(dst, " ("...), le(r.Data, f.Offset, 4)), ')')
			}
		case strings.Contains(typ, "char["):
			dst = append(append(dst, synthString(r.Data, f)...), space...)
		default:
			dst = p.appendSynthStack(dst, r.Data, f)
		}
	}
	return append(dst, '\n')
}

// synthType gives the type in the declaration of a field.
func synthType(f *event.Field) string {
	typ := strings.TrimPrefix(f.Decl, "__data_loc ")
	if brackets, ok := strings.CutSuffix(typ, " "+f.Name+"[]"); ok {
		return brackets + "[]"
	}
	return strings.TrimSuffix(typ, " "+f.Name)
}

// appendSynthNumber appends a number as printf would. A number of less than 32 bits is
// never negative there, because it is passed without its sign.
//
// Kernel: print_synth_event_num_val.
func appendSynthNumber(dst, data []byte, f *event.Field, conversion string) []byte {
	v := le(data, f.Offset, min(8, f.Size))
	switch conversion {
	case "%x":
		return strconv.AppendUint(dst, v, 16)
	case "%d":
		return strconv.AppendInt(dst, int64(int32(v)), 10)
	case "%ld", "%lld":
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendUint(dst, v, 10)
}

// synthString gives a string. A string that lies in the field itself ends where its
// slots end, whatever size the field is said to have.
func synthString(data []byte, f *event.Field) []byte {
	if f.Dynamic() {
		return text(data, int(le32(data, f.Offset)&0xffff))
	}
	return text(data[f.Offset:min(f.Offset+synth.StringSize, len(data))], 0)
}

// appendSynthStack appends a stack. The first word of the field is its length.
func (p *Printer) appendSynthStack(dst, data []byte, f *event.Field) []byte {
	dst = append(dst, "STACK:\n"...)
	stack, _ := located(data, f, false)
	for off := 8; off+8 <= len(stack); off += 8 {
		dst = appendSymbol(append(dst, "=> "...), p.cfg.Symbols, le64(stack, off), true)
		dst = append(dst, '\n')
	}
	return dst
}

// gfpNames is the type of a record that holds a gfp_t alone, and prints its flags.
var gfpNames = sync.OnceValue(func() *event.Type {
	t, err := event.NewType(0, synth.System, "gfp_t", `"%s", `+events.GFPFlags,
		[]event.Field{{Name: "gfp_flags", Decl: "gfp_t gfp_flags", Offset: event.CommonSize, Size: 4}})
	if err != nil {
		panic("output: invariant: " + err.Error())
	}
	return t
})

// appendGFPFlags appends the names of the flags in a gfp_t; it appends nothing if none
// is set.
//
// Kernel: __def_gfpflag_names, include/trace/events/mmflags.h.
func appendGFPFlags(dst []byte, flags uint64) []byte {
	if flags == 0 {
		return dst
	}
	var data [event.CommonSize + 4]byte
	for n := range 4 {
		data[event.CommonSize+n] = byte(flags >> (8 * n))
	}
	return gfpNames().AppendText(dst, data[:], nil)
}
