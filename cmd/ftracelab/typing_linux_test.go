package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const shellPrompt = "tracing # "

// enters types keys and then return, and waits for what comes of it and the next prompt.
func (x *terminal) enters(t *testing.T, typed, want string) {
	t.Helper()
	x.types(t, typed+"\r")
	x.shows(t, want)
	x.shows(t, shellPrompt)
}

// leave ends a session.
func (x *terminal) leave(t *testing.T) {
	t.Helper()
	x.types(t, "exit\r")
	select {
	case <-x.done:
	case <-time.After(20 * time.Second):
		t.Fatal("exit does not end it")
	}
}

// TestTyping: Tab completes from the tree, Ctrl-C drops the line and not the session,
// Ctrl-R finds an older line, and the next session has the lines of this one.
func TestTyping(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	x := startTerminal(t, "shell")
	x.shows(t, shellPrompt)
	x.enters(t, "cat current_tr\t", "\r\nnop\r\n")
	x.enters(t, "ls -d events/sched/sched_swi\t", "\r\nevents/sched/sched_switch/\r\n")
	x.enters(t, "echo funcgraph-pr\t.", "\r\nfuncgraph-proc .\r\n")
	x.enters(t, "echo sched:sched_wakeup_\t", "\r\nsched:sched_wakeup_new\r\n")
	x.enters(t, "explain funcgraph-pr\t", "\r\nfuncgraph-proc (option)\r\n")
	x.types(t, "cat tracing_\t") // several: they are listed, and the line is there again
	x.shows(t, "tracing_cpumask      tracing_on\r\ntracing_max_latency  tracing_thresh\r\n")
	x.shows(t, shellPrompt+"cat tracing_")
	x.types(t, "\x03")
	x.shows(t, "^C\r\n")
	x.shows(t, shellPrompt)
	x.enters(t, "echo status $?", "\r\nstatus 130\r\n")
	x.types(t, "for x in 1; do\r")
	x.shows(t, "> ")
	x.types(t, "\x03")
	x.shows(t, shellPrompt)
	x.enters(t, "echo b\x01\x1b[3~\x1b[3~\x1b[3~\x1b[3~printf\x05; echo", "\r\nb\r\n") // Home, delete, End
	x.enters(t, "\x12current", "\r\nnop\r\n")
	x.enters(t, "\x12cat\x12", "\r\nnop\r\n") // the older one
	// In quotes: the parts of a trigger, fields, functions and types of a probe.
	x.enters(t, "echo 'hist:ke\tnext_pi\t' > events/sched/sched_switch/trigger; grep -o keys=next_pid events/sched/sched_switch/trigger", "\r\nkeys=next_pid\r\n")
	x.enters(t, "echo 'prev_sta\t == 1' > events/sched/sched_switch/filter; cat events/sched/sched_switch/filter", "\r\nprev_state == 1\r\n")
	x.enters(t, "echo 'p:x vfs_statx_p\t cnt=%dx:s6\t' > kprobe_events; cat kprobe_events", "\r\np:kprobes/x vfs_statx_path cnt=%dx:s64\r\n")
	x.leave(t)
	info, err := os.Stat(filepath.Join(state, "ftracelab", "history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("history: %v, %v", info, err)
	}
	x = startTerminal(t, "shell")
	x.shows(t, shellPrompt)
	x.enters(t, "\x12status", "\r\nstatus 0\r\n")
	x.enters(t, "history", "  cat current_tracer")
	x.leave(t)
}

// TestHistoryNowhere: a folder that cannot be made is no error.
func TestHistoryNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	x := startTerminal(t, "shell")
	x.shows(t, shellPrompt)
	x.enters(t, "echo still here", "\r\nstill here\r\n")
	x.leave(t)
}

