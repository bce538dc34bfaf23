package tracecmd

import (
	"fmt"
	"strings"
)

// appendFunction prints a function. It is indented below its caller if that was seen on
// the same CPU.
func (p *Printer) appendFunction(dst []byte, e *Entry) []byte {
	ip, parentIP := value(e, "ip"), value(e, "parent_ip")
	name, parent := p.syms.name(ip), p.syms.name(parentIP)
	depth := 0
	if parent != "" {
		depth = p.depth(e.CPU, parent, name)
	}
	dst = append(dst, strings.Repeat("   ", depth)...)
	if name == "" {
		return fmt.Appendf(dst, "0x%x", ip)
	}
	return append(dst, name...)
}

// depth finds the parent in the list that is taken for the stack of a CPU, puts the
// child behind it, and gives the parent's place. Functions further down the list stay
// there and may still be found later.
func (p *Printer) depth(cpu int, parent, child string) int {
	stack := p.stacks[cpu]
	for i := 0; i < len(stack) && stack[i] != ""; i++ {
		if stack[i] == parent {
			p.stacks[cpu] = put(stack, i+1, child)
			return i
		}
	}
	p.stacks[cpu] = put(put(stack, 0, parent), 1, child)
	return 0
}

// put sets an element of the list. A function without a name is left out.
func put(stack []string, i int, name string) []string {
	if name == "" {
		return stack
	}
	for len(stack) <= i {
		stack = append(stack, "")
	}
	stack[i] = name
	return stack
}

// appendRepeats prints func_repeats.
func (p *Printer) appendRepeats(dst []byte, e *Entry) []byte {
	dst = p.appendFunction(dst, e)
	dst = fmt.Appendf(dst, " (count: %d  last_ts: ", value(e, "count"))
	t := e.Time + uint64(p.cfg.Offset) - (value(e, "top_delta_ts")<<32 | value(e, "bottom_delta_ts"))
	t = (t + 500) / 1000
	return fmt.Appendf(dst, "%5d.%06d)", t/1_000_000, t%1_000_000)
}

// appendStack prints a kernel stack, up to the end of the record.
func (p *Printer) appendStack(dst []byte, e *Entry) []byte {
	dst = append(dst, "<stack trace >\n"...)
	for _, addr := range p.longs(e, "caller") {
		if addr == ^uint64(0) || uint32(addr) == ^uint32(0) {
			break
		}
		if name := p.syms.name(addr); name != "" {
			dst = fmt.Appendf(dst, "=> %s (%x)\n", name, addr)
		} else {
			dst = fmt.Appendf(dst, "=> %x\n", addr)
		}
	}
	return dst
}
