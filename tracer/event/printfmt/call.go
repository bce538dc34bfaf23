package printfmt

// call parses a function call whose name has been read already.
func (p *parser) call(name token) (*node, error) {
	p.next()
	switch name.text {
	case "__get_str", "__get_rel_str":
		return p.fieldCall(&node{op: opLoc, what: locText})
	case "__get_dynamic_array", "__get_rel_dynamic_array", "__get_sockaddr", "__get_rel_sockaddr":
		return p.fieldCall(&node{op: opLoc, what: locData})
	case "__get_dynamic_array_len", "__get_rel_dynamic_array_len":
		return p.fieldCall(&node{op: opLoc, what: locLen})
	case "__get_bitmask", "__get_rel_bitmask", "__get_cpumask", "__get_rel_cpumask":
		return p.fieldCall(&node{op: opBitmask})
	case "__print_dynamic_array", "__print_rel_dynamic_array":
		return p.dynamicArrayCall()
	case "__print_flags", "__print_flags_u64":
		return p.tableCall(&node{op: opFlags})
	case "__print_symbolic", "__print_symbolic_u64":
		return p.tableCall(&node{op: opSymbolic})
	case "offsetof", "__builtin_offsetof":
		return p.skipCall(name.text)
	}
	if d, ok := decoders[name.text]; ok {
		return p.decoderCall(name.text, d)
	}
	args, err := p.args()
	if err != nil {
		return nil, err
	}
	n := known(name.text, args)
	if n == nil {
		n = inline(name.text, args)
	}
	if n == nil {
		return p.makeUnknown(name.text)
	}
	return p.make(n)
}

// known makes the node of a function that takes plain expressions; nil for a
// function, or a number of arguments, unknown here.
func known(name string, args []*node) *node {
	second := &node{op: opConst, typ: ulongType, val: 1_000_000_000, weight: 1} // in ns
	switch len(args) {
	case 1:
		switch name {
		case "__print_ns_to_secs":
			return &node{op: opBinary, bin: binDiv, a: args[0], b: second}
		case "__print_ns_without_secs":
			return &node{op: opBinary, bin: binMod, a: args[0], b: second}
		case "jiffies_to_msecs":
			return &node{op: opMsecs, name: name, a: args[0]}
		case "pte_val", "pmd_val", "pud_val", "p4d_val", "pgd_val",
			"native_make_pte", "native_make_pmd", "native_make_pud", "native_make_p4d", "native_make_pgd":
			return &node{op: opCast, typ: ulongType, a: args[0]} // structs of one word
		}
	case 2:
		switch name {
		case "__builtin_expect":
			return &node{op: opCast, typ: ctype{size: 8, signed: true}, a: args[0]}
		case "__print_hex":
			return &node{op: opHex, a: args[0], b: args[1]}
		case "__print_hex_str":
			return &node{op: opHex, val: 1, a: args[0], b: args[1]}
		}
	case 3:
		if name == "__print_array" {
			return &node{op: opArray, a: args[0], b: args[1], c: args[2]}
		}
	}
	return nil
}

// args parses expressions up to the closing parenthesis.
func (p *parser) args() ([]*node, error) {
	var args []*node
	if p.accept(")") {
		return nil, nil
	}
	for {
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		args = append(args, n)
		if p.accept(")") {
			return args, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

// fieldCall parses the one argument of a __get_ helper, a field's bare name.
func (p *parser) fieldCall(n *node) (*node, error) {
	t := p.next()
	if t.kind != tokIdent {
		return nil, p.errorf("expected a field name, found %q", t.text)
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	f, ok := p.lookup(t.text)
	if !ok {
		return p.makeUnknown("REC->" + t.text)
	}
	n.field = f
	return p.make(n)
}

// dynamicArrayCall parses (field, element size): __print_array of all of a
// dynamic field.
func (p *parser) dynamicArrayCall() (*node, error) {
	t := p.next()
	if t.kind != tokIdent {
		return nil, p.errorf("expected a field name, found %q", t.text)
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	size, err := p.args()
	if err != nil {
		return nil, err
	}
	f, ok := p.lookup(t.text)
	if !ok || len(size) != 1 {
		return p.makeUnknown("REC->" + t.text)
	}
	data := &node{op: opLoc, what: locData, field: f, weight: 1}
	bytes := &node{op: opLoc, what: locLen, field: f, weight: 1}
	n, err := p.make(&node{op: opBinary, bin: binDiv, a: bytes, b: size[0]})
	if err != nil {
		return nil, err
	}
	return p.make(&node{op: opArray, a: data, b: n, c: size[0]})
}

// tableCall parses (value, [delimiter,] { val, "text" }, …).
func (p *parser) tableCall(n *node) (*node, error) {
	var err error
	if n.a, err = p.expr(); err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	if n.op == opFlags {
		if p.peek().kind == tokString {
			n.str = []byte(p.strings())
		} else if _, err := p.expr(); err != nil { // NULL: no delimiter
			return nil, err
		}
		if err := p.expect(","); err != nil && !p.is(")") {
			return nil, err
		}
	}
	ended := false
	for !p.accept(")") {
		e, last, err := p.entry()
		if err != nil {
			return nil, err
		}
		ended = ended || last
		if !ended {
			n.table = append(n.table, e)
		}
		if !p.accept(",") && !p.is(")") {
			return nil, p.errorf("expected \",\" or \")\" in a table, found %q", p.peek().text)
		}
	}
	return p.make(n)
}

// entry parses { val, "text" }; last says that the text is NULL, which ends
// the table.
func (p *parser) entry() (e entry, last bool, err error) {
	if err := p.expect("{"); err != nil {
		return e, false, err
	}
	val, err := p.expr()
	if err != nil {
		return e, false, err
	}
	if val.isConst() {
		e.val, e.known = val.val, true
	}
	if err := p.expect(","); err != nil {
		return e, false, err
	}
	text, err := p.expr()
	if err != nil {
		return e, false, err
	}
	if text.op == opString {
		e.text = string(text.str)
	}
	return e, text.op != opString, p.expect("}")
}

// skipCall skips arguments that are not expressions.
func (p *parser) skipCall(name string) (*node, error) {
	for level := 1; level > 0; {
		t := p.next()
		switch {
		case t.kind == tokEOF:
			return nil, p.errorf("%s( without its closing parenthesis", name)
		case t.text == "(" && t.kind == tokPunct:
			level++
		case t.text == ")" && t.kind == tokPunct:
			level--
		}
	}
	return p.makeUnknown(name)
}
