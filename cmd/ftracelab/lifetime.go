package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// grace is how long work may go on after it was told to end. Together with what
// follows, the program then ends within a tenth of a second.
const grace = 50 * time.Millisecond

// endedBy is the signal that ends the program. As an exit status it is the one that a
// shell reports for a program that the signal has killed.
type endedBy syscall.Signal

func (e endedBy) Error() string { return "ended by " + syscall.Signal(e).String() }
func (e endedBy) status() int   { return 128 + int(e) }

// sigPipe is SIGPIPE, which some systems do not have. It means that nobody reads the
// standard output any more.
const sigPipe = endedBy(13)

// lifetime takes care of how the program ends. The first INT, TERM or HUP cancels the
// context of the work. Work that watches its context ends by itself. If it cannot,
// because it waits for a pipe or a terminal, the program ends without it when the grace
// is over or a second signal comes. In both cases nothing half made stays behind.
type lifetime struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	got    chan os.Signal
	grace  time.Duration
	quit   func(status int) // os.Exit

	mu      sync.Mutex
	kept    []os.Signal // signals that do not end the program
	own     bool        // the command takes care of its end itself, see ownSignals
	over    bool        // the clean-ups run, or have run
	cleanup map[int]func()
	next    int
	broken  sync.Once // done when nobody reads the standard output any more
}

// lifetimeKey is the key of the lifetime in a context.
type lifetimeKey struct{}

// newLifetime makes a lifetime without signals, in which a test can run commands.
func newLifetime(parent context.Context) *lifetime {
	l := &lifetime{grace: grace, quit: os.Exit, cleanup: map[int]func(){}}
	ctx, cancel := context.WithCancelCause(parent)
	l.ctx, l.cancel = context.WithValue(ctx, lifetimeKey{}, l), cancel
	return l
}

// lifetimeOf gives the lifetime to which a command's context belongs.
func lifetimeOf(ctx context.Context) *lifetime {
	if l, ok := ctx.Value(lifetimeKey{}).(*lifetime); ok {
		return l
	}
	return newLifetime(ctx)
}

// watch ends the lifetime at a signal. A signal that was ignored when the program began
// (nohup, a background job) stays ignored.
func (l *lifetime) watch() {
	ends := endSignals()
	if len(ends) == 0 {
		return // in a page there are no signals, and signal.Ignored does not work
	}
	l.got = make(chan os.Signal, 8)
	signal.Notify(l.got, slices.DeleteFunc(ends, signal.Ignored)...)
	// A write that nobody reads, or that a limit forbids, fails. It must not kill the
	// program.
	if s := writeSignals(); len(s) > 0 {
		signal.Notify(make(chan os.Signal, 1), s...)
	}
	go func() {
		for s := range l.got {
			if l.ends(s) {
				l.end(endedBy(s.(syscall.Signal)))
				return
			}
		}
	}()
}

// ends reports whether s ends the program.
func (l *lifetime) ends(s os.Signal) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.Contains(l.kept, s)
}

// end ends the work, and after the grace the program.
func (l *lifetime) end(why endedBy) {
	l.cancel(why)
	l.mu.Lock()
	own := l.own
	l.mu.Unlock()
	if own {
		signal.Stop(l.got) // a second signal kills the program
		return
	}
	select {
	case <-l.got:
	case <-time.After(l.grace):
	}
	l.exit(why.status())
}

// keep leaves signals to the command. They do not end the program any more.
func (l *lifetime) keep(signals ...os.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, signals...)
}

// ownSignals is for a command that takes care of its end itself, such as a server that
// has to unmount. An interrupt then only cancels its context, and all other signals
// have their usual effect.
func (l *lifetime) ownSignals() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own = true
	if l.got != nil {
		signal.Stop(l.got)
		if !signal.Ignored(os.Interrupt) {
			signal.Notify(l.got, os.Interrupt)
		}
	}
}

// endedBy gives the signal that has ended the work, if one has.
func (l *lifetime) endedBy() (why endedBy, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	why, ended = context.Cause(l.ctx).(endedBy)
	return why, ended && !l.own
}

// atEnd makes sure that something half made is removed. begin makes it; if that fails,
// there is nothing to remove. If the program ends before done was called, f removes it.
// done runs last, which is the step that finishes it. Once the program is ending,
// nothing is begun or finished any more: both begin and last then wait for the end.
func (l *lifetime) atEnd(begin func() error, f func()) (done func(last func() error) error, err error) {
	n := 0
	err = l.unlessOver(func() error {
		n = l.next
		l.next++
		l.cleanup[n] = f
		err := begin()
		if err != nil {
			delete(l.cleanup, n)
		}
		return err
	})
	return func(last func() error) error {
		return l.unlessOver(func() error {
			err := last()
			if err == nil {
				delete(l.cleanup, n)
			}
			return err
		})
	}, err
}

// unlessOver does a step that leaves something behind. If the program is already
// ending, it waits for the end instead.
func (l *lifetime) unlessOver(step func() error) error {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		select {}
	}
	defer l.mu.Unlock()
	return step()
}

// clean removes everything that is half made.
func (l *lifetime) clean() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for _, f := range l.cleanup {
		f()
	}
	l.cleanup = nil
}

// exit ends the program.
func (l *lifetime) exit(status int) {
	l.clean()
	l.quit(status)
}

// stdout gives the standard output. When nobody reads it any more, the work ends
// without a message.
func (l *lifetime) stdout(f *os.File) io.Writer { return &standardOutput{f, l} }

type standardOutput struct {
	file *os.File
	l    *lifetime
}

// Fd gives the file descriptor, for code that asks whether it is a terminal.
func (s *standardOutput) Fd() uintptr { return s.file.Fd() }

func (s *standardOutput) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	if isBrokenPipe(err) {
		s.l.cancel(sigPipe)
		s.l.broken.Do(func() { go s.l.end(sigPipe) })
	}
	return n, err
}

// underContext gives a reader that reads from r until ctx ends.
func underContext(ctx context.Context, r io.Reader) *contextReader { return &contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Stat is that of the file which r is.
func (c *contextReader) Stat() (os.FileInfo, error) {
	if f, ok := c.r.(interface{ Stat() (os.FileInfo, error) }); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, fmt.Errorf("stopped: %w", err)
	}
	return c.r.Read(p)
}
