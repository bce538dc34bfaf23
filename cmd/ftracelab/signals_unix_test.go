//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child is a command that runs as a process of its own.
type child struct {
	*exec.Cmd
	dir, temp string // its working folder, and where its temporary files go
	in        *os.File
	out       *os.File
	errs      bytes.Buffer
	done      chan error
}

// startChild starts a command in dir. Nothing comes on its standard input, and nobody
// reads its standard output, until the test does.
func startChild(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	return startProgram(t, dir, "ftracelab", args...)
}

func startProgram(t *testing.T, dir, program string, args ...string) *child {
	t.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(program, args...), dir: dir, temp: t.TempDir(), in: in, out: out, done: make(chan error, 1)}
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, stdin, stdout, &c.errs
	c.Env = append(os.Environ(), "TMPDIR="+c.temp)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	stdout.Close()
	go func() { c.done <- c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill(); in.Close(); out.Close() })
	return c
}

// status is the exit status, or minus the number of the signal that killed it.
func (c *child) status(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(within):
		t.Fatalf("still there after %v", within)
	}
	ws := c.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return -int(ws.Signal())
	}
	return ws.ExitStatus()
}

// until waits for a condition, or for the child's end.
func (c *child) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		select {
		case err := <-c.done:
			t.Fatalf("ended before %s: %v: %s", what, err, c.errs.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("never %s", what)
}

// working waits for a temporary file.
func working(t *testing.T, c *child) {
	c.until(t, "a temporary file", func() bool {
		return slices.ContainsFunc(append(files(t, c.dir), files(t, c.temp)...), func(name string) bool {
			return strings.HasPrefix(name, ".ftracelab-")
		})
	})
}

// feed writes text for ever; it is over when the child has read much of it.
func feed(head, text string) func(*testing.T, *child) {
	return func(t *testing.T, c *child) {
		enough := make(chan struct{})
		go func() {
			block := bytes.Repeat([]byte(text), 1+(64<<10)/len(text))
			_, err := c.in.WriteString(head)
			for n := 0; err == nil; n++ {
				if _, err = c.in.Write(block); n == 20 {
					close(enough)
				}
			}
		}()
		c.until(t, "it has read", func() bool {
			select {
			case <-enough:
				return true
			default:
				return false
			}
		})
	}
}

// says waits for the first of what the child prints, and reads no more of it.
func says(t *testing.T, c *child) {
	if _, err := io.ReadFull(c.out, make([]byte, 1)); err != nil {
		t.Fatalf("says nothing: %s", c.errs.String())
	}
}

// aWhile passes where nothing shows from outside that the command is at work.
func aWhile(*testing.T, *child) { time.Sleep(500 * time.Millisecond) }

// longCapture makes a folder whose pages nobody has read to the end: those of a run,
// and then a terabyte of empty ones, which takes no room on the disk.
func longCapture(t *testing.T, dir string) {
	t.Helper()
	ftracelab(t, "run", "--cpus", "1", "--set", "current_tracer=function", "--duration", "20ms", "--out", dir)
	if err := os.Remove(filepath.Join(dir, "stats.cpu0")); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "cpu0.raw"), 1<<40); err != nil {
		t.Fatal(err)
	}
}

