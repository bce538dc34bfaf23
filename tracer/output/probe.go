package output

import (
	"bytes"
	"strconv"
	"strings"

	"ftracelab/tracer/event"
)

// appendSyscallEnter appends a system call with its arguments, if verbose with
// their types.
//
// Kernel: print_syscall_enter, kernel/trace/trace_syscalls.c.
func (p *Printer) appendSyscallEnter(dst []byte, r *record) []byte {
	dst = append(append(dst, r.shape.name...), '(')
	args := r.shape.typ.Fields
	if len(args) > 0 {
		args = args[1:] // the first is the number
	}
	for i := range args {
		f := &args[i]
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if p.cfg.Options&Verbose != 0 {
			dst = append(append(dst, declType(f.Decl)...), ' ')
		}
		dst = append(append(dst, f.Name...), ": "...)
		dst = strconv.AppendUint(dst, le64(r.Data, f.Offset), 16)
	}
	return append(dst, ")\n"...)
}

// declType is a declaration without its name.
func declType(decl string) string {
	for i := len(decl) - 1; i >= 0; i-- {
		if decl[i] == ' ' {
			return decl[:i]
		}
	}
	return decl
}

// appendProbe appends the hit of a kprobe, fprobe or uprobe: the place, then
// the arguments as the event's print format has them.
//
// Kernel: print_kprobe_event, print_kretprobe_event, kernel/trace/trace_kprobe.c,
// and the same of uprobes and fprobes.
func (p *Printer) appendProbe(dst []byte, r *record) []byte {
	dst = append(append(dst, r.shape.name...), ": ("...)
	first := r.u64(0)
	if r.shape.kind == probeReturn {
		dst = p.appendProbeIP(dst, r.u64(1), true)
		dst = p.appendProbeIP(append(dst, " <- "...), first, false)
	} else {
		dst = p.appendProbeIP(dst, first, true)
	}
	p.scratch = p.appendEvent(p.scratch[:0], r)
	if i := bytes.IndexByte(p.scratch, ')'); i >= 0 {
		return append(append(dst, p.scratch[i:]...), '\n')
	}
	return append(dst, ")\n"...)
}

// appendProbeIP appends a kernel address as a symbol, a user address as a number.
func (p *Printer) appendProbeIP(dst []byte, ip uint64, offset bool) []byte {
	if int64(ip) >= 0 && ip != 0 {
		return strconv.AppendUint(append(dst, "0x"...), ip, 16)
	}
	return p.appendIPWith(dst, ip, offset)
}

// appendSynthetic appends a synthetic event: its fields with blanks between
// them, where its format file has commas; if verbose, each with the conversion
// that prints it.
//
// Kernel: print_synth_event, kernel/trace/trace_events_synth.c.
//
// Departure: the names of the flags of a gfp_t are left out.
func (p *Printer) appendSynthetic(dst []byte, r *record) []byte {
	dst = append(append(dst, r.shape.name...), ':')
	fields := r.shape.typ.Fields
	for i := range fields {
		f := &fields[i]
		dst = append(dst, ' ')
		conversion := synthConversion(f)
		if p.cfg.Options&Verbose != 0 {
			dst = append(append(dst, conversion...), ' ')
		}
		dst = append(append(dst, f.Name...), '=')
		switch {
		case f.Offset+f.Size > len(r.Data):
		case strings.Contains(f.Decl, "char") && strings.Contains(f.Decl, "["):
			dst = append(dst, synthString(r.Data, f)...)
		case strings.HasPrefix(f.Decl, "__data_loc"):
			dst = p.appendSynthStack(dst, r.Data, f)
		case conversion == "%x":
			dst = strconv.AppendUint(dst, le(r.Data, f.Offset, min(8, f.Size)), 16)
		case f.Signed:
			shift := 64 - 8*min(8, f.Size)
			dst = strconv.AppendInt(dst, int64(le(r.Data, f.Offset, min(8, f.Size))<<shift)>>shift, 10)
		default:
			dst = strconv.AppendUint(dst, le(r.Data, f.Offset, min(8, f.Size)), 10)
		}
	}
	return append(dst, '\n')
}

func synthString(rec []byte, f *event.Field) []byte {
	if strings.HasPrefix(f.Decl, "__data_loc") {
		return text(rec, int(le32(rec, f.Offset)&0xffff))
	}
	return text(rec[f.Offset:f.Offset+f.Size], 0)
}

// appendSynthStack appends a stack, whose first word is its length.
func (p *Printer) appendSynthStack(dst, rec []byte, f *event.Field) []byte {
	dst = append(dst, "STACK:\n"...)
	stack, _ := located(rec, f, false)
	for off := 8; off+8 <= len(stack); off += 8 {
		dst = appendSymbol(append(dst, "=> "...), p.cfg.Symbols, le64(stack, off), true)
		dst = append(dst, '\n')
	}
	return dst
}

// synthConversion is the conversion for a field of a synthetic event.
//
// Kernel: synth_field_fmt.
func synthConversion(f *event.Field) string {
	decl := strings.TrimSuffix(f.Decl, " "+f.Name)
	switch decl {
	case "s64":
		return "%lld"
	case "u64":
		return "%llu"
	case "s32", "s16", "s8", "int", "char", "bool", "pid_t":
		return "%d"
	case "u32", "u16", "u8", "unsigned int", "unsigned char":
		return "%u"
	case "long":
		return "%ld"
	case "unsigned long":
		return "%lu"
	case "gfp_t":
		return "%x"
	}
	if strings.Contains(decl, "[") || strings.Contains(f.Decl, "[") {
		return "%s"
	}
	return "%llu"
}
