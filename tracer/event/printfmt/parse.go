package printfmt

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxDepth bounds the nesting of an expression; the kernel's deepest, the
	// GFP flag tables, stay below 20.
	maxDepth = 200
	// maxWeight bounds the nodes one evaluation of an argument may visit.
	maxWeight = 1 << 16
	// maxSource bounds a print fmt, in bytes; the kernel's longest has 20,000.
	maxSource = 1 << 18
	// maxUnknown bounds how many unknown names are remembered.
	maxUnknown = 100
)

// parser is a recursive descent over the tokens of one print fmt.
type parser struct {
	toks    []token
	pos     int
	depth   int
	lookup  func(string) (Field, bool)
	locals  map[string]*node
	unknown []string
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

// is reports whether the next token is this punctuation.
func (p *parser) is(text string) bool {
	t := p.peek()
	return t.kind == tokPunct && t.text == text
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.errorf("expected %q, found %q", text, p.peek().text)
	}
	return nil
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("offset %d: %s", p.peek().pos, fmt.Sprintf(format, args...))
}

// make finishes a node: counts its weight, folds constants.
func (p *parser) make(n *node) (*node, error) {
	n.weight = 1
	for _, k := range []*node{n.a, n.b, n.c} {
		if k != nil {
			n.weight += k.weight
		}
	}
	if n.weight > maxWeight {
		return nil, p.errorf("expression too large")
	}
	return fold(n), nil
}

func (p *parser) makeUnknown(name string) (*node, error) {
	p.note(name)
	return p.make(&node{op: opUnknown, name: name})
}

func (p *parser) note(unknown string) {
	if len(p.unknown) < maxUnknown && !slices.Contains(p.unknown, unknown) {
		p.unknown = append(p.unknown, unknown)
	}
}

// strings joins adjacent string literals.
func (p *parser) strings() string {
	var b strings.Builder
	for p.peek().kind == tokString {
		b.WriteString(p.next().text)
	}
	return b.String()
}

