package synth

import (
	"bytes"

	"ftracelab/tracer/event"
)

// Value is one value that an action passes: N is for a number, B is for a text or a
// stack. A nil B stands for a text that cannot be read: a char[N] then holds
// "(fault)", a char[] is empty.
//
// A text ends at its first NUL or at the end of B. A stack consists of addresses of 8
// bytes, innermost first.
type Value struct {
	N uint64
	B []byte
}

const (
	slotSize = 8

	// Kernel: MAX_STRING_SIZE, kernel/trace/trace_probe.h.
	maxText = 4096

	// Kernel: HIST_STACKTRACE_DEPTH, kernel/trace/trace.h.
	stackWords = 16

	// Kernel: FAULT_STRING, kernel/trace/trace_probe.h.
	fault = "(fault)"
)

func (f *Field) offset() int { return event.CommonSize + slotSize*f.slot }

// Append encodes a record with its common header, whose Type the caller sets,
// and appends it to dst. values are the values of the fields in their order; missing
// values are zero. Nothing is allocated if dst has room.
//
// Departure: the part of its slots that a field does not fill is zero. In the
// kernel it holds what was in the buffer before.
//
// Kernel: trace_event_raw_event_synth, trace_string and trace_stack,
// kernel/trace/trace_events_synth.c; set_data_loc, kernel/trace/trace_probe_kernel.h.
func (d *Definition) Append(dst []byte, c event.Common, values []Value) []byte {
	start := len(dst)
	dst = appendZeros(dst, event.CommonSize+slotSize*d.words)
	c.Put(dst[start:])
	for i := range min(len(values), len(d.Fields)) {
		f, v := &d.Fields[i], &values[i]
		switch f.Kind {
		case Number:
			put(dst[start+f.offset():], f.Size, v.N)
		case Text:
			copy(dst[start+f.offset():], text(v, StringSize))
		case DynamicText:
			at := len(dst) - start
			if v.B != nil {
				dst = append(append(dst, text(v, maxText)...), 0)
			}
			locate(dst[start+f.offset():], at, len(dst)-start-at)
		case Stack:
			at := len(dst) - start
			var used int
			dst, used = appendStack(dst, v.B)
			locate(dst[start+f.offset():], at, used)
		}
	}
	return dst
}

// text returns a text without its NUL. It cuts the text so that text and NUL take at
// most size bytes.
func text(v *Value, size int) []byte {
	if v.B == nil {
		return []byte(fault)
	}
	b := v.B[:min(len(v.B), size-1)]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return b
}

// appendStack appends the number of addresses, then the addresses. It stops at an
// address that is zero, and at the size of the kernel's field. The record has room
// for all addresses; used is how many bytes the kernel fills.
//
// Kernel: trace_stack.
func appendStack(dst, addrs []byte) (_ []byte, used int) {
	start := len(dst)
	n := min(len(addrs)/slotSize, stackWords)
	dst = appendZeros(dst, slotSize*(1+n))
	put(dst[start:], slotSize, uint64(n))
	if n == 0 {
		return dst, 0
	}
	used = slotSize
	for used < slotSize*min(1+n, stackWords) {
		addr := addrs[used-slotSize : used]
		if bytes.Equal(addr, noAddress[:]) {
			break
		}
		used += copy(dst[start+used:], addr)
	}
	return dst, used
}

var noAddress [slotSize]byte

// locate writes the offset and the length of dynamic data, in 16 bits each.
func locate(slot []byte, offset, length int) {
	put(slot, 2, uint64(offset))
	put(slot[2:], 2, uint64(length))
}

// put writes the low bytes of v.
func put(b []byte, size int, v uint64) {
	for n := range size {
		b[n] = byte(v >> (8 * n))
	}
}

func appendZeros(dst []byte, n int) []byte {
	var zeros [StringSize]byte
	for ; n > len(zeros); n -= len(zeros) {
		dst = append(dst, zeros[:]...)
	}
	return append(dst, zeros[:n]...)
}
