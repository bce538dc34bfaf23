package output

import (
	"ftracelab/fgraph"
	"ftracelab/tracer/event"
)

// Bits of Common.Flags.
//
// Kernel: enum trace_flag_type, include/linux/trace_events.h.
const (
	flagIRQsOff       = 1 << 0
	flagIRQsNoSupport = 1 << 1
	flagNeedResched   = 1 << 2
	flagHardIRQ       = 1 << 3
	flagSoftIRQ       = 1 << 4
	flagPreemptNeed   = 1 << 5
	flagNMI           = 1 << 6
	flagBHOff         = 1 << 7
)

// AppendFlags appends the five characters irqs-off, need-resched, hard/softirq,
// preempt-depth and migrate-disable.
//
// Kernel: trace_print_lat_fmt, kernel/trace/trace_output.c.
func AppendFlags(dst []byte, c event.Common) []byte {
	f := c.Flags
	irqs := byte('.')
	switch {
	case f&flagIRQsOff != 0 && f&flagBHOff != 0:
		irqs = 'D'
	case f&flagIRQsOff != 0:
		irqs = 'd'
	case f&flagBHOff != 0:
		irqs = 'b'
	case f&flagIRQsNoSupport != 0:
		irqs = 'X'
	}
	resched := byte('.')
	switch f & (flagNeedResched | flagPreemptNeed) {
	case flagNeedResched | flagPreemptNeed:
		resched = 'N'
	case flagNeedResched:
		resched = 'n'
	case flagPreemptNeed:
		resched = 'p'
	}
	context := byte('.')
	switch {
	case f&flagNMI != 0 && f&flagHardIRQ != 0:
		context = 'Z'
	case f&flagNMI != 0:
		context = 'z'
	case f&flagHardIRQ != 0 && f&flagSoftIRQ != 0:
		context = 'H'
	case f&flagHardIRQ != 0:
		context = 'h'
	case f&flagSoftIRQ != 0:
		context = 's'
	}
	return append(dst, irqs, resched, context, depthDigit(c.PreemptCount&15), depthDigit(c.PreemptCount>>4))
}

func depthDigit(n uint8) byte {
	if n == 0 {
		return '.'
	}
	return hexDigits[n]
}

// contextText is the context of an entry up to the microseconds. Most entries share it
// with a recent one.
type contextText struct {
	contextKey
	comm string
	text cachedText // empty: there is none yet
}

type contextKey struct {
	second       uint64 // when the second begins, in microseconds; 0 for a clock that counts something else
	cpu          int
	pid          int32
	flags, depth uint8
}

// appendContext appends task, CPU, flags and time.
//
// Kernel: trace_print_context.
func (p *Printer) appendContext(dst []byte, r *record) []byte {
	c := &r.common
	us := p.second
	if !p.cfg.CounterClock {
		if us = microseconds(r.Time); us-p.second >= 1e6 {
			p.second = us - us%1e6
		}
	}
	key := contextKey{p.second, r.CPU, c.PID, c.Flags, c.PreemptCount}
	t := &p.contexts[(uint(c.PID)<<4^uint(r.CPU)<<6^uint(c.Flags)^uint(c.PreemptCount)<<1)%uint(len(p.contexts))]
	if t.contextKey != key || t.text.len == 0 || !p.cfg.NamesStay && p.comm(c.PID) != t.comm {
		t.contextKey, t.comm = key, p.comm(c.PID)
		p.scratch = p.appendContextText(p.scratch[:0], r, t.comm)
		t.text.set(p.scratch)
	}
	dst = t.text.appendTo(dst)
	if p.cfg.CounterClock {
		dst = padded(append(dst, ' '), r.Time, 12)
	} else {
		dst = appendDigits(dst, uint32(us-p.second))
	}
	return append(dst, ':', ' ')
}

// appendContextText appends the part of the context that many entries of a task share.
func (p *Printer) appendContextText(dst []byte, r *record, comm string) []byte {
	dst = append(appendTask(dst, comm, r.common.PID), ' ')
	if p.cfg.Options&RecordTGID != 0 {
		dst = p.appendTGID(dst, r.common.PID)
	}
	dst = append(appendCPU(append(dst, '['), r.CPU), ']', ' ')
	if p.cfg.Options&IRQInfo != 0 {
		dst = AppendFlags(dst, r.common)
	}
	if p.cfg.CounterClock {
		return dst
	}
	return append(padded(append(dst, ' '), p.second/1e6, 5), '.')
}

