package fgraph

import "strconv"

// AppendHeader appends the two lines that name the columns; in the latency
// format the legend of the flags comes before them.
//
// Kernel: __print_graph_headers_flags and print_lat_header,
// kernel/trace/trace_functions_graph.c.
func (t *Text) AppendHeader(dst []byte) []byte {
	o, lat := t.cfg.Options, t.cfg.Latency
	if lat {
		dst = t.flagsLegend(dst)
	}
	column := func(show bool, text string) {
		if show {
			dst = append(dst, text...)
		}
	}
	dst = append(dst, '#')
	column(o&AbsTime != 0, "     TIME       ")
	column(o&RelTime != 0, "   REL TIME     ")
	column(o&ShowCPU != 0, " CPU")
	column(o&Proc != 0, "  TASK/PID       ")
	column(lat, "||||   ")
	column(o&Duration != 0, "  DURATION   ")
	dst = append(dst, "               FUNCTION CALLS\n#"...)
	column(o&AbsTime != 0, "      |         ")
	column(o&RelTime != 0, "      |         ")
	column(o&ShowCPU != 0, " |  ")
	column(o&Proc != 0, "   |    |        ")
	column(lat, "||||   ")
	column(o&Duration != 0, "   |   |      ")
	return append(dst, "               |   |   |   |\n"...)
}

func (t *Text) flagsLegend(dst []byte) []byte {
	size := 0
	for _, c := range []struct {
		o     Options
		width int
	}{{AbsTime, 16}, {RelTime, 16}, {ShowCPU, 4}, {Proc, 17}} {
		if t.cfg.Options&c.o != 0 {
			size += c.width
		}
	}
	if size > 37 { // the kernel cuts them from a string of this length
		size = 37
	}
	for _, text := range []string{
		"  _-----=> irqs-off        \n",
		" / _----=> need-resched    \n",
		"| / _---=> hardirq/softirq \n",
		"|| / _--=> preempt-depth   \n",
		"||| /                      \n",
	} {
		dst = append(blanks(append(dst, '#'), size), text...)
	}
	return dst
}

// context appends the columns before the duration.
//
// Kernel: print_graph_prologue.
func (t *Text) context(dst []byte, l Line) []byte {
	if t.cfg.NoContext {
		return dst
	}
	o := t.cfg.Options
	if o&AbsTime != 0 {
		dst = appendPadded(dst, l.Time/1e9, 5, ' ')
		dst = append(dst, '.')
		dst = appendPadded(dst, l.Time%1e9/1000, 6, '0')
		dst = append(dst, " |  "...)
	}
	if o&RelTime != 0 {
		dst = appendPadded(dst, (l.Time-t.cfg.TimeStart)/1000, 9, ' ')
		dst = append(dst, " us |  "...)
	}
	if o&ShowCPU != 0 {
		dst = t.appendCPU(dst, l.CPU)
	}
	if o&Proc != 0 {
		dst = append(t.appendProc(dst, l.Common.PID), " | "...)
	}
	if t.cfg.Latency {
		dst = append(t.cfg.Flags(append(dst, ' '), l.Common), " | "...)
	}
	return dst
}

func (t *Text) appendCPU(dst []byte, cpu int) []byte {
	dst = appendPadded(append(dst, ' '), uint64(cpu), t.width, ' ')
	return append(dst, ") "...)
}

// appendProc appends comm and pid, centred in 14 columns.
//
// Kernel: print_graph_proc.
func (t *Text) appendProc(dst []byte, pid int32) []byte {
	comm := t.cfg.Comm(pid)
	if len(comm) > 7 {
		comm = comm[:7]
	}
	var digits [11]byte
	num := strconv.AppendInt(digits[:0], int64(pid), 10)
	spaces := max(0, 14-len(comm)-1-len(num))
	dst = append(blanks(dst, spaces/2), comm...)
	dst = append(append(dst, '-'), num...)
	return blanks(dst, spaces-spaces/2)
}

