package printfmt

// op is what a node of an expression tree computes.
type op uint8

const (
	opConst    op = iota // val, typ
	opString             // str
	opUnknown            // name: only the kernel knows
	opSymbol             // name: an address if Env's symbols know it, otherwise unknown
	opMsecs              // name(a): the milliseconds of a jiffies if Env knows HZ, otherwise unknown
	opRec                // REC itself
	opField              // field
	opLoc                // a part of what the location word of field tells: what says which
	opAddr               // &REC->field
	opCast               // (typ)a
	opNeg                // -a
	opNot                // !a
	opCompl              // ~a
	opSwap               // a with its bytes in the other order, of type typ
	opDeref              // *a
	opIndex              // a[b]
	opBinary             // a name b
	opCond               // a ? b : c
	opFlags              // __print_flags(a, str, table)
	opSymbolic           // __print_symbolic(a, table)
	opHex                // __print_hex(a, b); val 1: without blanks
	opArray              // __print_array(a, b, c)
	opBitmask            // __get_bitmask(field)
	opDecode             // name(p, a, b) of a driver
)

// node is one node of an expression tree. Which members count depends on op.
type node struct {
	op      op
	bin     binOp
	typ     ctype
	val     uint64
	str     []byte
	name    string
	field   Field
	what    locPart
	table   []entry
	a, b, c *node

	// If isNumber is set (see settle), eval always gives an integer of the type number.
	settled, isNumber bool
	number            ctype

	// weight counts the nodes one evaluation may visit. A local variable's
	// expression is shared by all its uses, so this can outgrow the tree.
	weight int
}

// locPart says which part of a dynamic field an opLoc gives.
type locPart uint8

const (
	locData locPart = iota // the bytes
	locText                // the bytes as a C string
	locLen                 // how many bytes
)

// entry is one row of a __print_flags or __print_symbolic table.
type entry struct {
	val   uint64
	text  string
	known bool // val was computed; false: only the kernel could
}

type binOp uint8

const (
	binNone binOp = iota
	binMul
	binDiv
	binMod
	binAdd
	binSub
	binShl
	binShr
	binLt
	binGt
	binLe
	binGe
	binEq
	binNe
	binAnd
	binXor
	binOr
	binLogAnd
	binLogOr
)

// binaryOp returns an operator and its precedence in C; the operator that binds
// most tightly has the highest.
func binaryOp(text string) (op binOp, prec int) {
	switch text {
	case "*":
		return binMul, 10
	case "/":
		return binDiv, 10
	case "%":
		return binMod, 10
	case "+":
		return binAdd, 9
	case "-":
		return binSub, 9
	case "<<":
		return binShl, 8
	case ">>":
		return binShr, 8
	case "<":
		return binLt, 7
	case ">":
		return binGt, 7
	case "<=":
		return binLe, 7
	case ">=":
		return binGe, 7
	case "==":
		return binEq, 6
	case "!=":
		return binNe, 6
	case "&":
		return binAnd, 5
	case "^":
		return binXor, 4
	case "|":
		return binOr, 3
	case "&&":
		return binLogAnd, 2
	case "||":
		return binLogOr, 1
	}
	return binNone, 0
}

// isConst reports whether a node is a constant, which needs no record.
func (n *node) isConst() bool { return n != nil && n.op == opConst }

// fold replaces an operation on constants by its result.
func fold(n *node) *node {
	switch n.op {
	case opCast, opNeg, opNot, opCompl, opSwap:
		if n.op == opCast && n.typ.elem > 0 || !n.a.isConst() {
			return n
		}
	case opBinary:
		if !n.a.isConst() || !n.b.isConst() {
			return n
		}
	case opCond:
		// ({ a ? b : c }) on a constant a: the other branch never runs.
		if n.a.isConst() && n.b != nil {
			if n.a.val != 0 {
				return n.b
			}
			return n.c
		}
		return n
	default:
		return n
	}
	v := eval(n, nil, nil)
	if v.kind != vInt || v.elem > 0 {
		return n
	}
	return &node{op: opConst, val: v.n, typ: ctype{size: int(v.size), signed: v.signed}, weight: 1}
}
