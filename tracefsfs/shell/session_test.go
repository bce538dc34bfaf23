package shell

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ftracelab/internal/testutil"
)

// Sessions with the tree: what a script prints, says on standard error, and its
// status.
func TestSessions(t *testing.T) {
	for _, c := range []struct {
		name, script, out, err string
		status                 int
	}{
		{
			"a write that fails is told", "echo bogus > current_tracer; echo $?; echo function > current_tracer; echo $?; cat current_tracer",
			"1\n0\nfunction\n", "echo: write error: Invalid argument\n", 0,
		},
		{"as is printf's", "printf 'x' > tracing_on || echo no", "no\n", "printf: write error: Invalid argument\n", 0},
		{"and cat's", "echo 5x > /tmp/n; cat /tmp/n > tracing_on; echo $?", "1\n", "cat: write error: Invalid argument\n", 0},
		{"and tee's", "echo x | tee tracing_on; echo $?", "x\n1\n", "tee: tracing_on: Invalid argument\n", 0},
		{"set -e ends the script", "set -e\necho bogus > current_tracer\necho not reached", "", "echo: write error: Invalid argument\n", 1},
		{"a test in if does not", "set -e\nif echo 0 > stack_map 2>/dev/null; then echo taken; else echo busy; fi", "busy\n", "", 0},
		{
			"echo is one write", "echo one two > trace_marker; printf 'a b' > trace_marker; echo > trace_marker; cat trace",
			"# tracer: nop\nmarker \"one two\\n\"\nmarker \"a b\"\nmarker \"\\n\"\n", "", 0,
		},
		{"reading what is only written", "cat trace_marker; echo $?", "1\n", "cat: trace_marker: Invalid argument\n", 0},
		{"no such file", "cat nothing; cat < nothing; echo $?", "1\n", "cat: nothing: No such file or directory\nsh: nothing: No such file or directory\n", 0},
		{
			"nothing can be created", "echo x > new; echo $?; touch new; mkdir new; rm trace; mv trace /tmp/x; chmod 777 trace", "1\n",
			"sh: new: Permission denied\ntouch: cannot touch 'new': Permission denied\nmkdir: cannot create directory 'new': Operation not permitted\n" +
				"rm: cannot remove 'trace': Operation not permitted\nmv: cannot move 'trace' to '/tmp/x': Operation not permitted\nchmod: changing modes and owners is not in the lab: Operation not permitted\n", 1,
		},
		{"instances", "mkdir instances/foo && ls instances && mkdir instances/foo; rmdir instances/foo; ls instances", "foo\n", "mkdir: cannot create directory 'instances/foo': File exists\n", 0},
		{"both mount points", "cd /sys/kernel/debug/tracing && echo function > current_tracer; cat /sys/kernel/tracing/current_tracer; pwd", "function\n/sys/kernel/debug/tracing\n", "", 0},
		{
			"folders and globs", "cd events/sched; pwd; ls; cd ../..; echo events/*/*/filter; ls -d option[s]",
			"/sys/kernel/tracing/events/sched\nsched_switch\nevents/irq/irq_handler_entry/filter events/sched/sched_switch/filter\noptions\n", "", 0,
		},
		{"tests", "[ -f trace ] && [ -d events ] && [ ! -e nothing ] && [ -w trace ] && [ -r trace ] && [ ! -x trace ] && [ -O trace ] && [[ -G trace ]] && echo all", "all\n", "", 0},
		{"read from a file", "read x < tracing_on; echo $x; while read a b; do echo $b; done < trace", "1\ntracer: nop\n", "", 0},
		{"the mount is found", "grep tracefs /proc/mounts | cut -d' ' -f2; stat -c %m .; mount | grep -c tracefs", "/sys/kernel/tracing\n/sys/kernel/tracing\n1\n", "", 0},
		{"kallsyms", "grep -c '\\bkernel_clone\\b' /proc/kallsyms", "1\n", "", 0},
		{"unknown command", "frobnicate -x; echo $?", "127\n", "sh: frobnicate: not found (the lab has commands of its own: try help)\n", 0},
		{"what is a command", "command -v cat cd nothing; echo $?; f() { :; }; type f cat cd; which sed nothing; echo $?", "cat\ncd\n1\nf is a shell function\ncat is a command of the lab\ncd is a shell builtin\n/usr/bin/sed\n1\n", "", 0},
		{
			"nothing of the host", "echo $$ $PPID $HOME $UID $(( $$ + 1 )); eval 'echo $$'; sh -c 'echo $$'; hostname; uname -r; id -u; nproc; date",
			"421 1 /root 0 422\n421\n421\nftracelab\n6.12.0-ftracelab\n0\n4\nThu Jan  1 00:00:00 UTC 1970\n", "", 0,
		},
		{"a function goes before a command", "grep() { echo mine; }; grep x trace; command grep -c tracer trace", "mine\n1\n", "", 0},
		{"traps", "trap 'echo bye $$' EXIT INT; echo hello; exit 4", "hello\nbye 421\n", "", 4},
		{"sourcing", "echo 'echo sourced $1 $$; return 5' > /tmp/s; . /tmp/s a; echo $?; . /tmp/nothing; echo $?", "sourced a 421\n5\n1\n", "sh: /tmp/nothing: No such file or directory\n", 0},
		{"scripts", "printf '#!/bin/sh\\necho run $0 $1\\nexit 3\\n' > /tmp/s; /tmp/s x; echo $?; sh /tmp/s y; sh -c 'echo $0 $1' a b; echo 'echo in' | sh", "run /tmp/s x\n3\nrun /tmp/s y\na b\nin\n", "", 0},
		{"jobs", "while :; do sleep 1; done & kill $!; wait $!; echo $?; sleep 1 & wait; kill %7; echo $?", "143\n1\n", "kill: %7: no such job of this shell\n", 0},
		{"a killed reader of trace_pipe", "cat trace_pipe > /dev/null & p=$!; kill $p; wait $p; echo $?", "143\n", "", 0},
		{"/dev/null", "cat /dev/null; echo x > /dev/null; echo $?; wc -c < /dev/null", "0\n0\n", "", 0},
		{
			"regular expressions that cannot be", "grep '\\(a\\)\\1' trace; echo $?; sed 's/\\(a\\)\\1/x/' trace; echo $?", "2\n1\n",
			"grep: regular expression \"\\\\(a\\\\)\\\\1\": back references are not supported in the lab\nsed: -e expression #1, char 12: regular expression \"\\\\(a\\\\)\\\\1\": back references are not supported in the lab\n", 0,
		},
		{"a syntax error", "echo 'unclosed", "", "sh: test:1:6: reached EOF without closing quote `'`\n", 2},
		{"what would need the host", "time true", "", "sh: 1:1: time would measure the host; the lab's time is simulated (see date)\n", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, stderr, status := run(t, c.script)
			if out != c.out || stderr != c.err || status != c.status {
				t.Errorf("script %q\nout    %q\nwant   %q\nstderr %q\nwant   %q\nstatus %d, want %d", c.script, out, c.out, stderr, c.err, status, c.status)
			}
		})
	}
}