// expr parses an expression without commas.
func (p *parser) expr() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorf("nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	cond, err := p.binaryExpr(1)
	if err != nil || !p.accept("?") {
		return cond, err
	}
	n := &node{op: opCond, a: cond}
	if !p.is(":") { // GNU's a ?: b has no middle
		if n.b, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	if n.c, err = p.expr(); err != nil {
		return nil, err
	}
	return p.make(n)
}

// binaryExpr parses operators of precedence lowest and above, left to right.
func (p *parser) binaryExpr(lowest int) (*node, error) {
	left, err := p.unary()
	for err == nil {
		t := p.peek()
		op, prec := binaryOp(t.text)
		if t.kind != tokPunct || op == binNone || prec < lowest {
			return left, nil
		}
		p.next()
		var right *node
		if right, err = p.binaryExpr(prec + 1); err != nil {
			break
		}
		left, err = p.make(&node{op: opBinary, bin: op, a: left, b: right})
	}
	return nil, err
}

func (p *parser) unary() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorf("nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	t := p.peek()
	if t.kind == tokIdent && t.text == "sizeof" {
		p.next()
		return p.sizeof()
	}
	if t.kind == tokPunct {
		switch t.text {
		case "-", "!", "~", "*", "+":
			p.next()
			return p.prefix(t.text)
		case "&":
			p.next()
			return p.addressOf()
		case "(":
			if p.startsType(p.pos + 1) {
				return p.cast()
			}
		}
	}
	return p.postfix()
}

func (p *parser) prefix(text string) (*node, error) {
	a, err := p.unary()
	if err != nil || text == "+" {
		return a, err
	}
	n := &node{a: a}
	switch text {
	case "-":
		n.op = opNeg
	case "!":
		n.op = opNot
	case "~":
		n.op = opCompl
	case "*":
		n.op = opDeref
	}
	return p.make(n)
}

// addressOf parses what follows &: a field, an element of an array, or
// something in parentheses that is one.
func (p *parser) addressOf() (*node, error) {
	a, err := p.unary()
	if err != nil {
		return nil, err
	}
	switch a.op {
	case opField:
		return p.make(&node{op: opAddr, field: a.field})
	case opIndex:
		return p.make(&node{op: opBinary, bin: binAdd, a: a.a, b: a.b})
	case opDeref:
		return a.a, nil
	case opUnknown:
		return a, nil
	}
	return nil, p.errorf("& of something without an address")
}

// startsType reports whether the tokens from i on, just after a parenthesis,
// begin a type name.
func (p *parser) startsType(i int) bool {
	t := p.toks[i]
	if t.kind != tokIdent || p.locals[t.text] != nil {
		return false
	}
	if t.text == "REC" || !isTypeWord(t.text) {
		return false
	}
	return true
}

// typeName parses words and stars up to a closing parenthesis, which it takes.
func (p *parser) typeName() (ctype, error) {
	var words []string
	stars := 0
	for {
		t := p.next()
		switch {
		case t.kind == tokIdent:
			words = append(words, t.text)
		case t.kind == tokPunct && t.text == "*":
			stars++
		case t.kind == tokPunct && t.text == ")" && len(words) > 0:
			return typeOf(words, stars), nil
		default:
			return ctype{}, fmt.Errorf("offset %d: bad type name at %q", t.pos, t.text)
		}
	}
}

func (p *parser) cast() (*node, error) {
	p.next()
	typ, err := p.typeName()
	if err != nil {
		return nil, err
	}
	a, err := p.unary()
	if err != nil {
		return nil, err
	}
	if a.op == opRec {
		return a, nil
	}
	return p.make(&node{op: opCast, typ: typ, a: a})
}

func (p *parser) sizeof() (*node, error) {
	if p.is("(") && p.startsType(p.pos+1) {
		p.next()
		typ, err := p.typeName()
		if err != nil {
			return nil, err
		}
		return p.make(&node{op: opConst, typ: ulongType, val: uint64(typ.size)})
	}
	a, err := p.unary()
	if err != nil {
		return nil, err
	}
	size := 8
	switch a.op {
	case opField:
		size = a.field.Size
	case opIndex:
		if a.a.op == opField {
			size = a.a.field.Elem
		}
	case opConst, opCast:
		size = a.typ.size
	}
	return p.make(&node{op: opConst, typ: ulongType, val: uint64(size)})
}

// postfix parses a primary and the ->, . and [] after it.
func (p *parser) postfix() (*node, error) {
	n, err := p.primary()
	for err == nil {
		switch {
		case p.accept("->"), p.accept("."):
			n, err = p.member(n)
		case p.accept("["):
			var i *node
			if i, err = p.expr(); err != nil {
				return nil, err
			}
			if err = p.expect("]"); err != nil {
				return nil, err
			}
			n, err = p.make(&node{op: opIndex, a: n, b: i})
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) member(of *node) (*node, error) {
	t := p.next()
	if t.kind != tokIdent {
		return nil, fmt.Errorf("offset %d: expected a member name, found %q", t.pos, t.text)
	}
	if of.op == opRec {
		if f, ok := p.lookup(t.text); ok {
			return p.make(&node{op: opField, field: f})
		}
		return p.makeUnknown("REC->" + t.text)
	}
	if of.op == opUnknown {
		return p.make(&node{op: opUnknown, name: of.name})
	}
	return p.makeUnknown("->" + t.text)
}

func (p *parser) primary() (*node, error) {
	t := p.next()
	switch {
	case t.kind == tokNumber:
		return p.make(&node{op: opConst, val: t.val, typ: t.typ})
	case t.kind == tokString:
		return p.make(&node{op: opString, str: []byte(t.text + p.strings())})
	case t.kind == tokIdent:
		return p.name(t)
	case t.kind == tokPunct && t.text == "(":
		if p.is("{") {
			return p.statements()
		}
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	}
	return nil, fmt.Errorf("offset %d: unexpected %q", t.pos, t.text)
}

func (p *parser) name(t token) (*node, error) {
	if p.is("(") {
		return p.call(t)
	}
	if n := p.locals[t.text]; n != nil {
		return n, nil
	}
	switch t.text {
	case "REC":
		return p.make(&node{op: opRec})
	case "NULL", "false":
		return p.make(&node{op: opConst, typ: intType})
	case "true":
		return p.make(&node{op: opConst, typ: intType, val: 1})
	case "vmemmap_base":
		return p.make(&node{op: opConst, typ: ulongType, val: vmemmapBase})
	}
	if v, ok := constant(t.text); ok {
		return p.make(&node{op: opConst, typ: intType, val: v})
	}
	p.note(t.text)
	return p.make(&node{op: opSymbol, name: t.text})
}

// vmemmapBase is where x86-64 with four page-table levels and no address
// randomisation keeps its struct pages.
//
// Departure: a randomised kernel moves it; the pointers made from it are
// hashed in the kernel's text and could not be compared anyway.
const vmemmapBase = 0xffffea0000000000
