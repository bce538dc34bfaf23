package printfmt

import (
	"encoding/binary"
	"math/bits"
)

// value is the result of an expression. It is passed by value and owns nothing.
type value struct {
	kind   valueKind
	signed bool
	size   uint8  // of an integer: 1, 2, 4 or 8
	n      uint64 // an integer, extended to 64 bits by its sign
	s      []byte // vBytes: from where a pointer points to where its object ends
	node   *node  // vText: what appends it; vUnknown: what is unknown

	// elem > 0 makes it a pointer to elements of this many bytes.
	elem       int
	elemSigned bool
}

type valueKind uint8

const (
	vInt valueKind = iota
	vBytes
	vText
	vUnknown
)

func integer(n uint64, size int, signed bool) value {
	return value{size: uint8(size), signed: signed, n: extend(n, size, signed)}
}

func boolean(b bool) value {
	if b {
		return integer(1, 4, true)
	}
	return integer(0, 4, true)
}

// extend cuts n to size bytes and widens it again by its sign.
func extend(n uint64, size int, signed bool) uint64 {
	if size >= 8 || size <= 0 {
		return n
	}
	shift := 64 - 8*uint(size)
	if signed {
		return uint64(int64(n<<shift) >> shift)
	}
	return n << shift >> shift
}

// truth is C's truth. A pointer into the record is never NULL.
func (v value) truth() bool { return v.kind != vInt || v.n != 0 }

// num is the value in integer arithmetic. A pointer into the record counts as
// some address that is not zero.
func (v value) num() uint64 {
	if v.kind == vInt {
		return v.n
	}
	return 1
}

// load reads a little-endian integer of size bytes; bytes beyond b are zero.
func load(b []byte, off, size int) uint64 {
	if off >= 0 && off+size <= len(b) {
		switch size {
		case 1:
			return uint64(b[off])
		case 2:
			return uint64(binary.LittleEndian.Uint16(b[off:]))
		case 4:
			return uint64(binary.LittleEndian.Uint32(b[off:]))
		case 8:
			return binary.LittleEndian.Uint64(b[off:])
		}
	}
	var n uint64
	for i := 0; i < size && i < 8; i++ {
		if k := off + i; k >= 0 && k < len(b) {
			n |= uint64(b[k]) << (8 * i)
		}
	}
	return n
}

// slice is the part of b[from:to] that exists.
func slice(b []byte, from, to int) []byte {
	to = min(to, len(b))
	if from < 0 || from >= to {
		return nil
	}
	return b[from:to]
}

// eval computes n over a record.
func eval(n *node, data []byte, env *Env) value {
	if n.isNumber {
		t := &n.number
		return value{n: evalNumber(n, data), size: uint8(t.size), signed: t.signed, elem: t.elem, elemSigned: t.elemSigned}
	}
	return evalAny(n, data, env)
}

// evalAny is eval for any node.
func evalAny(n *node, data []byte, env *Env) value {
	switch n.op {
	case opConst:
		return value{n: n.val, size: uint8(n.typ.size), signed: n.typ.signed, elem: n.typ.elem}
	case opString:
		return value{kind: vBytes, s: n.str, elem: 1}
	case opField:
		return n.field.value(data)
	case opLoc:
		return evalLoc(n, data)
	case opAddr:
		f := &n.field
		return value{kind: vBytes, s: slice(data, f.Offset, f.Offset+f.Size), elem: f.Elem, elemSigned: f.Signed}
	case opCast:
		return cast(eval(n.a, data, env), n.typ)
	case opNeg, opNot, opCompl:
		return evalUnary(n.op, eval(n.a, data, env))
	case opSwap:
		v := eval(n.a, data, env)
		if v.kind == vUnknown {
			return v
		}
		return integer(swapped(v.num(), n.typ.size), n.typ.size, false)
	case opDeref:
		return index(n, eval(n.a, data, env), 0)
	case opIndex:
		i := eval(n.b, data, env)
		if i.kind == vUnknown {
			return i
		}
		return index(n, eval(n.a, data, env), int64(i.num()))
	case opBinary:
		return evalBinary(n, data, env)
	case opCond:
		c := eval(n.a, data, env)
		switch {
		case c.kind == vUnknown:
			return c
		case !c.truth():
			return eval(n.c, data, env)
		case n.b == nil:
			return c
		}
		return eval(n.b, data, env)
	case opFlags, opSymbolic, opHex, opArray, opBitmask, opDecode:
		return value{kind: vText, node: n}
	case opMsecs:
		v := eval(n.a, data, env)
		if v.kind == vUnknown {
			return v
		}
		if env != nil && env.HZ > 0 {
			return integer((v.num()*1000+env.HZ-1)/env.HZ, 4, false)
		}
	case opSymbol:
		if addr, ok := env.address(n.name); ok {
			return integer(addr, 8, false)
		}
	}
	return value{kind: vUnknown, node: n}
}

// swapped gives the lowest size bytes of v in the other order.
func swapped(v uint64, size int) uint64 { return bits.ReverseBytes64(v) >> (64 - 8*size) }

