package hist

import (
	"fmt"
	"strings"
	"syscall"
)

// op is the operator of an expression.
//
// Kernel: enum field_op_id, kernel/trace/trace_events_hist.c.
type op uint8

const (
	opNone op = iota
	opPlus
	opMinus
	opUnaryMinus
	opDiv
	opMult
)

// operators lists the signs that stand between two operands, and what each does
// to numbers.
var operators = [...]struct {
	sign byte
	fn   fn
}{
	opPlus:  {'+', fnPlus},
	opMinus: {'-', fnMinus},
	opDiv:   {'/', fnDiv},
	opMult:  {'*', fnMult},
}

// rootOperator finds the operator that is applied last, and its place: the
// rightmost one of the lowest precedence, so that a-b-c is (a-b)-c. If the last
// minus is at the beginning, it is the root and unary.
//
// Kernel: contains_operator, kernel/trace/trace_events_hist.c.
func rootOperator(text string) (op, int) {
	minus, plus := strings.LastIndexByte(text, '-'), strings.LastIndexByte(text, '+')
	switch {
	case minus == 0:
		return opUnaryMinus, 0
	case plus > minus:
		return opPlus, plus
	case minus >= 0:
		return opMinus, minus
	}
	div, mult := strings.LastIndexByte(text, '/'), strings.LastIndexByte(text, '*')
	switch {
	case mult > div:
		return opMult, mult
	case div >= 0:
		return opDiv, div
	}
	return opNone, 0
}

// parseExpr reads an expression. Parentheses do not group: they are allowed
// only in -(x). v is the variable it defines, nil if it is a value or a key.
//
// Kernel: parse_expr, kernel/trace/trace_events_hist.c.
func (h *Hist) parseExpr(text string, fl flags, v *varDef) (*Field, error) {
	x := exprParser{Hist: h, v: v}
	return x.parse(text, fl, v)
}

// exprParser is the state of parseExpr.
type exprParser struct {
	*Hist
	v         *varDef // the variable that gets the value, nil if none does
	operators int
}

// parse reads an expression or an operand of one, for which v is nil.
func (x *exprParser) parse(text string, fl flags, v *varDef) (*Field, error) {
	if x.operators > subexprsMax {
		return nil, x.fault(msgTooManySubexprs, text, syscall.EINVAL)
	}
	operator, at := rootOperator(text)
	if x.v != nil && x.v.expr == text {
		x.v.expr = leftmost(text, operator, at)
	}
	switch operator {
	case opNone:
		return x.parseAtom(text, &fl, v)
	case opUnaryMinus:
		return x.parseUnary(text, fl, v)
	}
	x.operators++
	left, right := text[:at], text[at+1:]
	if left == "" || right == "" {
		return nil, invalid("an operand is missing", text)
	}
	operand1, err := x.parseOperand(left)
	if err != nil {
		return nil, err
	}
	operand2, err := x.parseOperand(right)
	if err != nil {
		return nil, err
	}
	return x.binary(operator, operand1, operand2, right, fl, v)
}

func (x *exprParser) parseOperand(text string) (*Field, error) {
	f, err := x.parse(text, 0, nil)
	if err != nil {
		return nil, err
	}
	if f.flags&flagString != 0 {
		return nil, x.fault(msgStringOperand, residue(text), syscall.EINVAL)
	}
	return f, nil
}

// leftmost returns what the kernel's buffer holds of an expression, up to its
// first NUL, once the expression is taken apart at its root.
func leftmost(text string, operator op, at int) string {
	switch {
	case operator == opUnaryMinus:
		return text
	case operator != opNone:
		return text[:at]
	}
	return unqualified(text)
}

// unqualified returns what the buffer holds of SYSTEM.EVENT.NAME: the system.
func unqualified(text string) string {
	if strings.Count(text, ".") >= 2 && !isDigit(text[0]) {
		text, _, _ = strings.Cut(text, ".")
	}
	return text
}

// residue returns what the kernel's buffer holds of an expression when all of it
// has been read. Faults that are found afterwards look for that text in the
// command. If such an expression has defined a variable, a later reference takes
// that text for the definition: after x=prev_pid+1, y=$x is y=prev_pid.
func residue(text string) string {
	for {
		operator, at := rootOperator(text)
		if operator == opUnaryMinus {
			if end := strings.LastIndexByte(text, ')'); end > 1 {
				return text[:2] + residue(text[2:end])
			}
			return text
		}
		rest := leftmost(text, operator, at)
		if operator == opNone {
			return rest
		}
		text = rest
	}
}

