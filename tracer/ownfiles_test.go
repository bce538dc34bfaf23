package tracer

import (
	"regexp"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer/dynevent"
)

// The folder is there only if it was asked for, and nothing in it can be written.
func TestOwnFiles(t *testing.T) {
	if _, err := newProbeLab(t).fs.ReadFile("ftracelab/shadow_stack"); err == nil {
		t.Error("a kernel has the folder")
	}
	kernel := Config{OwnFiles: true, ReturnSlots: 2, Fprobe: dynevent.FprobeGraph}
	ft := newRunningKernel(t, machine.Config{CPUs: 2}, kernel)
	l := &dynLab{t, ft, tracefsfs.New(ft.Root())}
	l.want("ftracelab/shadow_stack", "")
	l.must("dynamic_events", "f:leave schedule_timeout%return t=$arg1\nr5:pool schedule\n")
	l.must("events/fprobes/enable", "1\n")
	l.must("events/kprobes/enable", "1\n")
	l.ft.Run(100 * machine.Millisecond)

	text := l.read("ftracelab/shadow_stack")
	for _, want := range []string{
		`(?m)^\S+-\d+: depth 1, overrun 0$`,
		`(?m)^  1 [0-9a-f]{16} function schedule_timeout$`,
		`(?m)^  4 0000000000001404 bitmap: frame 4 below; users 0$`,
		`(?m)^  5 1fff888100c00000 data of user 0$`, // the header: one word, and the probe
		`(?m)^  7 0000000000001807 data word: frame 7 below; 2 words of user 0$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("shadow_stack does not match %s:\n%.800s", want, text)
		}
	}
	if got := l.read("ftracelab/fprobes"); !regexp.MustCompile(`^by address:\n  bucket +\d+: schedule_timeout, probe 0xffff888100c00000\nby probe:\n  bucket +\d+: probe 0xffff888100c00000, 1 words of data, missed 0\n$`).MatchString(got) {
		t.Errorf("fprobes: %q", got)
	}
	if got := l.read("ftracelab/return_pools"); !regexp.MustCompile(`^kprobes/pool: 5 nodes, [1-5] in use, missed [1-9]\d*\n$`).MatchString(got) {
		t.Errorf("return_pools: %q", got)
	}
	l.must("events/fprobes/enable", "0\n")
	if got := l.read("ftracelab/fprobes"); got != "by address:\nby probe:\n" {
		t.Errorf("fprobes when disabled: %q", got)
	}

	l.must("set_ftrace_filter", "schedule\n")
	l.must("current_tracer", "return\n")
	l.ft.Run(100 * machine.Millisecond)
	got := l.read("ftracelab/return_slots")
	if !strings.HasPrefix(got, "slots: 2\noverrun: ") || !regexp.MustCompile(`(?m)^ 0 called at \d+, returns to \w+(?: \[\w+\])?$`).MatchString(got) {
		t.Errorf("return_slots: %q", got)
	}
	for _, name := range []string{"shadow_stack", "return_slots", "fprobes", "return_pools", "user_unwind"} {
		if err := tracefsfs.WriteFile(l.fs, "ftracelab/"+name, "0\n"); err == nil {
			t.Errorf("%s can be written", name)
		}
	}
}
