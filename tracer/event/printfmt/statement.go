package printfmt

import "fmt"

// statements parses ({ type name = expr; … expr; }). The formats' expressions
// have no side effects, so a variable is simply its expression.
func (p *parser) statements() (*node, error) {
	p.next()
	saved := p.locals
	defer func() { p.locals = saved }()
	p.locals = make(map[string]*node, len(saved)+2)
	for k, v := range saved {
		p.locals[k] = v
	}
	for {
		if p.peek().kind == tokIdent && isTypeWord(p.peek().text) {
			if err := p.declaration(); err != nil {
				return nil, err
			}
			continue
		}
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		p.accept(";")
		if p.accept("}") {
			return n, p.expect(")")
		}
	}
}

func (p *parser) declaration() error {
	var words []string
	stars := 0
	for !p.is("=") {
		t := p.next()
		switch {
		case t.kind == tokIdent:
			words = append(words, t.text)
		case t.kind == tokPunct && t.text == "*":
			stars++
		default:
			return fmt.Errorf("offset %d: bad declaration at %q", t.pos, t.text)
		}
	}
	if len(words) < 2 {
		return p.errorf("declaration without a name")
	}
	p.next()
	a, err := p.expr()
	if err != nil {
		return err
	}
	name := words[len(words)-1]
	n, err := p.make(&node{op: opCast, typ: typeOf(words[:len(words)-1], stars), a: a})
	if err != nil {
		return err
	}
	p.locals[name] = n
	return p.expect(";")
}
