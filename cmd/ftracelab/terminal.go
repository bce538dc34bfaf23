package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"ftracelab/internal/plain"
)

// tty writes to a terminal and shows characters that are not printable as escapes,
// because commands print names from captures and files.
type tty struct {
	*plain.Writer
	terminal *os.File // the terminal itself, for code that draws on it
}

// harmless puts a tty in front of w if that is a terminal. Files and pipes get the
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
	return s, func() { _ = s.Flush() } // if the terminal is gone, nobody is left to be told
}

// columns is the width of the terminal that w is; 0 if it is none.
func columns(w io.Writer) int {
	s, ok := w.(tty)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// complain writes a message and a newline. The message may hold any names; they are
// made harmless wherever it goes.
func complain(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, plain.Lines(fmt.Sprintf(format, args...)))
}