// banner appends the switch from one task to another.
//
// Kernel: verif_pid.
func (t *Text) banner(dst []byte, cpu *cpuText, l Line) []byte {
	if cpu == nil || cpu.started && cpu.pid == l.Common.PID {
		return dst
	}
	prev, first := cpu.pid, !cpu.started
	cpu.pid, cpu.started = l.Common.PID, true
	if first {
		return dst
	}
	const rule = " ------------------------------------------\n"
	dst = t.appendCPU(append(dst, rule...), l.CPU)
	dst = append(t.appendProc(dst, prev), " => "...)
	dst = append(t.appendProc(dst, l.Common.PID), '\n')
	return append(append(dst, rule...), '\n')
}

// irqArrow appends the line that marks the way into or out of interrupt code.
//
// Kernel: print_graph_irq.
func (t *Text) irqArrow(dst []byte, l Line, fn uint64, arrow string) []byte {
	if !t.isIRQ(fn) {
		return dst
	}
	dst = t.context(dst, l)
	shown := t.cfg.Options&Duration != 0 && !t.cfg.NoContext
	if shown {
		dst = append(dst, "  "...)
	}
	dst = append(dst, arrow...)
	if shown {
		dst = append(dst, " |"...)
	}
	return append(dst, '\n')
}

// fill appends an empty duration column.
func (t *Text) fill(dst []byte) []byte {
	if t.cfg.Options&Duration == 0 || t.cfg.NoContext {
		return dst
	}
	return append(dst, "              |  "...)
}

// duration appends the duration column for ns.
//
// Kernel: print_graph_duration.
func (t *Text) duration(dst []byte, ns uint64) []byte {
	if t.cfg.Options&Duration == 0 || t.cfg.NoContext {
		return dst
	}
	mark := byte(' ')
	if t.cfg.Options&Overhead != 0 {
		mark = Mark(ns)
	}
	dst = AppendDuration(append(dst, mark, ' '), ns)
	return append(dst, "|  "...)
}

// AppendDuration appends ns in microseconds with at most seven digits, " us "
// and blanks to the width of the column.
//
// Kernel: trace_print_graph_duration.
func AppendDuration(dst []byte, ns uint64) []byte {
	start := len(dst)
	dst = strconv.AppendUint(dst, ns/1000, 10)
	if n := len(dst) - start; n < 7 {
		dst = append(dst, '.')
		var frac [3]byte
		appendPadded(frac[:0], ns%1000, 3, '0')
		dst = append(dst, frac[:min(3, 7-n)]...)
	}
	n := len(dst) - start
	return blanks(append(dst, " us "...), 8-n)
}

// Mark is the character that stands before a long duration or delay of ns.
//
// Kernel: trace_find_mark, kernel/trace/trace_output.c.
func Mark(ns uint64) byte {
	switch {
	case ns > 1e9:
		return '$'
	case ns > 100e6:
		return '@'
	case ns > 10e6:
		return '*'
	case ns > 1e6:
		return '#'
	case ns > 100e3:
		return '!'
	case ns > 10e3:
		return '+'
	}
	return ' '
}

// retval appends a return value: as an error number if it is one, otherwise in
// hexadecimal.
//
// Kernel: print_graph_retval.
func (t *Text) retval(dst []byte, v uint64) []byte {
	if v != 0 && t.cfg.Options&RetvalHex == 0 {
		e := int64(v)
		if v>>31 == 1 { // 32 bits, negative
			e = int64(int32(v))
		}
		if e < 0 && e >= -4095 {
			return strconv.AppendInt(dst, e, 10)
		}
	}
	return strconv.AppendUint(append(dst, "0x"...), v, 16)
}

func indent(dst []byte, depth int32) []byte { return blanks(dst, min(2*int(depth), maxIndent)) }

const blankText = "                                                                "

// blanks appends n blanks, none for a negative n.
func blanks(dst []byte, n int) []byte {
	for n > len(blankText) {
		dst = append(dst, blankText...)
		n -= len(blankText)
	}
	if n <= 0 {
		return dst
	}
	return append(dst, blankText[:n]...)
}

// appendPadded appends v in at least width columns.
func appendPadded(dst []byte, v uint64, width int, pad byte) []byte {
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + v%10)
		if v /= 10; v == 0 {
			break
		}
	}
	for n := len(digits) - i; n < width; n++ {
		dst = append(dst, pad)
	}
	return append(dst, digits[i:]...)
}
