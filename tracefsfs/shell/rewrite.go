package shell

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// rewrite replaces in a program what the interpreter would take from the host
// ($$, $PPID, $RANDOM, owners of files), wraps background commands so that kill
// can find them, puts guards where memory is used (see guard.go), and refuses what
// cannot be had without the host. It also notes the functions defined, which go
// before commands of the same name.
func (sh *Shell) rewrite(program *syntax.File) error {
	w := rewriter{sh: sh, wrapped: map[*syntax.Stmt]bool{}, substs: map[*syntax.CmdSubst]string{}, ours: map[*syntax.Stmt]bool{}, lists: map[*syntax.Stmt]bool{}, numbered: map[*syntax.Stmt]bool{}, opens: opensDescriptors(program)}
	syntax.Walk(program, w.visit)
	if w.err != nil {
		return fmt.Errorf("%s:%s: %w", program.Name, w.at, w.err)
	}
	return nil
}

// rewriteText rewrites a piece of script that is text, such as eval's.
func (sh *Shell) rewriteText(text, name string) (string, error) {
	program, err := sh.parse(text, name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, program); err != nil {
		return "", err
	}
	return b.String(), nil
}

type rewriter struct {
	sh      *Shell
	wrapped map[*syntax.Stmt]bool
	substs  map[*syntax.CmdSubst]string // the room of each; see words
	ours    map[*syntax.Stmt]bool       // the lab's own statements; see own
	lists   map[*syntax.Stmt]bool       // the lists of process substitutions
	// numbered are statements whose {fd}< have numbers.
	numbered map[*syntax.Stmt]bool
	pipes    int // how many process substitutions there were up to here
	// opens: an exec of the program changes descriptors, so its subshells get their own.
	opens    bool
	subshell int // how many subshells there were up to here
	err      error
	at       syntax.Pos
}

func (w *rewriter) refuse(node syntax.Node, why string) {
	if w.err == nil {
		w.err, w.at = fmt.Errorf("%s", why), node.Pos()
	}
}

func (w *rewriter) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Word:
		w.parts(n.Parts)
	case *syntax.DblQuoted:
		w.parts(n.Parts)
	case *syntax.ArithmExp:
		w.arithm(n.X)
	case *syntax.ArithmCmd:
		w.arithm(n.X)
	case *syntax.BinaryArithm:
		w.arithm(n.X, n.Y)
	case *syntax.UnaryArithm:
		w.arithm(n.X)
	case *syntax.ParenArithm:
		w.arithm(n.X)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsUsrOwn || n.Op == syntax.TsGrpOwn {
			n.Op = syntax.TsExists // root owns everything
		}
	case *syntax.FuncDecl:
		if n.Name != nil {
			w.sh.mu.Lock()
			w.sh.functions[n.Name.Value] = true
			w.sh.mu.Unlock()
		}
	case *syntax.Stmt:
		if slices.Contains(jobPrologue(), n) || w.ours[n] {
			return false
		}
		if at, why := notHere(n); why != "" {
			refused(n, at.String()+": "+why)
			return true
		}
		if !w.background(n) && !w.processes(n) && !w.named(n) {
			w.descriptors(n)
			w.words(n)
		}
	case *syntax.BinaryCmd:
		w.pipe(n)
	case *syntax.CmdSubst:
		w.substitution(n)
	}
	return w.err == nil
}

// parts replaces special parameters among the parts of a word.
func (w *rewriter) parts(parts []syntax.WordPart) {
	for i, part := range parts {
		p, ok := part.(*syntax.ParamExp)
		if !ok || p.Param == nil {
			continue
		}
		name := p.Param.Value
		switch name {
		case "$", "PPID", "RANDOM", "SRANDOM":
		default:
			continue
		}
		if p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil {
			w.refuse(p, "only the plain value of $"+name+" is in the lab")
			return
		}
		switch name {
		case "$":
			parts[i] = &syntax.Lit{ValuePos: p.Pos(), ValueEnd: p.End(), Value: shellPID}
		case "PPID":
			parts[i] = &syntax.Lit{ValuePos: p.Pos(), ValueEnd: p.End(), Value: parentPID}
		default:
			parts[i] = randomPart()
		}
	}
}

// arithm replaces RANDOM where it stands without its dollar.
func (w *rewriter) arithm(exprs ...syntax.ArithmExpr) {
	for _, e := range exprs {
		word, ok := e.(*syntax.Word)
		if !ok {
			continue
		}
		switch word.Lit() {
		case "RANDOM", "SRANDOM":
			word.Parts = []syntax.WordPart{randomPart()}
		case "PPID":
			word.Parts = []syntax.WordPart{&syntax.Lit{Value: parentPID}}
		}
	}
}

// randomPart is $(lab:random).
func randomPart() syntax.WordPart {
	word := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: ownPrefix + "random"}}}
	return &syntax.CmdSubst{Stmts: []*syntax.Stmt{{Cmd: &syntax.CallExpr{Args: []*syntax.Word{word}}}}}
}