// binary joins two operands, and folds them if both are constants.
func (x *exprParser) binary(operator op, operand1, operand2 *Field, right string, fl flags, v *varDef) (*Field, error) {
	// For a reference, the variable tells what the operand is.
	var1, err := operand1.referent()
	if err != nil {
		return nil, err
	}
	var2, err := operand2.referent()
	if err != nil {
		return nil, err
	}
	if (var1.flags^var2.flags)&flagUsecs != 0 {
		return nil, x.fault(msgTimestampMismatch, "", syscall.EINVAL)
	}
	constant := var1.flags&var2.flags&flagConst != 0
	if constant {
		fl |= flagConst
	} else {
		fl |= flagExpr
	}
	fl |= operand1.flags & (flagTimestamp | flagUsecs)
	f, err := x.newField(nil, 0, fl, v)
	if err != nil {
		return nil, err
	}
	operand1.readOnce, operand2.readOnce = true, true
	f.operands = [2]*Field{operand1, operand2}
	f.fn = operators[operator].fn
	if operator == opDiv && var2.flags&flagConst != 0 {
		if operand2.constant = var2.constant; operand2.constant == 0 {
			return nil, x.fault(msgDivisionByZero, residue(right), syscall.EDOM)
		}
		f.fn = operand2.divisor()
	}
	if constant {
		f.operands = [2]*Field{var1, var2}
		// The variable has no multiplier, so dividing by a variable that is not
		// a power of 2 gives 0.
		f.constant = f.value(nil, nil).N
		f.fn, f.operands = fnConst, [2]*Field{}
	} else {
		f.size, f.signed, f.typ = operand1.size, operand1.signed, operand1.typ
		f.op = operator
	}
	f.name, err = f.expr(0)
	return f, err
}

// referent returns the variable that a reference reads; for any other field it
// returns the field itself. Errors: EINVAL if the variable is one that an
// action made.
//
// Kernel: check_expr_operands, kernel/trace/trace_events_hist.c.
func (f *Field) referent() (*Field, error) {
	if f.flags&(flagVarRef|flagAlias) == 0 {
		return f, nil
	}
	if v := f.hist.findVar(f.name); v != nil {
		return v, nil
	}
	return nil, invalid("no variable", f.name)
}

// parseUnary reads -(x).
//
// Kernel: parse_unary, kernel/trace/trace_events_hist.c.
func (x *exprParser) parseUnary(text string, fl flags, v *varDef) (*Field, error) {
	if x.operators++; x.operators > subexprsMax {
		return nil, x.fault(msgTooManySubexprs, text, syscall.EINVAL)
	}
	text = text[1:]
	if strings.IndexByte(text, '(') < 0 {
		return nil, invalid("no parenthesis in", text)
	}
	text = text[1:]
	end := strings.LastIndexByte(text, ')')
	switch {
	case end < 0:
		return nil, invalid("no closing parenthesis in", text)
	case end < len(text)-1:
		return nil, x.fault(msgUnaryMinus, text, syscall.EINVAL)
	}
	f, err := x.newField(nil, 0, fl|flagExpr, v)
	if err != nil {
		return nil, err
	}
	operand, err := x.parseOperand(text[:end])
	if err != nil {
		return nil, err
	}
	f.flags |= operand.flags & (flagTimestamp | flagUsecs)
	f.fn, f.op, f.operands[0] = fnUnaryMinus, opUnaryMinus, operand
	f.size, f.signed, f.typ = operand.size, operand.signed, operand.typ
	f.name, err = f.expr(0)
	return f, err
}

// expr returns the expression as files show it. Errors: EINVAL if it is nested
// too deep, E2BIG if it is too long.
//
// Kernel: expr_str, kernel/trace/trace_events_hist.c.
func (f *Field) expr(level int) (string, error) {
	var b []byte
	switch {
	case level > 1:
		return "", invalid("an expression too deep", f.name)
	case f.operands[0] == nil:
		b = f.appendExpr(b)
	case f.op == opUnaryMinus:
		operand, err := f.operands[0].expr(level + 1)
		if err != nil {
			return "", err
		}
		b = fmt.Appendf(b, "-(%s)", operand)
	case f.op == opNone:
		return "", invalid("no expression", f.label())
	default:
		b = append(f.operands[0].appendExpr(b), operators[f.op].sign)
		b = f.operands[1].appendExpr(b)
	}
	if len(b) >= textMax {
		return "", fmt.Errorf("hist: an expression of %d bytes: %w", len(b), syscall.E2BIG)
	}
	return string(b), nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
