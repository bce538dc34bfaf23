package testutil

import (
	"errors"
	"io"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// PTY opens a pseudo-terminal. terminal is the side of the program, person the side of
// the user: what is written to one comes out of the other unchanged. Both are closed at
// the end of the test.
func PTY(tb testing.TB) (person, terminal *os.File) {
	tb.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { person.Close() })
	raw, err := person.SyscallConn() // after Fd, reads would block for ever
	if err != nil {
		tb.Fatal(err)
	}
	number, fault := 0, error(nil)
	if err := raw.Control(func(fd uintptr) {
		if fault = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); fault == nil {
			number, fault = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); errors.Join(err, fault) != nil {
		tb.Fatal(errors.Join(err, fault))
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { terminal.Close() })
	if _, err := term.MakeRaw(int(terminal.Fd())); err != nil {
		tb.Fatal(err)
	}
	return person, terminal
}

// OnTerminal runs write with a terminal, and returns what a user sees on it.
func OnTerminal(tb testing.TB, write func(terminal *os.File)) string {
	tb.Helper()
	person, terminal := PTY(tb)
	seen := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(person) // it ends with EIO when nobody has the terminal open any more
		seen <- text
	}()
	write(terminal)
	terminal.Close()
	return string(<-seen)
}