// background turns "cmd &" into a block that counts the job and tells the
// command which one it is; see job.
func (w *rewriter) background(stmt *syntax.Stmt) bool {
	if !stmt.Background || w.wrapped[stmt] {
		return false
	}
	inner := *stmt
	inner.Background = false
	typed := ""
	if !w.lists[stmt] {
		typed = jobText(&inner)
	}
	prologue := jobPrologue()
	job := &syntax.Stmt{
		Position:   stmt.Position,
		Background: true,
		Cmd:        &syntax.Block{Stmts: []*syntax.Stmt{prologue[1], &inner}},
	}
	guarded(job, redirect(stmt.Pos(), guardExit))
	if w.sh.history != nil { // what is typed is not for jobs
		at := stmt.Pos()
		null := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: at, ValueEnd: at, Value: "/dev/null"}}}
		job.Redirs = append(job.Redirs, &syntax.Redirect{OpPos: at, Op: syntax.RdrIn, Word: null})
	}
	w.wrapped[job] = true
	*stmt = syntax.Stmt{Position: stmt.Position, Cmd: &syntax.Block{Stmts: []*syntax.Stmt{prologue[0], job}}}
	guarded(stmt, redirect(stmt.Pos(), guardFork+typed))
	return true
}

// jobText is a job as it was typed, on one line and not too long.
func jobText(stmt *syntax.Stmt) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, stmt); err != nil {
		return "" // the interpreter will say what is wrong with it
	}
	text := []rune(strings.TrimSpace(b.String()))
	if len(text) > 60 {
		text = append(text[:60], '…')
	}
	return strings.ReplaceAll(string(text), "\n", "; ")
}

// jobPrologue is what comes before a background job and what it begins with.
var jobPrologue = sync.OnceValue(func() []*syntax.Stmt {
	return parsed(jobCount + "=$((" + jobCount + "+1))\n" +
		jobName + "=${" + jobName + "-}/$" + jobCount + " " + jobCount + "=0")
})

// parsed parses statements of the lab's own.
func parsed(text string) []*syntax.Stmt {
	program, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		panic("shell: invariant: " + text + " does not parse: " + err.Error())
	}
	return program.Stmts
}

// notHere says why a statement cannot run in the lab, and which place in it that is
// about; "" if it can.
func notHere(stmt *syntax.Stmt) (at syntax.Pos, why string) {
	switch stmt.Cmd.(type) {
	case *syntax.TimeClause:
		return stmt.Pos(), "time would measure the host; the lab's time is simulated (see date)"
	case *syntax.CoprocClause:
		return stmt.Pos(), "coproc is not in the lab: use <( ) or >( )"
	}
	if at, ok := misplaced(stmt); ok {
		return at, "process substitution is a word of a command or the file of < or > in the lab: use a file in /tmp"
	}
	for _, r := range stmt.Redirs {
		if why := notRedirected(r); why != "" {
			return r.Pos(), why
		}
	}
	return syntax.Pos{}, ""
}

// refused makes of a statement one that says why it is not run.
func refused(stmt *syntax.Stmt, why string) {
	word := func(part syntax.WordPart) *syntax.Word { return &syntax.Word{Parts: []syntax.WordPart{part}} }
	stmt.Redirs = nil
	stmt.Cmd = &syntax.CallExpr{Args: []*syntax.Word{
		word(&syntax.Lit{ValuePos: stmt.Pos(), ValueEnd: stmt.Pos(), Value: ownPrefix + "refused"}),
		word(&syntax.DblQuoted{Left: stmt.Pos(), Right: stmt.Pos(), Parts: []syntax.WordPart{&syntax.Lit{Value: why}}}),
	}}
}

// own parses a statement that is the lab's, in which nothing is rewritten.
func (w *rewriter) own(text string, at syntax.Pos) *syntax.Stmt {
	stmt := parsed(text)[0]
	stmt.Position = at
	w.ours[stmt] = true
	return stmt
}

// variable is the value of a variable of the lab's.
func variable(name string, at syntax.Pos) *syntax.ParamExp {
	return &syntax.ParamExp{Dollar: at, Rbrace: at, Param: &syntax.Lit{ValuePos: at, ValueEnd: at, Value: name}}
}

// named gives each {fd}<FILE of a statement a number in the variable fd, before the
// statement; false if it has none.
func (w *rewriter) named(stmt *syntax.Stmt) bool {
	if w.numbered[stmt] {
		return false
	}
	var block []*syntax.Stmt
	for _, r := range stmt.Redirs {
		if name, ok := namedDescriptor(r); ok && !closes(r) {
			block = append(block, w.own(name+"=$("+ownPrefix+"descriptor)", stmt.Pos()))
		}
	}
	if block == nil {
		return false
	}
	inner := *stmt
	w.numbered[&inner] = true
	*stmt = syntax.Stmt{Position: stmt.Position, Cmd: &syntax.Block{Lbrace: stmt.Position, Rbrace: stmt.Position, Stmts: append(block, &inner)}}
	return true
}
