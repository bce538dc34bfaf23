package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"ftracelab/internal/plain"
)

// tty is a terminal that shows what is not printable as escapes, because what
// commands print are names out of captures and files.
type tty struct {
	*plain.Writer
	terminal *os.File // as it is, for who draws on it
}

// harmless puts a tty before w if that is a terminal. Files and pipes get the
// bytes as they are. done writes what is left.
func harmless(w io.Writer) (out io.Writer, done func()) {
	f, ok := w.(*os.File)
	if s, is := w.(*standardOutput); is {
		f, ok = s.file, true
	}
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return w, func() {}
	}
	s := tty{plain.NewWriter(w), f}
	return s, func() { _ = s.Flush() } // nobody is left to hear of a terminal that is gone
}

// complain writes a sentence of our own, which may name anything, and its line feed.
// Wherever it goes, its names do nothing.
func complain(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, plain.Lines(fmt.Sprintf(format, args...)))
}