// TestJobsAtThePrompt: jobs in the background go on when the next line is typed, and
// Ctrl-C ends the line and not them.
func TestJobsAtThePrompt(t *testing.T) {
	x := startTerminal(t, "shell", "--cpus", "1")
	x.shows(t, shellPrompt)
	x.enters(t, "(sleep 2; echo from the job) &", "")
	x.enters(t, "cat trace_pipe > /tmp/records &", "")
	x.enters(t, "jobs", "[1]  Running                 (sleep 2; echo from the job)\r\n[2]  Running                 cat trace_pipe >/tmp/records\r\n")
	x.enters(t, "sleep 3", "\r\nfrom the job\r\n")
	x.types(t, "echo on; sleep 1000000\r")
	x.shows(t, "\r\non\r\n")
	x.types(t, "\x03")
	x.shows(t, shellPrompt)
	x.enters(t, "cat trace_pipe", "cat: trace_pipe: Device or resource busy\r\n") // the job has it
	x.enters(t, "echo hello > trace_marker; sleep 1; grep -o hello /tmp/records", "\r\nhello\r\n")
	x.enters(t, "cat & echo reads nothing that is typed", "\r\nreads nothing that is typed\r\n")
	x.enters(t, "kill %2; sleep 1; jobs", "[2]  Terminated              cat trace_pipe >/tmp/records\r\n")
	x.types(t, "watch -n 1 'echo picture'\r")
	x.shows(t, "\x1b[H\x1b[2J") // each in the place of the last one
	x.shows(t, "Every 1s: echo picture\r\n\r\npicture\r\n\x1b[H\x1b[2J")
	x.types(t, "\x03")
	x.shows(t, shellPrompt)
	x.leave(t)
}

// TestPlainTerminal: where TERM is dumb, no escape sequence is written. The terminal edits
// the line; history, Ctrl-C and the end of input are as ever.
func TestPlainTerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	x := startTerminal(t, "shell")
	x.whole = new(strings.Builder)
	x.shows(t, shellPrompt)
	x.enters(t, "echo first", "\r\nfirst\r\n")
	x.types(t, "dropped\x03")
	x.shows(t, "^C\r\n"+"/sys/kernel/"+shellPrompt)
	x.enters(t, "echo status $?", "\r\nstatus 130\r\n")
	x.types(t, "for x in 1; do\r")
	x.shows(t, "> ")
	x.types(t, "\x03")
	x.shows(t, shellPrompt)
	x.types(t, "echo on; sleep 1000000\r")
	x.shows(t, "\r\non\r\n")
	x.types(t, "\x03")
	x.shows(t, shellPrompt)
	x.enters(t, "timeout 2 watch -n 1 echo picture; clear; less current_tracer", "picture\r\nEvery 1s: echo picture\r\n\r\npicture\r\nnop\r\n")
	x.enters(t, "explain stacktrace", "stacktrace (option)")
	x.enters(t, "history", "    1  echo first\r\n")
	x.types(t, "\x04")
	select {
	case <-x.done:
	case <-time.After(20 * time.Second):
		t.Fatal("the end of input does not end it")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if text := x.whole.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "picture") {
		t.Errorf("an escape sequence, or nothing: %q", text)
	}
}

// TestSmallTerminals: a session works on a terminal of 20 × 5, and on one that does not
// say how large it is.
func TestSmallTerminals(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	for _, size := range []unix.Winsize{{Row: 5, Col: 20}, {}} {
		x := startTerminal(t, "shell")
		if err := unix.IoctlSetWinsize(int(x.its.Fd()), unix.TIOCSWINSZ, &size); err != nil {
			t.Fatal(err)
		}
		x.shows(t, "# ")
		x.types(t, ":\r")
		x.shows(t, "# ")
		x.types(t, "echo a\x01\x05b\x12\x03") // Home, End, a search, and away with it
		x.shows(t, "^C\r\n")
		x.shows(t, "# ")
		x.types(t, "seq 3 | less; explain stacktrace | head -1; cat current_tr\t\r")
		x.shows(t, "1\r\n2\r\n3\r\nstacktrace (option)\r\nnop\r\n")
		x.types(t, "exit\r")
		select {
		case <-x.done:
		case <-time.After(20 * time.Second):
			t.Fatal("exit does not end it")
		}
	}
}

// TestPager: less stops when the terminal is full, goes on by a page or a line, and ends at
// q; the session goes on. In a pipe it is cat.
func TestPager(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	x := startTerminalOf(t, unix.Winsize{Col: 40, Row: 6}, []string{"TERM=xterm"}, "shell")
	x.shows(t, shellPrompt)
	x.types(t, "seq 101 199 | less\r")
	x.shows(t, "105\r\n\x1b[7m-- more")
	x.types(t, " ")
	x.shows(t, "110\r\n\x1b[7m-- more")
	x.types(t, "x\r")
	x.shows(t, "111\r\n\x1b[7m-- more")
	x.types(t, "q")
	x.shows(t, shellPrompt)
	x.enters(t, "echo status $?", "\r\nstatus 0\r\n")
	x.types(t, "less /proc/kallsyms\r")
	x.shows(t, "-- more")
	x.types(t, "\x03")
	x.shows(t, shellPrompt)
	x.enters(t, "seq 201 299 | less | tail -1", "\r\n299\r\n")
	x.leave(t)
}
