package tracecmd

import (
	"fmt"
	"strings"

	"ftracelab/tracer/event"
)

// appendGraphEntry prints a function that begins. If the next record of all is its
// return it is a leaf, and both are one line.
//
// Departure: trace-cmd 3.1.6 also takes the return of the same function on another CPU
// if the tasks have the same pid, as the idle tasks have. It then uses a record that it
// has freed, and may lose others; here the return has to be on the same CPU.
func (p *Printer) appendGraphEntry(dst []byte, r *reader) ([]byte, error) {
	e := &r.next
	fn, depth, pid, cpu := value(e, "func"), value(e, "depth"), event.ParseCommon(e.Data).PID, e.CPU
	lost := r.lost
	more, err := r.peek() // e is the next one now
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

// maxDepth bounds the indentation; the kernel's stack of returns is shorter.
const maxDepth = 4096

// appendGraphExit prints a function that ends.
func (p *Printer) appendGraphExit(dst []byte, r *reader) ([]byte, error) {
	e := &r.next
	dst = appendDuration(dst, value(e, "rettime")-value(e, "calltime"))
	return fmt.Appendf(dst, "%s}", strings.Repeat("  ", int(min(value(e, "depth"), maxDepth)))), nil
}

// appendDuration prints a sign for a long time, and the time.
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
