package shell

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// processes rewrites a statement with process substitutions; false if it has none.
func (w *rewriter) processes(stmt *syntax.Stmt) bool {
	call, _ := stmt.Cmd.(*syntax.CallExpr)
	type place struct {
		subst  *syntax.ProcSubst
		number string
	}
	var found []place
	take := func(word *syntax.Word, whole bool) {
		if word == nil {
			return
		}
		for i, part := range word.Parts {
			ps, ok := part.(*syntax.ProcSubst)
			if !ok {
				continue
			}
			w.pipes++
			name := pipeName + strconv.Itoa(w.pipes)
			found = append(found, place{ps, name})
			number := variable(name, ps.Pos())
			if whole {
				word.Parts[i] = number
				continue
			}
			folder := &syntax.Lit{ValuePos: ps.Pos(), ValueEnd: ps.Pos(), Value: fdFolder + "/"}
			word.Parts[i] = &syntax.DblQuoted{Left: ps.Pos(), Right: ps.Pos(), Parts: []syntax.WordPart{folder, number}}
		}
	}
	if call != nil {
		for _, word := range call.Args {
			take(word, false)
		}
	}
	for _, r := range stmt.Redirs {
		if redirected(r) == nil {
			continue
		}
		if r.Op == syntax.RdrIn {
			r.Op = syntax.DplIn
		} else {
			r.Op = syntax.DplOut
		}
		take(r.Word, true)
	}
	if len(found) == 0 {
		return false
	}
	var block []*syntax.Stmt
	ended := ownPrefix + "unpipe $?"
	for _, p := range found {
		op := "<"
		if p.subst.Op == syntax.CmdOut {
			op = ">"
		}
		block = append(block, w.own(p.number+"=$("+ownPrefix+"pipe '"+op+"')", stmt.Pos()))
		ended += " $" + p.number
	}
	for i, p := range found {
		at := p.subst.Pos()
		parts := []syntax.WordPart{&syntax.SglQuoted{Left: at, Right: at, Value: guardEnd}}
		for k := range found { // its own comes first
			parts = append(parts, variable(found[(i+k)%len(found)].number, at), &syntax.SglQuoted{Left: at, Right: at, Value: ":"})
		}
		end := &syntax.Redirect{OpPos: at, Op: syntax.RdrOut, Word: &syntax.Word{Parts: parts}}
		list := &syntax.Stmt{Position: at, Background: true, Cmd: &syntax.Block{Lbrace: at, Rbrace: at, Stmts: p.subst.Stmts}, Redirs: []*syntax.Redirect{end}}
		if p.subst.Op == syntax.CmdOut {
			end.Op = syntax.RdrIn
			list.Redirs = append(list.Redirs, redirect(at, guardInput))
		}
		if len(p.subst.Stmts) == 0 {
			list.Cmd = &syntax.CallExpr{Args: []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: at, ValueEnd: at, Value: ":"}}}}}
		}
		w.lists[list] = true
		block = append(block, list)
	}
	inner := *stmt
	block = append(block, &inner, w.own(ended, stmt.Pos()))
	*stmt = syntax.Stmt{Position: stmt.Position, Cmd: &syntax.Block{Lbrace: stmt.Position, Rbrace: stmt.Position, Stmts: block}}
	return true
}

// misplaced gives the place of a process substitution of a statement, not of those inside
// of it, that processes does not know.
func misplaced(stmt *syntax.Stmt) (at syntax.Pos, found bool) {
	known := map[*syntax.ProcSubst]bool{}
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok {
		for _, word := range call.Args {
			for _, part := range word.Parts {
				if ps, ok := part.(*syntax.ProcSubst); ok {
					known[ps] = true
				}
			}
		}
	}
	for _, r := range stmt.Redirs {
		if ps := redirected(r); ps != nil {
			known[ps] = true
		}
	}
	look := func(node syntax.Node) bool {
		if ps, ok := node.(*syntax.ProcSubst); ok {
			if !known[ps] && !found {
				at, found = ps.Pos(), true
			}
			return false
		}
		_, inside := node.(*syntax.Stmt)
		return !inside
	}
	if stmt.Cmd != nil {
		syntax.Walk(stmt.Cmd, look)
	}
	for _, r := range stmt.Redirs {
		syntax.Walk(r, look)
	}
	return at, found
}

// redirected is the process substitution from or to which r redirects; nil if there is
// none that can be had.
func redirected(r *syntax.Redirect) *syntax.ProcSubst {
	if r.Word == nil || r.Hdoc != nil || len(r.Word.Parts) != 1 {
		return nil
	}
	ps, ok := r.Word.Parts[0].(*syntax.ProcSubst)
	reads := r.Op == syntax.RdrIn
	writes := r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob
	if ok && (ps.Op == syntax.CmdIn && reads || ps.Op == syntax.CmdOut && writes) {
		return ps
	}
	return nil
}
