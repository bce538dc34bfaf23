package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// descriptorOf is the number of a descriptor from 3 on; ok is false for the others, and
// for what is no number.
func descriptorOf(lit string) (n int, ok bool) {
	n, err := strconv.Atoi(lit)
	return n, err == nil && n > 2
}

// notRedirected says why a redirection cannot be had; "" if it can.
func notRedirected(r *syntax.Redirect) string {
	if r.N == nil {
		return ""
	}
	n, ok := descriptorOf(r.N.Value)
	_, named := namedDescriptor(r)
	switch {
	case ok && n >= maxDescriptor:
		return r.N.Value + ": a descriptor is below " + strconv.Itoa(maxDescriptor)
	case (ok || named) && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc):
		return "text in the script can only be standard input in the lab: use a file in /tmp for descriptor " + r.N.Value
	}
	return ""
}

// namedDescriptor is fd of a redirection {fd}<FILE.
func namedDescriptor(r *syntax.Redirect) (name string, ok bool) {
	if r.N == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(r.N.Value, "{")
	return strings.TrimSuffix(name, "}"), ok
}

// closes: is r a redirection that closes a descriptor?
func closes(r *syntax.Redirect) bool {
	return (r.Op == syntax.DplIn || r.Op == syntax.DplOut) && r.Word != nil && r.Word.Lit() == "-"
}

// lasting: do the redirections of stmt stay when it has ended?
func lasting(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec"
}

// opensDescriptors: is there an exec in program that changes descriptors from 3 on?
func opensDescriptors(program *syntax.File) (opens bool) {
	syntax.Walk(program, func(node syntax.Node) bool {
		stmt, ok := node.(*syntax.Stmt)
		if !ok || len(stmt.Redirs) == 0 || !lasting(stmt) {
			return !opens
		}
		for _, r := range stmt.Redirs {
			if r.N != nil {
				_, ok := descriptorOf(r.N.Value)
				_, named := namedDescriptor(r)
				opens = opens || ok || named
			}
		}
		return !opens
	})
	return opens
}

// descriptors makes guards of the redirections that name descriptors from 3 on; see
// descriptors.go.
func (w *rewriter) descriptors(stmt *syntax.Stmt) {
	mark := ""
	if lasting(stmt) {
		mark = "!"
	}
	var out []*syntax.Redirect
	for _, r := range stmt.Redirs {
		out = append(out, r)
		if r.Word == nil || r.Hdoc != nil {
			continue
		}
		var number syntax.WordPart // of what is opened, if it is from 3 on
		mark := mark
		at := r.Word.Pos()
		if name, ok := namedDescriptor(r); ok {
			number, mark = variable(name, at), "!"
		} else if r.N != nil {
			if n, ok := descriptorOf(r.N.Value); ok {
				number = &syntax.SglQuoted{Left: at, Right: at, Value: strconv.Itoa(n)}
			}
		}
		lit := r.Word.Lit()
		_, high := descriptorOf(lit)
		high = high || lit == ""
		dup := r.Op == syntax.DplIn || r.Op == syntax.DplOut
		text := func(s string) syntax.WordPart { return &syntax.SglQuoted{Left: at, Right: at, Value: s} }
		op := r.Op
		switch {
		case number != nil && dup:
			guardFile(r, text(guardDup+mark+":"), number, text(":"))
		case number != nil:
			guardFile(r, text(guardOpen+mark+":"), number, text(":"+r.Op.String()+":"))
		case dup && high:
			guardFile(r, text(strings.TrimSuffix(guardFD, ":")+mark+":"+r.Op.String()[:1]+":"))
			if op == syntax.DplIn {
				r.Op = syntax.RdrIn
				out = append(out, redirect(r.Pos(), guardInput))
			}
		default:
			continue
		}
		if number != nil {
			r.N = nil
		}
	}
	stmt.Redirs = out
	if sub, ok := stmt.Cmd.(*syntax.Subshell); ok && w.opens {
		w.subshell++
		id := strconv.Itoa(w.subshell)
		at := sub.Pos()
		enters := &syntax.Stmt{Position: at, Cmd: &syntax.CallExpr{Assigns: []*syntax.Assign{{
			Name: &syntax.Lit{ValuePos: at, ValueEnd: at, Value: subshells},
			Value: &syntax.Word{Parts: []syntax.WordPart{
				&syntax.ParamExp{Dollar: at, Rbrace: at, Param: &syntax.Lit{Value: subshells}, Exp: &syntax.Expansion{Op: syntax.DefaultUnset}},
				&syntax.Lit{ValuePos: at, ValueEnd: at, Value: "/" + id},
			}},
		}}}}
		sub.Stmts = append([]*syntax.Stmt{enters}, sub.Stmts...)
		guarded(stmt, redirect(at, guardSub+id))
	}
}

// guardFile makes of a redirection a guard whose name ends with the redirection's word.
func guardFile(r *syntax.Redirect, guard ...syntax.WordPart) {
	r.Word = &syntax.Word{Parts: append(guard, r.Word.Parts...)}
	r.Op = syntax.RdrOut
}

// inSubshell makes of statements one in ( ), if they may open descriptors, which are
// then theirs alone.
func (w *rewriter) inSubshell(at syntax.Pos, stmts []*syntax.Stmt) []*syntax.Stmt {
	if !w.opens {
		return stmts
	}
	return []*syntax.Stmt{{Position: at, Cmd: &syntax.Subshell{Lparen: at, Rparen: at, Stmts: stmts}}}
}
