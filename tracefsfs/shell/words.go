package shell

import (
	"cmp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// What the words of a command come to is worked out in two steps. When a script is
// read, a formula is written down, whose terms are the variables that occur:
//
//	x          the bytes of x
//	~x         the same where it is split into words, which take more
//	!x         the bytes of the variable that x names
//	@          the positional parameters
//	50         bytes that stand in the script
//	x*(…)      ${x//pattern/…}: … for each byte of x
//	x=(…)      … is what x will be
//	3x(…)      … three times
//	g(…)       … is one word, and may be a pattern
//	+          that is an unquoted *, ? or [ of the script
//
// When the command is about to run, charge puts in what the variables hold.

// What a word, a match and a byte of a pattern take in the interpreter.
const (
	wordCost    = 100
	matchCost   = 80
	patternCost = 200
)

// formulaWriter writes the formula of one command.
type formulaWriter struct {
	terms      []string
	grows      bool // the command expands something
	positional []syntax.WordPart
	seen       map[string]bool
	substs     []substRef
}

type substRef struct {
	node  *syntax.CmdSubst
	split bool
}

func (f *formulaWriter) term(s string) { f.terms = append(f.terms, s) }

// nested writes what do writes as one term with head before it.
func (f *formulaWriter) nested(head string, do func()) {
	outer := f.terms
	f.terms = nil
	do()
	inner := strings.Join(f.terms, ",")
	f.terms = outer
	f.term(head + "(" + inner + ")")
}

// command writes the words of cmd, but not those of commands inside it.
func (f *formulaWriter) command(cmd syntax.Command) {
	switch n := cmd.(type) {
	case *syntax.CallExpr:
		f.assigns(n.Assigns)
		f.fields(n.Args)
	case *syntax.DeclClause:
		f.assigns(n.Args)
	case *syntax.ForClause:
		if words, ok := n.Loop.(*syntax.WordIter); ok {
			f.fields(words.Items)
		} else {
			f.inside(n.Loop)
		}
	case *syntax.CaseClause:
		f.word(n.Word)
		for _, item := range n.Items {
			for _, p := range item.Patterns {
				f.pattern(p)
			}
		}
	case *syntax.TestClause:
		f.test(n.X)
	case *syntax.ArithmCmd:
		f.inside(n.X)
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			f.inside(x)
		}
	}
}

func (f *formulaWriter) assigns(list []*syntax.Assign) {
	for _, as := range list {
		if as.Name == nil {
			if as.Value != nil {
				f.fields([]*syntax.Word{as.Value})
			}
			continue
		}
		if as.Naked {
			continue
		}
		name := as.Name.Value
		f.nested(name+"=", func() {
			if as.Append || as.Index != nil {
				f.grows = true
				f.term(name)
				f.term("50")
			}
			if as.Index != nil {
				f.inside(as.Index)
			}
			if as.Value != nil {
				f.word(as.Value)
			}
			if as.Array == nil {
				return
			}
			f.term(strconv.Itoa(wordCost * len(as.Array.Elems)))
			for _, e := range as.Array.Elems {
				if e.Index != nil {
					f.inside(e.Index)
				}
				if e.Value != nil {
					f.fields([]*syntax.Word{e.Value})
				}
			}
		})
	}
}

// fields writes words that are split, after their braces are expanded.
func (f *formulaWriter) fields(words []*syntax.Word) {
	for _, w := range words {
		do := func() { f.nested("g", func() { f.parts(w.Parts, true, false) }) }
		copied := *w
		if !syntax.SplitBraces(&copied) {
			do()
			continue
		}
		n := 0
		for range expand.BracesSeq(nil, &copied) {
			n++
		}
		f.grows = true
		f.nested(strconv.Itoa(n)+"x", func() {
			f.term(strconv.Itoa(wordCost))
			do()
		})
	}
}

func (f *formulaWriter) word(w *syntax.Word) {
	if w != nil {
		f.parts(w.Parts, false, false)
	}
}

func (f *formulaWriter) pattern(w *syntax.Word) {
	if w != nil {
		f.nested(strconv.Itoa(patternCost)+"x", func() { f.word(w) })
	}
}

func (f *formulaWriter) test(x syntax.TestExpr) {
	switch n := x.(type) {
	case *syntax.BinaryTest:
		f.test(n.X)
		if y, ok := n.Y.(*syntax.Word); ok && (n.Op == syntax.TsMatch || n.Op == syntax.TsMatchShort || n.Op == syntax.TsNoMatch || n.Op == syntax.TsReMatch) {
			f.pattern(y)
		} else {
			f.test(n.Y)
		}
	case *syntax.UnaryTest:
		f.test(n.X)
	case *syntax.ParenTest:
		f.test(n.X)
	case *syntax.Word:
		f.word(n)
	}
}

func (f *formulaWriter) parts(parts []syntax.WordPart, split, quoted bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			f.term(strconv.Itoa(len(p.Value)))
			if split && !quoted && strings.ContainsAny(p.Value, "*?[") {
				f.term("+")
			}
		case *syntax.SglQuoted:
			f.term(strconv.Itoa(len(p.Value)))
		case *syntax.DblQuoted:
			f.parts(p.Parts, split, true)
		case *syntax.CmdSubst:
			f.substs = append(f.substs, substRef{p, split && !quoted})
		case *syntax.ParamExp:
			f.param(p, split && !quoted)
		case *syntax.ArithmExp:
			f.inside(p.X)
		}
	}
}

