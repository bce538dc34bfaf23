package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
)

// terminal is a shell on a terminal of its own.
type terminal struct {
	*exec.Cmd
	us, its *os.File
	mu      sync.Mutex
	text    strings.Builder
	whole   *strings.Builder // if not nil, all that was ever written
	screen  *testutil.Screen // if not nil, what a user sees
	done    chan error
}

// startTerminal starts a program as the leader of a session on a new terminal.
func startTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	return startTerminalOf(t, unix.Winsize{}, nil, args...)
}

// startTerminalOf starts a program on a terminal of some size, with more in its environment.
func startTerminalOf(t *testing.T, size unix.Winsize, env []string, args ...string) *terminal {
	t.Helper()
	us, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		testutil.Missing(t, "a terminal: %v", err)
	}
	t.Cleanup(func() { us.Close() })
	n, err := unix.IoctlGetInt(int(us.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(us.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		testutil.Missing(t, "a terminal: %v", err)
	}
	its, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		testutil.Missing(t, "a terminal: %v", err)
	}
	t.Cleanup(func() { its.Close() })
	if err := unix.IoctlSetWinsize(int(its.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
	x := &terminal{Cmd: exec.Command("ftracelab", args...), us: us, its: its, done: make(chan error, 1)}
	if size.Col > 0 {
		x.screen = testutil.NewScreen(int(size.Col), int(size.Row))
	}
	x.Stdin, x.Stdout, x.Stderr = its, its, its
	x.Env = append([]string{"XDG_STATE_HOME=" + t.TempDir()}, os.Environ()...) // a test that sets it goes before
	x.Env = append(x.Env, env...)
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Process.Kill() })
	go func() { x.done <- x.Wait() }()
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := us.Read(b)
			if err != nil {
				return
			}
			x.mu.Lock()
			x.text.Write(b[:n])
			if x.whole != nil {
				x.whole.Write(b[:n])
			}
			if x.screen != nil {
				_, _ = x.screen.Write(b[:n])
			}
			x.mu.Unlock()
		}
	}()
	return x
}

// shows waits until the screen shows a text again, behind what it showed before.
func (x *terminal) shows(t *testing.T, what string) {
	t.Helper()
	for range 2000 {
		x.mu.Lock()
		text := x.text.String()
		i := strings.Index(text, what)
		if i >= 0 {
			x.text.Reset()
			x.text.WriteString(text[i+len(what):])
		}
		x.mu.Unlock()
		if i >= 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never %q but %q", what, x.text.String())
}

func (x *terminal) types(t *testing.T, text string) {
	t.Helper()
	if _, err := x.us.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func (x *terminal) flags(t *testing.T) uint32 {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(x.its.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag
}

// TestTerminal: at a terminal, Ctrl-C ends the command in the foreground, whose status
// is 130, and the shell prompts again. TERM ends the shell, and the terminal is as it was.
func TestTerminal(t *testing.T) {
	x := startTerminal(t, "shell")
	const prompt = "tracing # "
	x.shows(t, prompt)
	raw := x.flags(t)
	for _, command := range []string{
		"echo on; while :; do :; done", "echo on; sleep 1000000", "echo on; cat trace_pipe | cat", "echo on; cat", "echo on; read x", "echo on; cat; read x",
		`echo on; awk "BEGIN { while (1); }"`, `echo on; echo a | sed ":a;ba"`,
	} {
		x.types(t, command+"\r")
		x.shows(t, "\r\non\r\n")
		cooked := x.flags(t)
		if cooked&unix.ISIG == 0 || cooked == raw {
			t.Errorf("%s: terminal flags %#x, at the prompt %#x", command, cooked, raw)
		}
		start := time.Now()
		x.types(t, "\x03")
		x.shows(t, prompt)
		t.Logf("%s: %v", command, time.Since(start).Round(time.Millisecond))
		x.types(t, "echo status $?.\r")
		x.shows(t, "\r\nstatus 130.")
		x.shows(t, prompt)
	}
	if err := x.Process.Signal(syscall.SIGINT); err != nil { // sent at the prompt
		t.Fatal(err)
	}
	time.Sleep(4 * grace)
	x.types(t, "echo still here\r")
	x.shows(t, "\r\nstill here")
	x.shows(t, prompt)
	if err := x.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-x.done:
	case <-time.After(5 * time.Second):
		t.Fatal("TERM does not end it")
	}
	if status := x.ProcessState.ExitCode(); status != 143 {
		t.Errorf("status %d", status)
	}
	if flags := x.flags(t); flags&(unix.ISIG|unix.ICANON|unix.ECHO) != unix.ISIG|unix.ICANON|unix.ECHO {
		t.Errorf("the terminal is left with flags %#x", flags)
	}
}
