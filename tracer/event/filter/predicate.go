package filter

import (
	"strings"
	"syscall"

	"ftracelab/tracer/event"
)

// predicate is one comparison, ready to be made.
//
// Kernel: struct filter_pred, kernel/trace/trace_events_filter.c.
type predicate struct {
	test    test
	op      op
	field   event.Field
	value   uint64 // to compare with, or the function's begin
	end     uint64 // of the function
	pattern pattern
	cpus    cpuMask
	nrCPUs  int
}

// op is a predicate's operator.
type op uint8

const (
	opGlob op = iota
	opNE
	opEQ
	opLE
	opLT
	opGE
	opGT
	opAnd
)

// opSigns are the operators in the order of their numbers; a sign comes before
// any sign that is its beginning.
var opSigns = [...]string{opGlob: "~", opNE: "!=", opEQ: "==", opLE: "<=", opLT: "<", opGE: ">=", opGT: ">", opAnd: "&"}

func (o op) isEquality() bool { return o == opEQ || o == opNE }

// operandParser reads a predicate's value. Its fields hold what stands before
// the value.
type operandParser struct {
	*parser
	kind     Kind
	function bool // .function
	user     bool // .ustring
	pred     *predicate
}

// bad is a fault in the predicate at column i; the kernel counts the columns of
// a predicate from 1.
func (p *parser) bad(msg string, i int) *Error { return p.fault(syscall.EINVAL, msg, i+1) }

// predicate reads field, operator and value at p.at, and moves p.at past them.
//
// Kernel: parse_pred, kernel/trace/trace_events_filter.c.
func (p *parser) predicate() (*predicate, error) {
	i := p.at
	for isAlnum(p.byte(i)) || p.byte(i) == '_' {
		i++
	}
	if i == p.at {
		return nil, p.silent(syscall.EPERM)
	}
	field, kind, ok := Find(p.typ, p.text[p.at:i])
	if !ok {
		return nil, p.bad(msgFieldNotFound, i)
	}
	o := operandParser{parser: p, kind: kind, pred: &predicate{field: field, nrCPUs: p.env.CPUs}}
	i, o.user = p.suffix(i, ".ustring")
	i, o.function = p.suffix(i, ".function")
	i = p.skipSpace(i)
	sign, ok := p.sign(i)
	if !ok {
		return nil, p.bad(msgInvalidOp, i)
	}
	o.pred.op = sign
	p.at = p.skipSpace(i + len(opSigns[sign]))
	if err := o.operand(); err != nil {
		return nil, err
	}
	return o.pred, nil
}

func (p *parser) suffix(i int, s string) (int, bool) {
	if strings.HasPrefix(p.text[i:], s) {
		return i + len(s), true
	}
	return i, false
}

func (p *parser) sign(i int) (op, bool) {
	for o, sign := range opSigns {
		if strings.HasPrefix(p.text[i:], sign) {
			return op(o), true
		}
	}
	return 0, false
}
