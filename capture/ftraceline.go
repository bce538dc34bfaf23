package capture

import (
	"bytes"
	"errors"
)

// ftraceLine is a line of trace, taken apart: the context in front of the event, and
// the rest. Its slices point into the line.
//
//	bash-235     [001] d..2.    45.069950: sched_switch: prev_comm=bash …
//	‾comm pid    (tgid) cpu flags  time       body
//
// The tgid is only there with the option record-tgid, the flags with irq-info.
//
// Kernel: trace_print_context, kernel/trace/trace_output.c.
type ftraceLine struct {
	comm     []byte
	pid      int32
	cpu      int
	flags    uint8
	preempt  uint8
	hasFlags bool
	time     uint64
	fraction bool // the time is in seconds
	body     []byte
}

var (
	errNoContext = errors.New("not a line of trace: no COMM-PID [CPU] in front")
	errNoTime    = errors.New("not a line of trace: no TIMESTAMP: behind the CPU")
	errCPU       = errors.New("an impossible CPU")
)

// parse reads a line. A comm may hold anything, even something that looks like a CPU.
// So the CPU is the first number in brackets that has COMM-PID in front of it and a
// time behind it.
func (f *ftraceLine) parse(line []byte) error {
	err := errNoContext
	for at := 0; ; {
		i := bytes.IndexByte(line[at:], '[')
		if i < 0 {
			return err
		}
		at += i + 1
		width := digits(line[at:])
		if width < 3 || at+width+1 >= len(line) || line[at+width] != ']' || line[at+width+1] != ' ' {
			continue
		}
		if !f.task(line[:at-1]) {
			continue
		}
		cpu, ok := parseUint(line[at : at+width])
		if !ok || cpu >= maxCPUs {
			return errCPU
		}
		f.cpu = int(cpu)
		if err = f.rest(line[at+width+1:]); err == nil {
			return nil
		}
	}
}

// task reads COMM-PID and an optional (TGID).
func (f *ftraceLine) task(b []byte) bool {
	b = bytes.TrimRight(b, " ")
	if n := len(b); n > 0 && b[n-1] == ')' {
		if i := bytes.LastIndexByte(b, '('); i >= 0 {
			b = bytes.TrimRight(b[:i], " ")
		}
	}
	dash := bytes.LastIndexByte(b, '-')
	if dash < 1 {
		return false
	}
	pid, ok := parseUint(b[dash+1:])
	if !ok || pid > 1<<31-1 {
		return false
	}
	f.comm, f.pid = bytes.TrimLeft(b[:dash], " "), int32(pid)
	return len(f.comm) > 0 || dash == commWidth
}

// commWidth is how wide the column of the names is. A task can have an empty name.
const commWidth = 16

// rest reads flags, time and body.
func (f *ftraceLine) rest(b []byte) error {
	f.flags, f.preempt, f.hasFlags = 0, 0, false
	b = bytes.TrimLeft(b, " ")
	for range 2 {
		word := b
		if i := bytes.IndexByte(b, ' '); i >= 0 {
			word = b[:i]
		}
		if n := len(word); n > 1 && word[n-1] == ':' {
			var ok bool
			if f.time, f.fraction, ok = parseSeconds(word[:n-1]); !ok {
				return errNoTime
			}
			f.body = b[n:]
			if len(f.body) > 0 {
				f.body = f.body[1:]
			}
			return nil
		}
		if f.hasFlags || !f.setFlags(word) {
			return errNoTime
		}
		b = bytes.TrimLeft(b[len(word):], " ")
	}
	return errNoTime
}

// The bits of common_flags.
//
// Kernel: enum trace_flag_type, include/linux/trace_events.h.
const (
	flagIRQsOff       = 0x01
	flagIRQsNoSupport = 0x02
	flagNeedResched   = 0x04
	flagHardIRQ       = 0x08
	flagSoftIRQ       = 0x10
	flagPreemptResch  = 0x20
	flagNMI           = 0x40
	flagBHOff         = 0x80
)

var flagColumns = [3]map[byte]uint8{
	{'.': 0, 'd': flagIRQsOff, 'b': flagBHOff, 'D': flagIRQsOff | flagBHOff, 'X': flagIRQsNoSupport},
	// l, L, b and B are marks for lazy preemption in later kernels; 6.12 has no bit for
	// them.
	{
		'.': 0, 'N': flagNeedResched | flagPreemptResch, 'n': flagNeedResched, 'p': flagPreemptResch,
		'l': 0, 'b': 0, 'L': flagPreemptResch, 'B': flagNeedResched | flagPreemptResch,
	},
	{'.': 0, 'Z': flagNMI | flagHardIRQ, 'z': flagNMI, 'H': flagHardIRQ | flagSoftIRQ, 'h': flagHardIRQ, 's': flagSoftIRQ},
}

// setFlags reads the columns of irq-info. Kernels before 5.17 print four of them, later
// ones five.
//
// Kernel: trace_print_lat_fmt, kernel/trace/trace_output.c.
func (f *ftraceLine) setFlags(w []byte) bool {
	if len(w) != 4 && len(w) != 5 {
		return false
	}
	for i, column := range flagColumns {
		bits, ok := column[w[i]]
		if !ok {
			return false
		}
		f.flags |= bits
	}
	for i, c := range w[3:] {
		d := hexDigit[c]
		if c == '.' {
			d = 0
		}
		if d > 15 {
			return false
		}
		f.preempt |= d << (4 * i)
	}
	f.hasFlags = true
	return true
}

// digits counts the digits b begins with.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// isLostLine reports whether a line says that events were lost.
func isLostLine(line []byte) bool {
	_, _, ok := parseLost(line)
	return ok
}

// parseLost reads "CPU:1 [LOST 34 EVENTS]" and "CPU:1 [LOST EVENTS]".
//
// Kernel: print_trace_line, kernel/trace/trace.c.
func parseLost(line []byte) (cpu int, count uint64, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("CPU:"))
	if !ok {
		return 0, 0, false
	}
	n := digits(rest)
	v, ok := parseUint(rest[:n])
	rest, lost := bytes.CutPrefix(rest[n:], []byte(" [LOST "))
	rest, events := bytes.CutSuffix(rest, []byte("EVENTS]"))
	if !ok || !lost || !events || v >= maxCPUs {
		return 0, 0, false
	}
	if len(rest) == 0 {
		return int(v), ^uint64(0), true
	}
	count, ok = parseUint(bytes.TrimRight(rest, " "))
	return int(v), count, ok
}
