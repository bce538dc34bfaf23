package shell

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// The interpreter has no place where what a command's words come to could be
// bounded: it expands them before anybody is asked. But it opens redirections
// first, by our handler. So rewrite gives each command that needs one a
// redirection, a guard, whose file is no file: it looks at what is about to happen,
// refuses it or gives standard output back as it was.
//
//	s=$s$s                 →  s=$s$s >lab:words:s=(s,s):
//	x=$(cat trace)         →  x=$({ cat trace; } >lab:read:1)
//	sleep 1 &              →  { …; { …; sleep 1; } >lab:exit & } >lab:fork:sleep 1
//	cat trace | wc         →  cat trace | wc >lab:pipe
const (
	guardWords = ownPrefix + "words:" // see words.go
	guardRead  = ownPrefix + "read:"  // a substitution: how many share the room; ~ if it is split into words
	guardFork  = ownPrefix + "fork:"  // a background job begins: what was typed
	guardExit  = ownPrefix + "exit"   // … and ends
	guardPipe  = ownPrefix + "pipe"   // a part of a pipeline
)

// redirect is the redirection that is a guard. positional is what of the positional
// parameters it wants to see.
func redirect(at syntax.Pos, guard string, positional ...syntax.WordPart) *syntax.Redirect {
	parts := []syntax.WordPart{&syntax.SglQuoted{Left: at, Right: at, Value: guard}}
	if len(positional) > 0 {
		parts = append(parts, &syntax.DblQuoted{Left: at, Right: at, Parts: positional})
	}
	return &syntax.Redirect{OpPos: at, Op: syntax.RdrOut, Word: &syntax.Word{Parts: parts}}
}

// guarded puts a guard before the command's other redirections.
func guarded(stmt *syntax.Stmt, guard *syntax.Redirect) {
	stmt.Redirs = append([]*syntax.Redirect{guard}, stmt.Redirs...)
}

// guard opens a guard.
func (sh *Shell) guard(ctx context.Context, name string) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	if f, ok, err := sh.descriptorGuard(ctx, name); ok {
		return f, err
	}
	switch {
	case strings.HasPrefix(name, guardFork):
		// The job counts itself out: see guardExit.
		if _, err := sh.limit.fork(ctx); err != nil {
			return nil, err
		}
		sh.timeline.begin(ctx, nextJob(hc.Env), name[len(guardFork):])
		sh.descriptors.fork(owner(hc.Env), ownerOfJob(nextJob(hc.Env), hc.Env))
	case name == guardExit:
		exited, job := sh.limit.exit(), sh.timeline.job(lastJob(hc.Env))
		child := ownerOfJob(lastJob(hc.Env), hc.Env)
		return &standIn{Writer: unwrapped(hc.Stdout), closed: func() { sh.descriptors.exit(child); exited(); sh.timeline.end(job) }}, nil
	case name == guardPipe:
		exited, err := sh.limit.fork(ctx)
		if err != nil {
			return nil, err
		}
		return &standIn{Writer: unwrapped(hc.Stdout), closed: exited}, nil
	case strings.HasPrefix(name, guardRead):
		return sh.limit.substitution(hc.Stdout, hc.Env, name[len(guardRead):]), nil
	case strings.HasPrefix(name, guardWords):
		formula, positional, _ := strings.Cut(name[len(guardWords):], ":")
		if err := sh.limit.charge(hc.Env, formula, positional); err != nil {
			return nil, err
		}
	default:
		return nil, pathError(name, syscall.ENOENT)
	}
	return &standIn{Writer: unwrapped(hc.Stdout)}, nil
}

// standIn is standard output as it was. What it was cannot be given back itself,
// as the interpreter will close what it opened.
type standIn struct {
	io.Writer
	closed func()
}

func (*standIn) Read([]byte) (int, error) { return 0, syscall.EBADF }

func (s *standIn) Close() error {
	if s.closed != nil {
		s.closed()
	}
	return nil
}

// unwrapped is w without the guard that handed it on.
func unwrapped(w io.Writer) io.Writer {
	if s, ok := w.(*standIn); ok {
		return s.Writer
	}
	return w
}

// substitution is the end of a command substitution that is written to. The
// interpreter collects it in one piece.
type substitution struct {
	limit *limit
	mu    sync.Mutex // a job may outlive the substitution, and write beside it
	w     io.Writer
	room  int
	split *splitter // nil: it stays one word
	next  int       // at how many bytes of room the heap is looked at again
}

const lookStep = 1 << 20

func (s *substitution) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return 0, os.ErrClosed
	}
	cost := len(p)
	if s.split != nil {
		before := s.split.cost()
		s.split.add(string(p))
		cost += s.split.cost() - before
	}
	s.room -= cost
	if s.room < s.next {
		s.next = s.room - lookStep
		if s.room < 0 || s.limit.over(0) {
			return 0, s.limit.fail(errMemory)
		}
	}
	return s.w.Write(p)
}

func (*substitution) Read([]byte) (int, error) { return 0, syscall.EBADF }

func (s *substitution) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
	return nil
}