// TestSignals: each command, at work on something that does not end or waiting for
// something that does not come, ends at once with the signal's status, and leaves
// neither a part of its output nor a temporary file.
func TestSignals(t *testing.T) {
	// A program that was started with SIGHUP ignored, as by nohup, goes on ignoring it, and so
	// do its children. Who asks for a signal gives it back to the children.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)

	scratch := t.TempDir()
	long, text := filepath.Join(scratch, "long"), filepath.Join(scratch, "x.dat")
	longCapture(t, long)
	ftracelab(t, "run", "--set", "current_tracer=function", "--duration", "20ms", "--out", text)
	dump := "BMSF\x01\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00" // the head of a stack_map_bin of 2³² stacks
	for _, c := range []struct {
		name  string
		args  []string
		ready func(*testing.T, *child)
	}{
		{"estimate: waits for input", []string{"estimate", "--html", "page.html", "-"}, working},
		{"estimate: endless input", []string{"estimate", "--html", "page.html", "-"}, feed("", "a;b;c 1\n")},
		{"estimate: one endless line", []string{"estimate", "--format", "perf", "--keep-going", "-"}, feed("", "x")},
		{"estimate: a long folder", []string{"estimate", "--html", "page.html", long}, working},
		{"estimate: nobody opens the FIFO", []string{"estimate", "--html", "fifo"}, working},
		{"report: a long folder", []string{"report", long}, aWhile},
		{"report: nobody reads", []string{"report", "--as", "trace", text}, says},
		{"report as trace-cmd: nobody reads", []string{"report", text}, says},
		{"convert: a long folder", []string{"convert", long, "out.dat"}, working},
		{"convert: nobody opens the FIFO", []string{"convert", text, "fifo"}, working},
		{"convert: nobody reads", []string{"convert", text, "-"}, says},
		{"run: a folder", []string{"run", "--duration", "10h", "--out", "cap"}, working},
		{"run: a trace.dat", []string{"run", "--duration", "10h", "--out", "cap.dat"}, working},
		{"run: nobody reads", []string{"run", "--set", "current_tracer=function"}, says},
		{"shell -c: a loop", []string{"shell", "-c", "echo; while :; do :; done"}, says},
		{"shell -c: sleep", []string{"shell", "-c", "echo; sleep 100000"}, says},
		{"shell -c: a pipe", []string{"shell", "-c", "echo; cat trace_pipe | grep -c x"}, says},
		{"shell -c: waits for input", []string{"shell", "-c", "echo; cat"}, says},
		{"shell: waits for input", []string{"shell"}, aWhile},
		{"stackmap-dump: waits for input", []string{"stackmap-dump", "-"}, aWhile},
		{"stackmap-dump: endless input", []string{"stackmap-dump", "-"}, feed(dump, strings.Repeat("\x01\x00\x00\x00", 4)+"abcdefgh")},
		{"bench", []string{"bench"}, says},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
				dir := t.TempDir()
				if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
					t.Fatal(err)
				}
				p := startChild(t, dir, c.args...)
				c.ready(t, p)
				start := time.Now()
				if err := p.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				if status := p.status(t, 5*time.Second); status != 128+int(s) {
					t.Errorf("%v: status %d, want %d: %s", s, status, 128+int(s), p.errs.String())
				}
				took := time.Since(start)
				t.Logf("%v: %v", s, took.Round(time.Millisecond))
				if took > 2*time.Second {
					t.Errorf("%v: it took %v", s, took)
				}
				if p.errs.Len() > 0 && strings.Contains(p.errs.String(), "ftracelab: ") {
					t.Errorf("%v: it says %q", s, p.errs.String())
				}
				if left := append(files(t, dir), files(t, p.temp)...); !slices.Equal(left, []string{"fifo"}) {
					t.Errorf("%v: it leaves %v", s, left)
				}
			}
		})
	}
}

// TestIgnoredSignal: what nohup ignores does not end the work.
func TestIgnoredSignal(t *testing.T) {
	p := startProgram(t, t.TempDir(), "sh", "-c", `trap "" HUP; exec ftracelab shell -c 'echo; read line; exit 7'`)
	says(t, p)
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * grace)
	if _, err := p.in.WriteString("line\n"); err != nil {
		t.Fatal(err)
	}
	if status := p.status(t, 30*time.Second); status != 7 {
		t.Errorf("status %d: %s", status, p.errs.String())
	}
}

// TestSecondSignal: while the first one waits for the work, a second one does not. What
// is half made goes either way.
func TestSecondSignal(t *testing.T) {
	l := newLifetime(t.Context())
	ended := make(chan int, 1)
	l.got, l.grace, l.quit = make(chan os.Signal, 1), time.Hour, func(status int) { ended <- status }
	removed := false
	done, err := l.atEnd(func() error { return nil }, func() { removed = true })
	if err != nil {
		t.Fatal(err)
	}
	if err := done(func() error { return errors.New("not finished") }); err == nil {
		t.Error("no error")
	}
	go l.end(endedBy(syscall.SIGTERM))
	<-l.ctx.Done()
	select {
	case status := <-ended:
		t.Fatalf("the first signal did not wait: status %d", status)
	default:
	}
	l.got <- os.Interrupt
	if status := <-ended; status != 143 || !removed {
		t.Errorf("status %d, removed: %v", status, removed)
	}
}

// TestBrokenPipe: nobody wants the rest of the output; that is no error to talk about.
func TestBrokenPipe(t *testing.T) {
	text := filepath.Join(t.TempDir(), "x.dat")
	ftracelab(t, "run", "--set", "current_tracer=function", "--duration", "20ms", "--out", text)
	for _, args := range [][]string{
		{"estimate"},
		{"estimate", "--json"},
		{"report", text},
		{"report", "--as", "trace", text},
		{"convert", text, "-"},
		{"run", "--set", "current_tracer=function"},
		{"run", "--out", "-"},
		{"shell", "-c", "while :; do echo x; done"},
		{"bench"},
	} {
		p := startChild(t, t.TempDir(), args...)
		p.out.Close()
		if status := p.status(t, 60*time.Second); status != 141 {
			t.Errorf("%v: status %d: %s", args, status, p.errs.String())
		}
		if strings.Contains(p.errs.String(), "ftracelab: ") {
			t.Errorf("%v: it says %q", args, p.errs.String())
		}
		if left := append(files(t, p.dir), files(t, p.temp)...); len(left) > 0 {
			t.Errorf("%v: it leaves %v", args, left)
		}
	}
}
