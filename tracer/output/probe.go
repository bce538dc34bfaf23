package output

import (
	"strconv"
)

// appendSyscallEnter appends a system call with its arguments. With the option verbose
// it adds their types.
//
// Kernel: print_syscall_enter, kernel/trace/trace_syscalls.c.
func (p *Printer) appendSyscallEnter(dst []byte, r *record) []byte {
	dst = append(append(dst, r.shape.name...), '(')
	args := r.shape.typ.Fields
	if len(args) > 0 {
		args = args[1:] // the first one is the number of the system call
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

// declType gives the type in a declaration, without the name.
func declType(decl string) string {
	for i := len(decl) - 1; i >= 0; i-- {
		if decl[i] == ' ' {
			return decl[:i]
		}
	}
	return decl
}

// appendProbe appends the hit of a probe: where it was hit, then the arguments.
//
// Kernel: print_kprobe_event, print_kretprobe_event, kernel/trace/trace_kprobe.c,
// and the same of uprobes, fprobes and eprobes.
func (p *Printer) appendProbe(dst []byte, r *record) []byte {
	dst = append(append(dst, r.shape.name...), ": ("...)
	switch r.shape.kind {
	case probeReturn:
		dst = p.appendProbeIP(dst, r.u64(1), true)
		dst = p.appendProbeIP(append(dst, " <- "...), r.u64(0), false)
	case eventProbe:
		dst = append(dst, r.shape.probed...)
	default:
		dst = p.appendProbeIP(dst, r.u64(0), true)
	}
	return append(p.appendProbeArgs(append(dst, ')'), r), '\n')
}

// appendProbeIP appends a kernel address as a symbol, a user address as a number.
func (p *Printer) appendProbeIP(dst []byte, ip uint64, offset bool) []byte {
	if int64(ip) >= 0 && ip != 0 {
		return strconv.AppendUint(append(dst, "0x"...), ip, 16)
	}
	return p.appendIPWith(dst, ip, offset)
}