// inside writes the expansions in an arithmetic expression.
func (f *formulaWriter) inside(node syntax.Node) {
	if node == nil {
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			f.param(n, false)
			return false
		case *syntax.CmdSubst:
			f.substs = append(f.substs, substRef{n, false})
			return false
		}
		return true
	})
}

// param writes one expansion of a parameter.
func (f *formulaWriter) param(p *syntax.ParamExp, split bool) {
	if p.Param == nil {
		return
	}
	f.grows = true
	name := p.Param.Value
	switch {
	case name == "@" || name == "*" || name[0] >= '1' && name[0] <= '9':
		f.parameter(name)
		name = "@"
	case !syntax.ValidName(name):
		return
	}
	if split {
		name = "~" + name
	}
	if p.Index != nil {
		f.inside(p.Index)
	}
	switch {
	case p.Length, p.Names != 0:
		return
	case p.Excl:
		f.term("!" + strings.TrimPrefix(name, "~"))
	case p.Slice != nil:
		f.term("5x(" + name + ")")
		if p.Slice.Offset != nil {
			f.inside(p.Slice.Offset)
		}
		if p.Slice.Length != nil {
			f.inside(p.Slice.Length)
		}
	case p.Repl != nil:
		f.pattern(p.Repl.Orig)
		if p.Repl.All {
			f.nested(name+"*", func() { f.word(p.Repl.With) })
		} else {
			f.term(name)
			f.word(p.Repl.With)
		}
	case p.Exp != nil:
		f.expansion(p, name)
	default:
		f.term(name)
	}
}

// expansion is one with an operator: ${x:-word} and so on.
func (f *formulaWriter) expansion(p *syntax.ParamExp, name string) {
	word := func() { f.word(p.Exp.Word) }
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		f.term(name)
		f.nested(strings.TrimPrefix(name, "~")+"=", func() { f.term(strings.TrimPrefix(name, "~")); word() })
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		f.term(name)
		f.pattern(p.Exp.Word)
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll, syntax.OtherParamOps:
		f.term("5x(" + name + ")")
		f.pattern(p.Exp.Word)
	default:
		f.term(name)
		word()
	}
}

// parameter has the guard see a positional parameter.
func (f *formulaWriter) parameter(name string) {
	if name == "@" {
		name = "*"
	}
	if f.seen[name] {
		return
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[name] = true
	p := &syntax.ParamExp{Param: &syntax.Lit{Value: name}}
	if name != "*" { // or set -u would complain of it
		p.Exp = &syntax.Expansion{Op: syntax.DefaultUnset}
	}
	f.positional = append(f.positional, p)
}

// words guards what the words of stmt come to, and what their substitutions do.
func (w *rewriter) words(stmt *syntax.Stmt) {
	var f formulaWriter
	f.command(stmt.Cmd)
	for _, r := range stmt.Redirs {
		f.word(r.Word)
		f.word(r.Hdoc)
	}
	for _, s := range f.substs {
		room := strconv.Itoa(len(f.substs))
		if s.split {
			room += "~"
		}
		w.substs[s.node] = room
	}
	if f.grows {
		guarded(stmt, redirect(stmt.Pos(), guardWords+strings.Join(f.terms, ",")+":", f.positional...))
	}
}

// substitution guards what a command substitution reads.
func (w *rewriter) substitution(n *syntax.CmdSubst) {
	if len(n.Stmts) == 0 {
		return
	}
	room := cmp.Or(w.substs[n], "1")
	if s := n.Stmts[0]; len(n.Stmts) == 1 && s.Cmd == nil && len(s.Redirs) > 0 {
		// $(<file), which the interpreter would read by itself.
		s.Cmd = &syntax.CallExpr{Args: []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: s.Pos(), ValueEnd: s.Pos(), Value: ownPrefix + "cat"}}}}}
	}
	block := &syntax.Stmt{Position: n.Pos(), Cmd: &syntax.Block{Lbrace: n.Pos(), Rbrace: n.Pos(), Stmts: w.inSubshell(n.Pos(), n.Stmts)}}
	guarded(block, redirect(n.Pos(), guardRead+room))
	n.Stmts, n.Backquotes = []*syntax.Stmt{block}, false
}

// pipe guards a pipeline of two parts; those of a longer one are two each.
func (w *rewriter) pipe(n *syntax.BinaryCmd) {
	if n.Op != syntax.Pipe && n.Op != syntax.PipeAll {
		return
	}
	if _, ok := n.X.Cmd.(*syntax.BinaryCmd); !ok && w.opens {
		inner := *n.X
		*n.X = *w.inSubshell(n.X.Pos(), []*syntax.Stmt{&inner})[0]
	}
	part := n.Y
	if _, ok := part.Cmd.(*syntax.BinaryCmd); ok {
		part = n.X
	}
	guarded(part, redirect(part.Pos(), guardPipe))
}
