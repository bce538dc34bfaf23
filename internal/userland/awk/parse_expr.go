package awk

// The expression grammar, from the loosest binding to the tightest.

func (p *parser) expr() expr {
	defer p.enter()()
	cond := p.or()
	if p.op("?") {
		p.advance()
		p.newlines()
		yes := p.expr()
		p.newlines()
		p.expect(":")
		p.newlines()
		return &condExpr{cond, yes, p.expr()}
	}
	target, ok := cond.(lvalue)
	if !ok || p.tok.kind != tokOp {
		return cond
	}
	switch p.tok.text {
	case "=":
		p.advance()
		p.newlines()
		return &assignExpr{target, "", p.expr()}
	case "+=", "-=", "*=", "/=", "%=", "^=":
		operator := p.tok.text[:1]
		p.advance()
		p.newlines()
		return &assignExpr{target, operator, p.expr()}
	}
	return cond
}

func (p *parser) or() expr {
	left := p.and()
	for p.op("||") {
		p.advance()
		p.newlines()
		left = &logicExpr{left, p.and(), true}
	}
	return left
}

func (p *parser) and() expr {
	left := p.in()
	for p.op("&&") {
		p.advance()
		p.newlines()
		left = &logicExpr{left, p.in(), false}
	}
	return left
}

func (p *parser) in() expr {
	left := p.match()
	for p.keyword("in") {
		p.advance()
		if p.tok.kind != tokName {
			p.fail("expected an array after in")
			return left
		}
		if g, ok := left.(*groupExpr); ok {
			left = &joinExpr{g.list}
		}
		left = &inExpr{left, p.variable(p.tok.text)}
		p.advance()
	}
	return left
}

func (p *parser) match() expr {
	left := p.compare()
	for p.op("~") || p.op("!~") {
		negated := p.tok.text == "!~"
		p.advance()
		left = &matchExpr{left: left, pattern: p.pattern(p.compare()), negated: negated}
	}
	return left
}

// pattern keeps a regexp constant as a pattern where one is wanted.
func (p *parser) pattern(e expr) expr {
	if m, ok := e.(*matchExpr); ok && m.constant {
		return m.pattern
	}
	return e
}

func (p *parser) compare() expr {
	left := p.concat()
	if p.tok.kind != tokOp {
		return left
	}
	switch op := p.tok.text; op {
	case ">":
		if p.noGreat {
			return left
		}
		fallthrough
	case "<", "<=", ">=", "==", "!=":
		p.advance()
		return &compareExpr{left, op, p.concat()}
	}
	return left
}

func (p *parser) concat() expr {
	left := p.additive()
	for p.startsOperand() {
		left = &concatExpr{left, p.additive()}
	}
	return left
}

// startsOperand: what may follow a value to be concatenated with it.
func (p *parser) startsOperand() bool {
	switch p.tok.kind {
	case tokNumber, tokString, tokName, tokFunc, tokRegexp:
		return true
	case tokOp:
		switch p.tok.text {
		case "$", "(", "!", "-", "+", "++", "--":
			return true
		}
	}
	return false
}

func (p *parser) additive() expr {
	left := p.multiplicative()
	for p.op("+") || p.op("-") {
		op := p.tok.text
		p.advance()
		left = &arithExpr{left, op[0], p.multiplicative()}
	}
	return left
}

func (p *parser) multiplicative() expr {
	left := p.unary()
	for p.op("*") || p.op("/") || p.op("%") {
		op := p.tok.text
		p.advance()
		left = &arithExpr{left, op[0], p.unary()}
	}
	return left
}

func (p *parser) unary() expr {
	defer p.enter()()
	for _, op := range []string{"!", "-", "+"} {
		if p.accept(op) {
			return &unaryExpr{op[0], p.unary()}
		}
	}
	return p.power()
}

func (p *parser) power() expr {
	base := p.postfix()
	if p.op("^") || p.op("**") {
		p.advance()
		return &arithExpr{base, '^', p.unary()}
	}
	return base
}

func (p *parser) postfix() expr {
	e := p.primary()
	target, ok := e.(lvalue)
	if ok && (p.op("++") || p.op("--")) {
		by := 1.0
		if p.tok.text == "--" {
			by = -1
		}
		p.advance()
		return &stepExpr{target, by, true}
	}
	return e
}

