package shell

import (
	"context"
	"io"
	"os"
	"os/signal"

	"golang.org/x/term"
)

// A Screen is the terminal of an interactive session. What is typed is read from it.
type Screen interface {
	io.Reader
	// Raw gives each key as it is typed, unseen, until restore is called. Otherwise the
	// terminal shows what is typed and gives whole lines, and Ctrl-C interrupts.
	Raw() (restore func(), err error)
	// Size is how many columns and lines it has; 0 if it does not say.
	Size() (width, height int)
	// Resized calls a function whenever the size has changed, until stop is called.
	Resized(func()) (stop func())
	// Interrupt ends a context when Ctrl-C is typed and the terminal is not raw.
	Interrupt(ctx context.Context) (context.Context, context.CancelFunc)
}

// fileScreen is a terminal of this computer.
type fileScreen struct{ *os.File }

func (s fileScreen) Raw() (restore func(), err error) {
	fd := int(s.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(fd, state) }, nil
}

func (s fileScreen) Size() (width, height int) {
	width, height, err := term.GetSize(int(s.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

func (s fileScreen) Interrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt)
}