func evalLoc(n *node, data []byte) value {
	if n.what == locLen {
		return integer(n.field.length(data), 4, true)
	}
	v := value{kind: vBytes, s: n.field.Bytes(data), elem: n.field.Elem, elemSigned: n.field.Signed}
	if n.what == locText {
		v.elem = 1
	}
	return v
}

func cast(v value, t ctype) value {
	switch {
	case v.kind == vBytes && t.elem > 0:
		v.elem, v.elemSigned = t.elem, t.elemSigned
	case v.kind == vInt && t.size <= 8:
		v = integer(v.n, t.size, t.signed)
		v.elem, v.elemSigned = t.elem, t.elemSigned
	}
	return v
}

func evalUnary(o op, v value) value {
	if v.kind == vUnknown {
		return v
	}
	if o == opNot {
		return boolean(!v.truth())
	}
	size, signed := promote(v)
	if o == opNeg {
		return integer(-v.num(), size, signed)
	}
	return integer(^v.num(), size, signed)
}

// index is v[i]. An element beyond the object reads as zero; one that only the
// kernel's memory holds is unknown.
func index(n *node, v value, i int64) value {
	switch v.kind {
	case vUnknown:
		return v
	case vBytes:
	default:
		return value{kind: vUnknown, node: n}
	}
	elem := max(v.elem, 1)
	from := len(v.s)
	if i >= 0 && i < int64(len(v.s)) {
		from = min(int(i)*elem, len(v.s))
	}
	if elem > 8 {
		return value{kind: vBytes, s: slice(v.s, from, from+elem), elem: 1}
	}
	return integer(load(v.s, from, elem), elem, v.elemSigned)
}

// promote returns the type of an operand after C's integer promotion.
func promote(v value) (size int, signed bool) {
	if v.kind != vInt {
		return 8, false
	}
	if v.size < 4 {
		return 4, true
	}
	return int(v.size), v.signed
}

func evalBinary(n *node, data []byte, env *Env) value {
	a := eval(n.a, data, env)
	if a.kind == vUnknown {
		return a
	}
	switch n.bin {
	case binLogAnd:
		if !a.truth() {
			return boolean(false)
		}
	case binLogOr:
		if a.truth() {
			return boolean(true)
		}
	}
	b := eval(n.b, data, env)
	switch {
	case b.kind == vUnknown:
		return b
	case n.bin == binLogAnd || n.bin == binLogOr:
		return boolean(b.truth())
	case a.elem > 0 && (n.bin == binAdd || n.bin == binSub && b.elem == 0):
		return offset(a, b.num(), n.bin == binSub)
	case b.elem > 0 && n.bin == binAdd:
		return offset(b, a.num(), false)
	}
	size, signed := promote(a)
	if n.bin != binShl && n.bin != binShr {
		bs, bsigned := promote(b)
		if bs > size || bs == size && !bsigned {
			size, signed = bs, bsigned
		}
	}
	return arith(n.bin, extend(a.num(), size, signed), extend(b.num(), size, signed), size, signed)
}

// offset is pointer arithmetic: p + i or p - i, in elements.
func offset(p value, i uint64, minus bool) value {
	if minus {
		i = -i
	}
	if p.kind == vInt {
		p.n += i * uint64(p.elem)
		return p
	}
	if i > uint64(len(p.s)) {
		p.s = nil
		return p
	}
	p.s = p.s[min(int(i)*p.elem, len(p.s)):]
	return p
}

// arith computes on operands already converted to the type of the result.
func arith(o binOp, a, b uint64, size int, signed bool) value {
	n := compute(o, a, b, size, signed)
	if o.isTruth() {
		return boolean(n != 0)
	}
	return integer(n, size, signed)
}

// compute returns the number of arith. Division by zero, which the kernel's
// formats guard against, gives zero.
func compute(o binOp, a, b uint64, size int, signed bool) uint64 {
	sa, sb := int64(a), int64(b)
	less := a < b
	if signed {
		less = sa < sb
	}
	var r uint64
	switch o {
	case binLt:
		return truth(less)
	case binGe:
		return truth(!less)
	case binGt:
		return truth(!less && a != b)
	case binLe:
		return truth(less || a == b)
	case binEq:
		return truth(a == b)
	case binNe:
		return truth(a != b)
	case binAdd:
		r = a + b
	case binSub:
		r = a - b
	case binMul:
		r = a * b
	case binDiv, binMod:
		r = divide(o, a, b, signed)
	case binShl:
		r = a << (b & uint64(8*size-1))
	case binShr:
		if shift := b & uint64(8*size-1); signed {
			r = uint64(sa >> shift)
		} else {
			r = a >> shift
		}
	case binAnd:
		r = a & b
	case binXor:
		r = a ^ b
	case binOr:
		r = a | b
	}
	return extend(r, size, signed)
}

func divide(o binOp, a, b uint64, signed bool) uint64 {
	switch {
	case b == 0:
		return 0
	case signed && o == binDiv:
		return uint64(int64(a) / int64(b))
	case signed:
		return uint64(int64(a) % int64(b))
	case o == binDiv:
		return a / b
	}
	return a % b
}
