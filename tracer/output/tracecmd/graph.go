package tracecmd

import (
	"fmt"
	"strings"

	"ftracelab/tracer/event"
)

// appendGraphEntry prints the beginning of a function. If the next record of all CPUs
// is its return, the function is a leaf, and both become one line.
//
// Departure: trace-cmd 3.1.6 also accepts the return of the same function on another
// CPU if the tasks have the same pid, as all idle tasks do. It then uses a record that
// it has freed, and may lose others. Here the return has to be on the same CPU.
func (p *Printer) appendGraphEntry(dst []byte, r *reader) ([]byte, error) {
	e := &r.next
	fn, depth, pid, cpu := value(e, "func"), value(e, "depth"), event.ParseCommon(e.Data).PID, e.CPU
	lost := r.lost
	more, err := r.peek() // now e points to the entry that follows
	leaf := err == nil && more && e.Type.System == "ftrace" && e.Type.Name == "funcgraph_exit" &&
		e.CPU == cpu && event.ParseCommon(e.Data).PID == pid && value(e, "func") == fn
	name := p.syms.name(fn)
	if name == "" {
		name = fmt.Sprintf("%x", fn)
	}
	indent := strings.Repeat("  ", int(min(depth, maxDepth)))
	if !leaf {
		return fmt.Appendf(dst, "             |  %s%s() {", indent, name), err
	}
	r.full, r.lost = false, lost
	dst = appendDuration(dst, value(e, "rettime")-value(e, "calltime"))
	return fmt.Appendf(dst, "%s%s();", indent, name), nil
}

// maxDepth limits the indentation. The kernel's shadow stack is never that deep.
const maxDepth = 4096

// appendGraphExit prints the end of a function.
func (p *Printer) appendGraphExit(dst []byte, r *reader) ([]byte, error) {
	e := &r.next
	dst = appendDuration(dst, value(e, "rettime")-value(e, "calltime"))
	return fmt.Appendf(dst, "%s}", strings.Repeat("  ", int(min(value(e, "depth"), maxDepth)))), nil
}

// appendDuration prints a duration, with a mark in front of it if it is long.
func appendDuration(dst []byte, ns uint64) []byte {
	sign := ' '
	for _, s := range []struct {
		above uint64
		sign  rune
	}{{1_000_000_000, '$'}, {1_000_000, '#'}, {100_000, '!'}, {10_000, '+'}} {
		if ns > s.above {
			sign = s.sign
			break
		}
	}
	usecs := fmt.Sprint(ns / 1000)
	if len(usecs) < 7 {
		usecs += fmt.Sprintf(".%03d", ns%1000)
	}
	return fmt.Appendf(dst, "%c %s us %*s|  ", sign, usecs, max(7-len(usecs), 0), "")
}
