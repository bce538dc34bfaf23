package shell

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"ftracelab/tracefsfs/tracefile"
)

// fakeLog is a /dev/kmsg with fixed records, after which readers that wait are ended.
type fakeLog struct {
	lines []string
	cmds  []string // what Syslog was asked
}

func (l *fakeLog) file() *tracefile.File {
	return &tracefile.File{Mode: 0o644, Open: func(_ context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		return &fakeLogReader{log: l, flags: flags}, nil
	}}
}

type fakeLogReader struct {
	nullHandle
	log   *fakeLog
	flags tracefile.Flags
	next  int
}

func (r *fakeLogReader) Read(_ context.Context, p []byte) (int, error) {
	if r.next == len(r.log.lines) {
		if r.flags&tracefile.NonBlock != 0 {
			return 0, syscall.EAGAIN
		}
		if r.next > 6 {
			return 0, syscall.EINTR
		}
		r.log.lines = append(r.log.lines, fmt.Sprintf("6,%d,3000000,-;later", 9+r.next))
	}
	line := r.log.lines[r.next]
	r.next++
	if line == "dropped" {
		return 0, syscall.EPIPE
	}
	return copy(p, line+"\n"), nil
}

type logMachine struct {
	Machine
	log *fakeLog
}

func (m logMachine) Syslog(action, level int) error {
	m.log.cmds = append(m.log.cmds, fmt.Sprint(action, " ", level))
	if level == 7 {
		return syscall.EPERM
	}
	return nil
}

func runDmesg(t *testing.T, log *fakeLog, line string) (out, stderr string) {
	t.Helper()
	var b, e strings.Builder
	sh, err := New(Config{
		FS: newFakeTree().fs(), Stdout: &b, Stderr: &e, Machine: logMachine{log: log},
		Files: map[string]tracefile.Node{"/dev/kmsg": log.file()},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = sh.Run(ctx, strings.NewReader(line), "dmesg") // its status shows in what it prints
	return b.String(), e.String()
}

// The texts of the left options are those that util-linux 2.38.1 printed of such records.
func TestDmesg(t *testing.T) {
	lines := []string{
		`5,0,0,-;Linux version`, "dropped", `4,2,1234567,-;`, `12,3,2000000,-;one\x0atwo\x09\x5c`,
		`30,4,2500000,-;esc\x1b[0m \xc3\xa9 \xff`, `3,5,2600000,-,caller=T1;bad\x`,
	}
	for _, c := range []struct{ options, want string }{
		{"", "[    0.000000] Linux version\n\n[    2.000000] one\n               two\t\\\n[    2.500000] esc\\x1b[0m é \\xff\n[    2.600000] bad\\x\n"},
		{"-t", "Linux version\n\none\ntwo\t\\\nesc\\x1b[0m é \\xff\nbad\\x\n"},
		{"-x -u", "user  :warn  : [    2.000000] one\n                              two\t\\\ndaemon:info  : [    2.500000] esc\\x1b[0m é \\xff\n"},
		{"--decode --level=err", "kern  :err   : [    2.600000] bad\\x\n"},
		{"-l +notice -k", "[    0.000000] Linux version\n\n[    2.600000] bad\\x\n"},
		{"-k -l notice,err", "[    0.000000] Linux version\n[    2.600000] bad\\x\n"},
		{"-l notice+ -f kern", "[    0.000000] Linux version\n"},
		{"-r -l err,info", "<30>[    2.500000] esc\\x1b[0m é \\xff\n<3>[    2.600000] bad\\x\n"},
		{"-d -k", "[    0.000000 <    0.000000>] Linux version\n\n[    2.600000 <    1.365433>] bad\\x\n"},
		{"-d -t -k", "[<    0.000000>] Linux version\n\n[<    1.365433>] bad\\x\n"},
		{"-T -l err", "[Thu Jan  1 00:00:02 1970] bad\\x\n"},
		{"-w -l err,info -k", "[    2.600000] bad\\x\n[    3.000000] later\n"},
		{"-W", "[    3.000000] later\n"},
	} {
		log := &fakeLog{lines: append([]string(nil), lines...)}
		out, stderr := runDmesg(t, log, "dmesg "+c.options)
		if out != c.want || stderr != "" {
			t.Errorf("dmesg %s: %q, want %q; %s", c.options, out, c.want, stderr)
		}
	}
}

// What dmesg does to the log, and what it refuses.
func TestDmesgControls(t *testing.T) {
	for _, c := range []struct{ options, cmds, stderr string }{
		{"-C", "5 0", ""},
		{"--clear", "5 0", ""},
		{"-c > /dev/null", "5 0", ""},
		{"-D", "6 0", ""},
		{"-E", "7 0", ""},
		{"-n 4", "8 4", ""},
		{"-n debug", "8 8", ""},
		{"--console-level=emerg", "8 1", ""},
		{"-n 7", "8 7", "dmesg: klogctl failed: Operation not permitted\n"},
		{"-n 9", "", "dmesg: unknown level '9'\n"},
		{"-n 0", "", "dmesg: unknown level '0'\n"},
		{"-l loud", "", "dmesg: unknown level 'loud'\n"},
		{"-f self", "", "dmesg: unknown facility 'self'\n"},
		{"-H", "", "dmesg: option -H is not in the lab\n"},
		{"--json", "", "dmesg: option --json is not in the lab\n"},
		{"file", "", "dmesg: \"file\" is no option\n"},
	} {
		log := &fakeLog{lines: []string{"6,1,1,-;x"}}
		_, stderr := runDmesg(t, log, "dmesg "+c.options)
		if got := strings.Join(log.cmds, ","); got != c.cmds || stderr != c.stderr {
			t.Errorf("dmesg %s: %q, want %q; %q", c.options, got, c.cmds, stderr)
		}
	}
	if _, stderr := runDmesg(t, &fakeLog{lines: []string{"rubbish"}}, "dmesg"); stderr != "dmesg: /dev/kmsg: Input/output error\n" {
		t.Errorf("rubbish: %q", stderr)
	}
}

// FuzzLogRecord: no line of /dev/kmsg makes dmesg panic, and what it shows of one is printable.
func FuzzLogRecord(f *testing.F) {
	for _, s := range []string{"6,1,2,-;text\n", `30,4,2500000,-,caller=T1;esc\x1b[0m \xc3\xa9 \xff`, "6,1,2;x", ";", `6,1,2,-;\x`, `6,1,2,-;\xzz\x4`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, ok := parseLogRecord(line)
		if !ok {
			return
		}
		if r.priority < 0 || r.time < 0 {
			t.Fatalf("%q is %+v", line, r)
		}
		for _, c := range printable(r.text) {
			if c < ' ' && c != '\n' && c != '\t' && c != '\v' && c != '\f' && c != '\r' || c == 0x7f {
				t.Fatalf("%q is shown as %q", line, printable(r.text))
			}
		}
	})
}
