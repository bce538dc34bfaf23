package hist

import (
	"bytes"
	"math/bits"

	"ftracelab/tracer/event/filter"
)

// fn says how a field's value is computed.
//
// Kernel: enum hist_field_fn, kernel/trace/trace_events_hist.c.
type fn uint8

const (
	fnNone fn = iota
	fnVarRef
	fnCounter
	fnConst
	fnLog2
	fnBucket
	fnTimestamp
	fnCPU
	fnText
	fnNumber
	fnUnaryMinus
	fnMinus
	fnPlus
	fnDiv
	fnMult
	fnDivPower2
	fnDivNotPower2
	fnDivMultShift
	fnExecname
	fnStack
)

// These numbers stand for the addresses of texts and stacks when a command uses
// them as numbers.
//
// Departure: if a hist trigger sums up, compares or shows the address of a text,
// that address is made up. The kernel's address depends on where its record or
// its element lies.
const (
	recordAddress  = 0xffff888004000000
	elementAddress = 0xffff888008000000
)

// value is the field's value at a moment. Text and stacks belong to the record
// or to an element. It allocates nothing. A constant needs neither m nor e.
//
// Kernel: hist_fn_call, kernel/trace/trace_events_hist.c.
func (f *Field) value(m *Moment, e *Element) Value {
	switch f.fn {
	case fnVarRef:
		return m.refs[f.ref]
	case fnText:
		return Value{N: recordAddress + uint64(f.event.Offset), B: f.textIn(m.Rec)}
	case fnStack:
		return Value{N: recordAddress + uint64(f.event.Offset), B: stackWords(f.event.Bytes(m.Rec))}
	case fnExecname:
		return m.execname(e)
	}
	return Value{N: f.number(m, e)}
}

// number is the value of a field that is not a text of the record.
func (f *Field) number(m *Moment, e *Element) uint64 {
	switch f.fn {
	case fnNumber:
		return uint64(f.event.Int(m.Rec))
	case fnCounter:
		return 1
	case fnConst:
		return f.constant
	case fnCPU:
		return uint64(m.CPU)
	case fnTimestamp:
		if f.hist.attrs.usecs && f.hist.file.instance.env.ClockInNs() {
			return (m.Time + 500) / 1000
		}
		return m.Time
	case fnVarRef, fnText, fnStack, fnExecname:
		return f.value(m, e).N
	case fnNone:
		return 0
	}
	return f.computed(m, e)
}

// computed is the value of a field that has operands.
func (f *Field) computed(m *Moment, e *Element) uint64 {
	a := f.operands[0].number(m, e)
	switch f.fn {
	case fnLog2:
		if a <= 1 {
			return 0
		}
		return uint64(bits.Len64(a - 1))
	case fnBucket:
		return a / f.buckets * f.buckets
	case fnUnaryMinus:
		return -a
	case fnDivPower2:
		return a >> bits.TrailingZeros64(f.operands[1].constant)
	case fnDivNotPower2:
		return a / f.operands[1].constant
	case fnDivMultShift:
		if a < 1<<divShift {
			return (a*f.operands[1].multiplier + 1<<divShift - 1) >> divShift
		}
		return a / f.operands[1].constant
	}
	b := f.operands[1].number(m, e)
	switch f.fn {
	case fnPlus:
		return a + b
	case fnMinus:
		return a - b
	case fnMult:
		return a * b
	}
	if b == 0 { // a division by a variable
		return ^uint64(0)
	}
	return a / b
}

// divShift is for dividing by a constant: a multiplication by its reciprocal and
// a shift. For dividends below 1<<divShift the result can be 1 too big.
//
// Kernel: HIST_DIV_SHIFT and div_by_mult_and_shift,
// kernel/trace/trace_events_hist.c.
const divShift = 20

// divisor says how to divide by a constant.
//
// Kernel: hist_field_get_div_fn, kernel/trace/trace_events_hist.c.
func (f *Field) divisor() fn {
	switch div := f.constant; {
	case div&(div-1) == 0:
		return fnDivPower2
	case div > 1<<divShift:
		return fnDivNotPower2
	default:
		f.multiplier = 1 << divShift / div
		return fnDivMultShift
	}
}

// execname returns the name of the task whose event made the element.
//
// Kernel: hist_field_execname, kernel/trace/trace_events_hist.c.
func (m *Moment) execname(e *Element) Value {
	return Value{N: elementAddress, B: append(m.comm[:0], e.Comm...)}
}

// stackWords returns the words of a stack in a record of a synthetic event. The
// record has their number before them.
//
// Kernel: hist_field_stack and event_hist_trigger,
// kernel/trace/trace_events_hist.c.
func stackWords(b []byte) []byte {
	if len(b) < 8 {
		return nil
	}
	n := min(int(b[0]), (len(b)-8)/8)
	return b[8 : 8+8*n]
}

// textIn returns the text that a record has in the field. If the text lies in the
// field itself, it need not look at the declaration.
func (f *Field) textIn(data []byte) []byte {
	if f.kind == filter.Text {
		end := min(f.event.Offset+f.event.Size, len(data))
		return untilNUL(data[min(f.event.Offset, end):end])
	}
	return untilNUL(f.event.Bytes(data))
}

func untilNUL(b []byte) []byte {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return b
}
