package awk

import (
	"fmt"
	"regexp"

	"ftracelab/internal/userland/posixre"
)

// maxDepth bounds how deep a program may nest.
const maxDepth = 200

// Program is a parsed awk program. It holds no state and may be run often.
type Program struct {
	begin, end []stmt
	rules      []rule
	names      []string // of variables and arrays, by index
}

// rule is a pattern with its action. A nil action prints the record.
type rule struct {
	pattern, until expr // until: of a range
	action         []stmt
	prints         bool
}

// Parse parses a program. Errors name the line.
func Parse(src string) (*Program, error) {
	p := &parser{lex: lexer{src: src, line: 1, last: token{kind: tokNewline}}, prog: &Program{}, index: map[string]int{}}
	for _, name := range specials() {
		p.variable(name)
	}
	err := p.program()
	if p.err != nil {
		err = p.err
	}
	if err != nil {
		return nil, err
	}
	return p.prog, nil
}

// parser is a recursive descent over the tokens. The first error is kept and
// turns the rest of the input into EOF.
type parser struct {
	lex     lexer
	tok     token
	prog    *Program
	index   map[string]int
	err     error
	depth   int
	loops   int
	noGreat bool // inside print: > would be output
}

func (p *parser) advance() {
	if p.err != nil {
		p.tok = token{}
		return
	}
	t, err := p.lex.next()
	if err != nil {
		p.err = err
		t = token{}
	}
	p.tok = t
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("awk: line %d: %s", p.lex.line, fmt.Sprintf(format, args...))
	}
	p.tok = token{}
}

func (p *parser) op(text string) bool      { return p.tok.kind == tokOp && p.tok.text == text }
func (p *parser) keyword(text string) bool { return p.tok.kind == tokKeyword && p.tok.text == text }

func (p *parser) accept(text string) bool {
	if p.op(text) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("expected %s near %q", text, p.tok.text)
	}
}

func (p *parser) newlines() {
	for p.tok.kind == tokNewline {
		p.advance()
	}
}

func (p *parser) terminators() {
	for p.tok.kind == tokNewline || p.op(";") {
		p.advance()
	}
}

// enter counts a level of nesting; the caller defers the leave.
func (p *parser) enter() (leave func()) {
	p.depth++
	if p.depth > maxDepth {
		p.fail("nested too deeply")
	}
	return func() { p.depth-- }
}

func (p *parser) variable(name string) int {
	if i, ok := p.index[name]; ok {
		return i
	}
	i := len(p.prog.names)
	p.prog.names = append(p.prog.names, name)
	p.index[name] = i
	return i
}

func (p *parser) program() error {
	p.advance()
	for p.terminators(); p.tok.kind != tokEOF; p.terminators() {
		p.item()
	}
	return p.err
}

func (p *parser) item() {
	switch {
	case p.keyword("BEGIN"):
		p.advance()
		p.prog.begin = append(p.prog.begin, p.block()...)
		return
	case p.keyword("END"):
		p.advance()
		p.prog.end = append(p.prog.end, p.block()...)
		return
	case p.keyword("function"), p.keyword("func"):
		p.fail("functions are not supported in the lab's awk")
		return
	}
	r := rule{prints: true}
	if !p.op("{") {
		r.pattern = p.expr()
		if p.accept(",") {
			p.newlines()
			r.until = p.expr()
		}
	}
	if p.op("{") {
		r.action, r.prints = p.block(), false
	}
	p.prog.rules = append(p.prog.rules, r)
}

// block is { statements }.
func (p *parser) block() []stmt {
	defer p.enter()()
	p.expect("{")
	var list []stmt
	for p.terminators(); p.err == nil && !p.op("}"); p.terminators() {
		if p.tok.kind == tokEOF {
			p.fail("unexpected end of program, } is missing")
			return list
		}
		list = append(list, p.stmt())
	}
	p.expect("}")
	return list
}

// body is the statement of an if or a loop.
func (p *parser) body() []stmt {
	p.newlines()
	if p.accept(";") {
		return nil
	}
	if p.op("{") {
		return p.block()
	}
	return []stmt{p.stmt()}
}

func (p *parser) stmt() stmt {
	defer p.enter()()
	if p.op("{") {
		return &blockStmt{p.block()}
	}
	if p.tok.kind == tokKeyword {
		switch p.tok.text {
		case "if":
			return p.ifStmt()
		case "while":
			return p.whileStmt()
		case "do":
			return p.doStmt()
		case "for":
			return p.forStmt()
		}
	}
	s := p.simple()
	p.endSimple()
	return s
}

func (p *parser) endSimple() {
	if p.tok.kind == tokNewline || p.op(";") {
		p.advance()
		return
	}
	if p.op("|") || p.op(">") {
		p.fail("%s: pipes and output to files are not supported in the lab's awk", p.tok.text)
		return
	}
	if !p.op("}") && p.tok.kind != tokEOF {
		p.fail("syntax error near %q", p.tok.text)
	}
}