// Simulated time passes in sleep, and only there.
func TestSleep(t *testing.T) {
	l := newLab(t)
	if _, err := l.sh.Run(context.Background(), strings.NewReader("sleep 1; sleep .5; usleep 20; sleep 1m 2"), "test"); err != nil {
		t.Fatal(err)
	}
	if want := 63*time.Second + 500*time.Millisecond + 20*time.Microsecond; l.tree.slept != want {
		t.Errorf("slept %v, want %v", l.tree.slept, want)
	}
}

func TestTracePipe(t *testing.T) {
	l := newLab(t)
	l.tree.piped = []string{"one\n", "two\n", "three\n"}
	// head leaves; cat ends at its next write, which the pipe's record causes.
	status, err := l.sh.Run(context.Background(), strings.NewReader("grep -m1 two trace_pipe"), "test")
	if l.out.String() != "two\n" || status != 0 || err != nil {
		t.Errorf("read %q, status %d, %v", l.out.String(), status, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	l.out.Reset()
	l.tree.piped = []string{"four\n"}
	status, err = l.sh.Run(ctx, strings.NewReader("cat trace_pipe"), "test")
	if l.out.String() != "four\n" || status != 130 || err == nil {
		t.Errorf("interrupted cat: %q, status %d, %v", l.out.String(), status, err)
	}
}

// The same script prints the same bytes.
func TestDeterministic(t *testing.T) {
	script := "echo $RANDOM $RANDOM $((RANDOM)); (echo $RANDOM); mktemp; mktemp -d; awk 'BEGIN { a[\"x\"]; a[\"b\"]; a[\"q\"]; for (k in a) print k }'; env; find . -printf '%y %m %p\\n'"
	first, _, _ := run(t, script)
	for range 5 {
		if again, _, _ := run(t, script); again != first {
			t.Fatalf("first\n%s\nthen\n%s", first, again)
		}
	}
	if strings.Contains(first, "TMPDIR") || strings.Count(first, "\n") < 20 {
		t.Errorf("output %q", first)
	}
}

// A test of the kernel's kind, with the driver that runs it.
func TestDriver(t *testing.T) {
	for name, want := range map[string]struct {
		out     string
		errHas  string
		tracing string
	}{
		"pass.tc":        {"\nentries 1\n[PASS]\n", "", "nop\n"},
		"fail.tc":        {"\n[FAIL]\n", "write error: Invalid argument", "nop\n"},
		"unsupported.tc": {"[UNSUPPORTED]\n", "", "nop\n"},
	} {
		l := newLab(t)
		l.host.files = map[string]string{}
		for _, file := range []string{"helpers.sh", name} {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			l.host.files["/selftests/"+file] = string(text)
		}
		l.drive(t, "/selftests/helpers.sh", "/selftests/"+name)
		if l.out.String() != want.out || !strings.Contains(l.err.String(), want.errHas) {
			t.Errorf("%s: out %q, want %q; stderr %q", name, l.out.String(), want.out, l.err.String())
		}
		if got := l.tree.get("current_tracer"); got != want.tracing {
			t.Errorf("%s left current_tracer %q", name, got)
		}
	}
}

func (l *lab) drive(t *testing.T, helpers, test string) {
	t.Helper()
	driver, err := os.Open("testdata/driver.sh")
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	if _, err := l.sh.Run(context.Background(), driver, "driver", "--", helpers, test); err != nil {
		t.Fatal(err)
	}
}

// The kernel's own helper file runs unmodified, and a test through the driver.
// FTRACELAB_SELFTESTS names tools/testing/selftests/ftrace of a kernel tree.
func TestKernelHelpers(t *testing.T) {
	selftests := testutil.FromEnv(t, "FTRACELAB_SELFTESTS", "tools/testing/selftests/ftrace of a Linux 6.12 source")
	l := newLab(t)
	l.sh.ns.host = osFiles{}
	functions := filepath.Join(selftests, "test.d/functions")
	script := ". " + functions + `
initialize_ftrace
echo "initialized $?"
cat events/sched/sched_switch/trigger events/sched/sched_switch/filter dynamic_events options/pause-on-trace tracing_on
ftrace_errlog_check trace_kprobe "p vfs_read ^nosuch" kprobe_events
echo "column $?"
get_mount_point
get_mnt_options /sys/kernel/tracing
echo $FUNCTION_FORK
check_requires function:tracer trace_marker:README tracing_on && echo required
finish_ftrace
cat options/pause-on-trace
`
	if _, err := l.sh.Run(context.Background(), strings.NewReader(script), "test"); err != nil {
		t.Fatal(err)
	}
	want := "\ninitialized 0\n# Available triggers:\nnone\n1\n1\nTest command: p vfs_read nosuch\n" +
		"[   1.000000] trace_kprobe: error: Invalid probed address or symbol\n  Command: p vfs_read nosuch\n                      ^\n" +
		"column 0\n/sys/kernel/tracing\nrw,nosuid,nodev,noexec,relatime\nkernel_clone\nrequired\n\n0\n"
	if l.out.String() != want || l.err.Len() > 0 {
		t.Errorf("out %q\nwant %q\nstderr %q", l.out.String(), want, l.err.String())
	}
	l = newLab(t)
	l.sh.ns.host = osFiles{}
	l.drive(t, functions, filepath.Join(selftests, "test.d/00basic/basic1.tc"))
	if !strings.HasSuffix(l.out.String(), "[PASS]\n") {
		t.Errorf("basic1.tc: %q, stderr %q", l.out.String(), l.err.String())
	}
}
