package printfmt

import "encoding/binary"

// Most arguments are numbers made of scalar fields and constants. The type of
// such an expression is known before any record is seen. It is computed without
// the values that eval passes around, in a third of the time. eval defines the
// result; both ways give the same.

// settle finds out which nodes are numbers.
func settle(n *node) {
	if n == nil || n.settled {
		return
	}
	n.settled = true
	settle(n.a)
	settle(n.b)
	settle(n.c)
	n.number, n.isNumber = numberType(n)
}

// numberType is the type of the integer that eval always gives for n, if it does.
func numberType(n *node) (t ctype, ok bool) {
	switch n.op {
	case opConst:
		return ctype{size: n.typ.size, signed: n.typ.signed, elem: n.typ.elem}, true
	case opField:
		f := &n.field
		return ctype{size: f.Size, signed: f.Signed}, f.Kind != Array && (f.Size == 1 || f.Size == 2 || f.Size == 4 || f.Size == 8)
	case opLoc:
		return intType, n.what == locLen
	case opCast:
		return n.typ, n.a.isNumber && n.typ.size <= 8
	case opSwap:
		return n.typ, n.a.isNumber
	case opNot:
		return intType, n.a.isNumber
	case opNeg, opCompl:
		return promoteType(n.a.number), n.a.isNumber
	case opBinary:
		return binaryType(n)
	case opCond:
		b := n.b
		if b == nil {
			b = n.a
		}
		return n.c.number, n.a.isNumber && b.isNumber && n.c.isNumber && b.number == n.c.number
	}
	return t, false
}

// binaryType also notes the type that both operands are converted to.
func binaryType(n *node) (t ctype, ok bool) {
	a, b := n.a.number, n.b.number
	if !n.a.isNumber || !n.b.isNumber || (a.elem > 0 || b.elem > 0) && (n.bin == binAdd || n.bin == binSub) {
		return t, false
	}
	n.typ = promoteType(a)
	if other := promoteType(b); n.bin != binShl && n.bin != binShr &&
		(other.size > n.typ.size || other.size == n.typ.size && !other.signed) {
		n.typ = other
	}
	if n.bin.isTruth() {
		return intType, true
	}
	return n.typ, true
}

// promoteType is promote for a type.
func promoteType(t ctype) ctype {
	if t.size < 4 {
		return intType
	}
	return ctype{size: t.size, signed: t.signed}
}

// isTruth reports whether the result of an operation is always 0 or 1.
func (o binOp) isTruth() bool {
	switch o {
	case binLt, binGt, binLe, binGe, binEq, binNe, binLogAnd, binLogOr:
		return true
	}
	return false
}

// evalNumber is eval for a node that isNumber: the integer, extended to 64 bits by
// its sign.
func evalNumber(n *node, data []byte) uint64 {
	for n.op == opCast && n.typ.size == 8 {
		n = n.a // its value is extended already
	}
	switch n.op {
	case opConst:
		return n.val
	case opField:
		f := &n.field
		if end := f.Offset + 4; f.Size == 4 && f.Offset >= 0 && end <= len(data) { // most fields are like that
			v := binary.LittleEndian.Uint32(data[f.Offset:end])
			if f.Signed {
				return uint64(int32(v))
			}
			return uint64(v)
		}
		return extend(load(data, f.Offset, f.Size), f.Size, f.Signed)
	case opLoc:
		return extend(n.field.length(data), 4, true)
	case opCast:
		return extend(evalNumber(n.a, data), n.typ.size, n.typ.signed)
	case opSwap:
		return swapped(evalNumber(n.a, data), n.typ.size)
	case opNot:
		return truth(evalNumber(n.a, data) == 0)
	case opNeg:
		return extend(-evalNumber(n.a, data), n.number.size, n.number.signed)
	case opCompl:
		return extend(^evalNumber(n.a, data), n.number.size, n.number.signed)
	case opCond:
		switch c := evalNumber(n.a, data); {
		case c == 0:
			return evalNumber(n.c, data)
		case n.b == nil:
			return c
		}
		return evalNumber(n.b, data)
	}
	if n.bin == binAdd && n.typ.size == 8 && n.a.op == opConst { // most often _stext plus an offset
		return n.a.val + evalNumber(n.b, data)
	}
	a := evalNumber(n.a, data)
	switch {
	case n.bin == binLogAnd:
		return truth(a != 0 && evalNumber(n.b, data) != 0)
	case n.bin == binLogOr:
		return truth(a != 0 || evalNumber(n.b, data) != 0)
	}
	t := &n.typ
	return compute(n.bin, extend(a, t.size, t.signed), extend(evalNumber(n.b, data), t.size, t.signed), t.size, t.signed)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
