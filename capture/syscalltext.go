package capture

import (
	"bytes"

	"ftracelab/tracer/event"
)

// syscall makes the record of a system call. Its text does not begin with the name of
// the event:
//
//	sys_dup2(oldfd: a, newfd: 1)   sys_enter_dup2
//	sys_dup2 -> 0x1                sys_exit_dup2
//
// done is false if body is neither of them.
//
// Kernel: print_syscall_enter and print_syscall_exit, kernel/trace/trace_syscalls.c.
func (r *rebuilder) syscall(h *textRecord, body []byte) (done bool, err error) {
	rest, ok := bytes.CutPrefix(body, []byte("sys_"))
	if !ok {
		return false, nil
	}
	n := 0
	for n < len(rest) && (rest[n] == '_' || rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	name, rest := rest[:n], rest[n:]
	const fixed = event.CommonSize + 8 // the number, aligned
	prefix, size := "", fixed
	switch {
	case bytes.HasPrefix(rest, []byte("(")):
		prefix = "sys_enter_"
		if args := rest[1:]; len(args) > 1 {
			size += 8 * (1 + bytes.Count(args, []byte(", ")))
		}
	case bytes.HasPrefix(rest, []byte(" -> 0x")):
		prefix, size = "sys_exit_", fixed+8
	default:
		return false, nil
	}
	r.name = append(append(r.name[:0], prefix...), name...)
	s := r.shapes[string(r.name)]
	if s == nil {
		s = &shape{typ: r.b.types.byName[string(r.name)]}
		if s.typ == nil {
			if s.typ, err = r.b.types.synthetic("syscalls", string(r.name)); err != nil {
				return false, err
			}
			s.unknown = true
		}
		r.shapes[string(r.name)] = s
	}
	if !s.unknown {
		size = s.typ.Size
	}
	r.record(h, s.typ, size)
	return true, nil
}