func (p *parser) condition() expr {
	p.expect("(")
	e := p.expr()
	p.expect(")")
	return e
}

func (p *parser) ifStmt() stmt {
	p.advance()
	s := &ifStmt{cond: p.condition()}
	s.then = p.body()
	mark, tok := p.lex, p.tok
	p.terminators()
	if p.keyword("else") {
		p.advance()
		s.otherwise = p.body()
		return s
	}
	if p.err == nil {
		p.lex, p.tok = mark, tok
	}
	return s
}

func (p *parser) loopBody() []stmt {
	p.loops++
	defer func() { p.loops-- }()
	return p.body()
}

func (p *parser) whileStmt() stmt {
	p.advance()
	return &loopStmt{cond: p.condition(), body: p.loopBody()}
}

func (p *parser) doStmt() stmt {
	p.advance()
	s := &loopStmt{first: true, body: p.loopBody()}
	p.terminators()
	if !p.keyword("while") {
		p.fail("expected while after do")
		return s
	}
	p.advance()
	s.cond = p.condition()
	p.endSimple()
	return s
}

func (p *parser) forStmt() stmt {
	p.advance()
	p.expect("(")
	if p.tok.kind == tokName { // for (key in array)
		mark, tok := p.lex, p.tok
		key := p.tok.text
		p.advance()
		if p.keyword("in") {
			p.advance()
			name := p.tok
			p.advance()
			if name.kind == tokName && p.accept(")") {
				return &forInStmt{key: p.variable(key), array: p.variable(name.text), body: p.loopBody()}
			}
		}
		if p.err != nil {
			return &blockStmt{}
		}
		p.lex, p.tok = mark, tok
	}
	s := &loopStmt{}
	if !p.op(";") {
		s.init = p.simple()
	}
	p.expect(";")
	p.newlines()
	if !p.op(";") {
		s.cond = p.expr()
	}
	p.expect(";")
	p.newlines()
	if !p.op(")") {
		s.step = p.simple()
	}
	p.expect(")")
	s.body = p.loopBody()
	return s
}

// simple is a statement without a body.
func (p *parser) simple() stmt {
	if p.tok.kind != tokKeyword {
		return &exprStmt{p.expr()}
	}
	word := p.tok.text
	p.advance()
	switch word {
	case "print", "printf":
		return p.printStmt(word == "printf")
	case "break", "continue":
		if p.loops == 0 {
			p.fail("%s outside a loop", word)
		}
		if word == "break" {
			return &jumpStmt{jumpBreak}
		}
		return &jumpStmt{jumpContinue}
	case "next":
		return &jumpStmt{jumpNext}
	case "exit":
		if p.tok.kind == tokNewline || p.tok.kind == tokEOF || p.op(";") || p.op("}") {
			return &exitStmt{}
		}
		return &exitStmt{p.expr()}
	case "delete":
		return p.deleteStmt()
	}
	p.fail("%s is not supported in the lab's awk", word)
	return &blockStmt{}
}

func (p *parser) deleteStmt() stmt {
	if p.tok.kind != tokName {
		p.fail("delete wants an array")
		return &blockStmt{}
	}
	s := &deleteStmt{array: p.variable(p.tok.text)}
	p.advance()
	if p.accept("[") {
		s.key = p.subscript()
	}
	return s
}

// printStmt is print or printf with its list, which may be in parentheses.
func (p *parser) printStmt(formatted bool) stmt {
	s := &printStmt{formatted: formatted}
	outer := p.noGreat
	p.noGreat = true
	if !p.endOfSimple() {
		s.list = p.exprList()
		if len(s.list) == 1 {
			if g, ok := s.list[0].(*groupExpr); ok {
				s.list = g.list
			}
		}
	}
	p.noGreat = outer
	if p.op(">") || p.op(">>") || p.op("|") {
		p.fail("output to files and pipes is not supported in the lab's awk")
	}
	if formatted && len(s.list) == 0 {
		p.fail("printf wants a format")
	}
	return s
}

func (p *parser) endOfSimple() bool {
	return p.tok.kind == tokNewline || p.tok.kind == tokEOF || p.op(";") || p.op("}") || p.op(">") || p.op(">>") || p.op("|")
}

func (p *parser) exprList() []expr {
	list := []expr{p.expr()}
	for p.accept(",") {
		p.newlines()
		list = append(list, p.expr())
	}
	return list
}

// subscript is the list behind [, joined by SUBSEP.
func (p *parser) subscript() expr {
	outer := p.noGreat
	p.noGreat = false
	list := p.exprList()
	p.noGreat = outer
	p.expect("]")
	if len(list) == 1 {
		return list[0]
	}
	return &joinExpr{list}
}

func (p *parser) regexp(text string) *regexp.Regexp {
	re, err := posixre.Compile(text, posixre.Awk, false)
	if err != nil {
		p.fail("%v", err)
	}
	return re
}
