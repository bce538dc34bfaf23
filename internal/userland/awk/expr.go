package awk

import (
	"math"
	"regexp"
	"strings"
)

type expr interface{ eval(m *machine) value }

// lvalue is an expression that can be assigned to.
type lvalue interface {
	expr
	set(m *machine, v value)
}

type (
	constExpr  struct{ v value }
	regexpExpr struct{ re *regexp.Regexp }
	varExpr    struct{ index int }
	fieldExpr  struct{ index expr }
	elemExpr   struct {
		array int
		key   expr
	}
	parenExpr  struct{ e expr }
	groupExpr  struct{ list []expr } // (a, b): for "in" and print only
	joinExpr   struct{ list []expr } // a SUBSEP b
	assignExpr struct {
		target lvalue
		op     string // "" or the operator before =
		e      expr
	}
	condExpr  struct{ cond, yes, no expr }
	logicExpr struct {
		left, right expr
		or          bool
	}
	inExpr struct {
		key   expr
		array int
	}
	matchExpr struct {
		left, pattern expr
		negated       bool
		constant      bool // /re/ alone: a pattern where one is wanted
	}
	compareExpr struct {
		left  expr
		op    string
		right expr
	}
	concatExpr struct{ left, right expr }
	arithExpr  struct {
		left  expr
		op    byte
		right expr
	}
	unaryExpr struct {
		op byte
		e  expr
	}
	stepExpr struct { // ++ and --
		target  lvalue
		by      float64
		postfix bool
	}
)

func (e *constExpr) eval(*machine) value   { return e.v }
func (e *varExpr) eval(m *machine) value   { return m.getVar(e.index) }
func (e *fieldExpr) eval(m *machine) value { return m.field(e.at(m)) }
func (e *parenExpr) eval(m *machine) value { return e.e.eval(m) }

// eval of a bare pattern, used as a value, matches the record.
func (e *regexpExpr) eval(m *machine) value { return boolean(e.re.MatchString(m.getRecord())) }

func (e *elemExpr) eval(m *machine) value {
	return m.elem(e.array, e.key.eval(m).string(m.convfmt())).value
}

func (e *groupExpr) eval(m *machine) value {
	m.fail("a list in parentheses is no value")
	return value{}
}

func (e *joinExpr) eval(m *machine) value {
	parts := make([]string, len(e.list))
	for i, part := range e.list {
		parts[i] = part.eval(m).string(m.convfmt())
	}
	return str(strings.Join(parts, m.vars[varSUBSEP].s))
}

func (e *varExpr) set(m *machine, v value)   { m.setVar(e.index, v) }
func (e *fieldExpr) set(m *machine, v value) { m.setField(e.at(m), v) }

func (e *elemExpr) set(m *machine, v value) {
	m.setElem(e.array, e.key.eval(m).string(m.convfmt()), v)
}

// elem is the element of an array, made if it is not there.
func (m *machine) elem(array int, key string) *cell {
	c, ok := m.arrays[array].cells[key]
	if !ok {
		c = m.arrays[array].at(key)
		m.charge(c.size(key))
	}
	return c
}

func (m *machine) setElem(array int, key string, v value) {
	c := m.elem(array, key)
	m.charge(len(v.s) - len(c.s))
	c.value = v
}

func (m *machine) deleteElem(array int, key string) {
	if c, ok := m.arrays[array].cells[key]; ok {
		m.charge(-c.size(key))
		delete(m.arrays[array].cells, key)
	}
}

func (m *machine) clearArray(array int) {
	for key, c := range m.arrays[array].cells {
		m.charge(-c.size(key))
	}
	clear(m.arrays[array].cells)
}

func (e *fieldExpr) at(m *machine) int {
	n := e.index.eval(m).number()
	if n > maxFields || n != n {
		m.fail("attempt to access field %g", n)
	}
	return int(n)
}

func (e *assignExpr) eval(m *machine) value {
	v := e.e.eval(m)
	if e.op != "" {
		v = num(m.arith(e.op[0], e.target.eval(m).number(), v.number()))
	}
	e.target.set(m, v)
	return v
}

func (e *condExpr) eval(m *machine) value {
	if e.cond.eval(m).truth() {
		return e.yes.eval(m)
	}
	return e.no.eval(m)
}

func (e *logicExpr) eval(m *machine) value {
	if e.left.eval(m).truth() == e.or {
		return boolean(e.or)
	}
	return boolean(e.right.eval(m).truth())
}

func (e *inExpr) eval(m *machine) value {
	_, ok := m.arrays[e.array].cells[e.key.eval(m).string(m.convfmt())]
	return boolean(ok)
}

func (e *matchExpr) eval(m *machine) value {
	s := e.left.eval(m).string(m.convfmt())
	return boolean(m.regexp(e.pattern).MatchString(s) != e.negated)
}

func (e *compareExpr) eval(m *machine) value {
	left, right := e.left.eval(m), e.right.eval(m)
	c := compare(left, right, m.convfmt())
	switch e.op {
	case "<":
		return boolean(c < 0)
	case "<=":
		return boolean(c <= 0)
	case "==":
		return boolean(c == 0)
	case "!=":
		return boolean(c != 0)
	case ">":
		return boolean(c > 0)
	}
	return boolean(c >= 0)
}

func (e *concatExpr) eval(m *machine) value {
	s := e.left.eval(m).string(m.convfmt()) + e.right.eval(m).string(m.convfmt())
	if len(s) > maxString {
		m.fail("string is too long")
	}
	return str(s)
}

func (e *arithExpr) eval(m *machine) value {
	left := e.left.eval(m).number()
	return num(m.arith(e.op, left, e.right.eval(m).number()))
}

func (m *machine) arith(op byte, a, b float64) float64 {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '^':
		return math.Pow(a, b)
	}
	if b == 0 {
		m.fail("division by zero")
	}
	if op == '%' {
		return math.Mod(a, b)
	}
	return a / b
}

func (e *unaryExpr) eval(m *machine) value {
	v := e.e.eval(m)
	switch e.op {
	case '!':
		return boolean(!v.truth())
	case '-':
		return num(-v.number())
	}
	return num(v.number())
}

func (e *stepExpr) eval(m *machine) value {
	old := e.target.eval(m).number()
	e.target.set(m, num(old+e.by))
	if e.postfix {
		return num(old)
	}
	return num(old + e.by)
}
