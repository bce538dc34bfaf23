package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stepGoldens are the screens of step in a terminal; UPDATE=1 writes them.
const stepGoldens = "testdata/step"

// sent is all that the terminal was sent.
func (x *terminal) sent() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text.String()
}

// becomes waits until the screen is that of a golden. A screen that has not changed for a
// while is taken as it is where goldens are written.
func (x *terminal) becomes(t *testing.T, width, height int, golden string) {
	t.Helper()
	file := filepath.Join(stepGoldens, golden+".txt")
	if os.Getenv("UPDATE") != "" {
		time.Sleep(1500 * time.Millisecond)
		if err := os.WriteFile(file, []byte(newScreen(width, height).show(x.sent()).String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for range 1000 {
		if got = newScreen(width, height).show(x.sent()).String(); got == string(want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s is\n%s\nwant\n%s", golden, got, want)
}

func (x *terminal) resize(t *testing.T, width, height int) {
	t.Helper()
	x.mu.Lock()
	x.text.Reset()
	x.mu.Unlock()
	err := unix.IoctlSetWinsize(int(x.its.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)})
	if err == nil {
		err = x.Process.Signal(syscall.SIGWINCH)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (x *terminal) ends(t *testing.T, place string) {
	t.Helper()
	select {
	case err := <-x.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	for range 500 {
		if strings.Contains(x.sent(), "ftracelab step --url '"+place+"'") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("it ends with %q, without %s", x.sent(), place)
}

func window(width, height int) unix.Winsize {
	return unix.Winsize{Col: uint16(width), Row: uint16(height)}
}

// TestStepWindow types into step on a terminal, and looks at its screens.
func TestStepWindow(t *testing.T) {
	color := []string{"TERM=xterm-256color", "NO_COLOR="}
	t.Run("80x24", func(t *testing.T) {
		x := startTerminalOf(t, window(80, 24), color, "step", "nested")
		x.becomes(t, 80, 24, "start")
		x.types(t, "\x1b[C\x1b[C\x1b[6~\x1b[C\x1b[C") // right, right, page down, right, right
		x.becomes(t, 80, 24, "step14")
		x.types(t, "i")
		x.becomes(t, 80, 24, "irq")
		x.types(t, "\t")
		x.types(t, ".....")
		x.becomes(t, 80, 24, "cell")
		x.types(t, "/writers = 1 and says point E\r")
		x.becomes(t, 80, 24, "until")
		x.types(t, "?")
		x.becomes(t, 80, 24, "help")
		x.types(t, "x/nonsense\r")
		x.becomes(t, 80, 24, "refused")
		x.types(t, "\x1b[<65;10;10M\x1b[<65;10;10M") // the wheel
		x.becomes(t, 80, 24, "wheel")
		x.types(t, "\x1b[<69;10;10M") // with Shift
		x.becomes(t, 80, 24, "walked")
		x.types(t, "\x1b[<0;39;23M\x1b[<0;39;23m") // on the name of the last view
		x.becomes(t, 80, 24, "algorithm")
		x.types(t, "\x1b[<0;7;23M\x1b[<0;7;23m") // and on page
		x.types(t, strings.Repeat("\x1b[<64;10;10M", 9))
		x.types(t, "\x1b[<0;10;14M\x1b[<0;10;14m") // on a byte
		x.becomes(t, 80, 24, "byte")
		x.types(t, "v")
		x.becomes(t, 80, 24, "list")
		x.types(t, "\x1b[<0;12;13M\x1b[<0;12;13m") // on a step
		x.becomes(t, 80, 24, "chosen")
		if s := newScreen(80, 24).show(x.sent()); !s.mouse || s.colors == 0 {
			t.Errorf("mouse %v, %d times a color", s.mouse, s.colors)
		}
		x.types(t, "o")
		for range 500 {
			if !newScreen(80, 24).show(x.sent()).mouse {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if newScreen(80, 24).show(x.sent()).mouse {
			t.Error("o does not end the mouse")
		}
		x.types(t, "q")
		x.ends(t, "nested?do=14i&step=25&v=1")
	})
	t.Run("wide", func(t *testing.T) {
		x := startTerminalOf(t, window(132, 40), color, "step", "beside")
		x.becomes(t, 132, 40, "wide")
		x.types(t, "fswap-fails\r")
		x.becomes(t, 132, 40, "found")
		x.resize(t, 60, 18)
		x.becomes(t, 60, 18, "resized")
		x.types(t, "\x03")
		x.ends(t, "beside?do=0a.1a.2a.9a&step=10&v=1")
	})
	t.Run("small", func(t *testing.T) {
		x := startTerminalOf(t, window(20, 5), color, "step", "nested")
		x.becomes(t, 20, 5, "small")
		x.types(t, "jj\x1b[C")
		x.becomes(t, 20, 5, "small-down")
		x.resize(t, 12, 3)
		x.becomes(t, 12, 3, "too-small")
		x.types(t, "q")
		x.ends(t, "nested?step=1&v=1")
	})
	t.Run("NO_COLOR", func(t *testing.T) {
		x := startTerminalOf(t, window(80, 24), []string{"TERM=xterm-256color", "NO_COLOR=1"}, "step", "nested")
		x.becomes(t, 80, 24, "start")
		if s := newScreen(80, 24).show(x.sent()); s.colors != 0 {
			t.Errorf("%d times a color", s.colors)
		}
		x.types(t, "q")
		x.ends(t, "nested?step=0&v=1")
	})
	for name, x := range map[string]*terminal{
		"dumb":    startTerminalOf(t, window(80, 24), []string{"TERM=dumb"}, "step", "nested", "--at", "14"),
		"no size": startTerminalOf(t, window(0, 0), color, "step", "nested", "--at", "14"),
	} {
		t.Run(name, func(t *testing.T) {
			x.shows(t, "Place: nested?step=14&v=1")
			if err := <-x.done; err != nil {
				t.Error(err)
			}
			if strings.Contains(x.sent(), "\x1b") {
				t.Errorf("escapes: %q", x.sent())
			}
		})
	}
}