func appendTask(dst []byte, comm string, pid int32) []byte {
	return left(append(right(dst, comm, 16), '-'), int64(pid), 7)
}

// appendCPU appends a CPU number as %03d.
func appendCPU(dst []byte, cpu int) []byte {
	if cpu >= 0 && cpu < 1000 {
		return zeros(dst, uint64(cpu), 3)
	}
	return paddedInt(dst, int64(cpu), 0)
}

func (p *Printer) appendTGID(dst []byte, pid int32) []byte {
	var tgid int32
	if p.cfg.TGID != nil {
		tgid = p.cfg.TGID(pid)
	}
	if tgid == 0 {
		return append(dst, "(-------) "...)
	}
	return append(paddedInt(append(dst, '('), int64(tgid), 7), ") "...)
}

// appendTime appends a blank and seconds with microseconds, or the plain number
// of a clock that counts something else.
//
// Kernel: trace_print_time.
func (p *Printer) appendTime(dst []byte, time uint64) []byte {
	if p.cfg.CounterClock {
		return padded(append(dst, ' '), time, 12)
	}
	us := microseconds(time)
	return appendDigits(append(padded(append(dst, ' '), us/1e6, 5), '.'), uint32(us%1e6))
}

// appendDigits appends six digits.
func appendDigits(dst []byte, v uint32) []byte {
	hi, mid, lo := v/10000*2, v/100%100*2, v%100*2
	return append(dst, digitPairs[hi], digitPairs[hi+1], digitPairs[mid], digitPairs[mid+1], digitPairs[lo], digitPairs[lo+1])
}

// appendLatencyContext appends task, CPU, flags, the time since the buffer's start, and
// a mark if much time passes until the next entry.
//
// Kernel: trace_print_lat_context and lat_print_generic.
func (p *Printer) appendLatencyContext(dst []byte, r *record, m *Merge) []byte {
	next, ok := m.PeekTime()
	if !ok {
		next = r.Time
	}
	c := r.common
	comm := p.comm(c.PID)
	if p.cfg.Options&Verbose == 0 {
		dst = right(dst, comm[:min(8, len(comm))], 8)
		dst = left(append(dst, '-'), int64(c.PID), 7)
		dst = paddedInt(append(dst, ' '), int64(r.CPU), 3)
		dst = AppendFlags(dst, c)
	} else {
		dst = append(right(dst, comm, 16), ' ')
		dst = append(paddedInt(dst, int64(c.PID), 7), ' ')
		dst = append(paddedInt(dst, int64(r.CPU), 3), ' ')
		dst = append(padded(dst, uint64(c.Flags), 0), ' ')
		dst = append(hexPadded(dst, uint64(c.PreemptCount&15), 8), ' ')
		dst = append(hexPadded(dst, uint64(p.index), 8), ' ')
	}
	return p.appendLatencyTime(dst, r.Time, next)
}

// appendLatencyTime appends the time of an entry and, if verbose, the time to
// the next.
//
// Kernel: lat_print_timestamp.
func (p *Printer) appendLatencyTime(dst []byte, time, next uint64) []byte {
	verbose, since, until := p.cfg.Options&Verbose != 0, time-p.cfg.TimeStart, next-time
	if p.cfg.CounterClock {
		if verbose {
			dst = append(hexPadded(append(dst, '['), time, 16), "] "...)
			dst = append(paddedInt(dst, int64(since), 0), " (+"...)
			return append(paddedInt(dst, int64(until), 0), "): "...)
		}
		return append(paddedInt(append(dst, ' '), int64(since), 4), ": "...)
	}
	since, until = microseconds(since), microseconds(until)
	if !verbose {
		dst = paddedInt(append(dst, ' '), int64(since), 4)
		return append(dst, 'u', 's', fgraph.Mark(until*1000), ':', ' ')
	}
	dst = append(hexPadded(append(dst, '['), microseconds(time), 8), "] "...)
	dst = append(paddedInt(dst, int64(since/1000), 0), '.')
	dst = append(zeros(dst, since%1000, 3), "ms (+"...)
	dst = append(paddedInt(dst, int64(until/1000), 0), '.')
	return append(zeros(dst, until%1000, 3), "ms): "...)
}