func (p *parser) primary() expr {
	t := p.tok
	switch t.kind {
	case tokNumber:
		p.advance()
		return &constExpr{num(t.num)}
	case tokString:
		p.advance()
		return &constExpr{str(t.text)}
	case tokRegexp:
		p.advance()
		return &matchExpr{left: &fieldExpr{&constExpr{num(0)}}, pattern: &regexpExpr{p.regexp(t.text)}, constant: true}
	case tokFunc:
		p.advance()
		return p.call(t.text)
	case tokName:
		p.advance()
		if p.accept("[") {
			return &elemExpr{p.variable(t.text), p.subscript()}
		}
		return &varExpr{p.variable(t.text)}
	}
	switch {
	case p.accept("$"):
		defer p.enter()()
		if p.op("++") || p.op("--") || p.op("-") || p.op("+") || p.op("!") {
			return &fieldExpr{p.unaryOperand()}
		}
		return &fieldExpr{p.primary()}
	case p.op("++"), p.op("--"):
		return p.unaryOperand()
	case p.accept("("):
		return p.group()
	}
	if t.kind == tokKeyword {
		p.fail("%s is not supported here in the lab's awk", t.text)
	} else {
		p.fail("syntax error near %q", t.text)
	}
	return &constExpr{}
}

// unaryOperand is a prefix ++, -- or sign with its operand.
func (p *parser) unaryOperand() expr {
	op := p.tok.text
	if op != "++" && op != "--" {
		return p.unary()
	}
	p.advance()
	target, ok := p.primary().(lvalue)
	if !ok {
		p.fail("%s wants a variable", op)
		return &constExpr{}
	}
	by := 1.0
	if op == "--" {
		by = -1
	}
	return &stepExpr{target, by, false}
}

// group is what follows (: one expression, or a list for "in" and print.
func (p *parser) group() expr {
	outer := p.noGreat
	p.noGreat = false
	list := p.exprList()
	p.noGreat = outer
	p.expect(")")
	if len(list) == 1 {
		return &parenExpr{list[0]}
	}
	return &groupExpr{list: list}
}

// call is a built-in function with its arguments.
func (p *parser) call(name string) expr {
	if !isBuiltin(name) {
		p.fail("function %s is not supported in the lab's awk", name)
		return &constExpr{}
	}
	c := &callExpr{name: name, array: -1}
	if !p.accept("(") {
		if name != "length" {
			p.fail("%s wants arguments", name)
		}
		return c
	}
	outer := p.noGreat
	p.noGreat = false
	p.newlines()
	if !p.op(")") {
		c.args = p.exprList()
	}
	p.newlines()
	p.noGreat = outer
	p.expect(")")
	p.checkCall(c)
	return c
}

// checkCall looks at the number and kinds of a function's arguments.
func (p *parser) checkCall(c *callExpr) {
	least, most := 1, 1
	switch c.name {
	case "length":
		least = 0
	case "substr", "split", "sub", "gsub":
		least, most = 2, 3
	case "index", "match", "atan2":
		least, most = 2, 2
	case "sprintf":
		most = len(c.args)
	}
	if len(c.args) < least || len(c.args) > most {
		p.fail("%s: wrong number of arguments", c.name)
		return
	}
	switch c.name {
	case "split":
		v, ok := c.args[1].(*varExpr)
		if !ok {
			p.fail("split: the second argument must be an array")
			return
		}
		c.array = v.index
		if len(c.args) == 3 {
			c.args[2] = p.pattern(c.args[2])
		}
	case "match":
		c.args[1] = p.pattern(c.args[1])
	case "sub", "gsub":
		c.args[0] = p.pattern(c.args[0])
		if len(c.args) == 3 {
			target, ok := c.args[2].(lvalue)
			if !ok {
				p.fail("%s: the third argument must be a variable", c.name)
				return
			}
			c.target = target
		} else {
			c.target = &fieldExpr{&constExpr{num(0)}}
		}
	case "length":
		if len(c.args) == 1 {
			if v, ok := c.args[0].(*varExpr); ok {
				c.array = v.index
			}
		}
	}
}
