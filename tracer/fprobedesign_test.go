package tracer

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer/dynevent"
)

// stackedDesigns are those of the kernels after 6.12.
var stackedDesigns = []dynevent.FprobeDesign{dynevent.FprobeGraph, dynevent.FprobeSplit}

func newFprobeLab(t *testing.T, design dynevent.FprobeDesign) *dynLab {
	t.Helper()
	ft := newRunningKernel(t, machine.Config{CPUs: 2}, Config{Fprobe: design})
	return &dynLab{t, ft, tracefsfs.New(ft.Root())}
}

// Where the shadow stack sees the returns, a definition must not say how many, and the
// functions are on ftrace's list only while an event is enabled.
func TestFprobeRegistration(t *testing.T) {
	for _, design := range append(stackedDesigns, dynevent.FprobeRethook) {
		l := newFprobeLab(t, design)
		stacked := design != dynevent.FprobeRethook
		if stacked {
			l.fails("dynamic_events", "f3:leave vfs_read%return\n", syscall.EINVAL)
			if got := l.read("error_log"); !strings.Contains(got, "error: Invalid maxactive number\n  Command: f3:leave vfs_read%return\n            ^") {
				t.Errorf("%q: %s", design, got)
			}
			l.must("dynamic_events", "f:leave vfs_read%return\n")
		} else {
			l.must("dynamic_events", "f3:leave vfs_read%return\n")
		}
		l.must("dynamic_events", "f:enter vfs_write\n")
		before := l.read("enabled_functions")
		l.must("events/fprobes/enable", "1\n")
		during := l.read("enabled_functions")
		l.must("events/fprobes/enable", "0\n")
		after := l.read("enabled_functions")
		if !strings.Contains(during, "vfs_read (1)") || !strings.Contains(during, "vfs_write (1)") {
			t.Errorf("%q: enabled: %q", design, during)
		}
		if stacked && before+after != "" || !stacked && (before != during || after != during) {
			t.Errorf("%q: before %q, after %q", design, before, after)
		}
		if direct := strings.Contains(during, "fprobe_ftrace_entry"); direct != (design == dynevent.FprobeSplit) {
			t.Errorf("%q: %q", design, during)
		}
		l.must("dynamic_events", "-:fprobes/\n")
		l.want("dynamic_events", "")
	}
}

// All designs see the same calls, with the same arguments, at the same times; those of
// 6.12 with so many nodes that none is missed.
func TestFprobeDesignsAgree(t *testing.T) {
	lines := func(design dynevent.FprobeDesign) string {
		l := newFprobeLab(t, design)
		number := ""
		if design == dynevent.FprobeRethook {
			number = "1000"
		}
		l.must("dynamic_events", fmt.Sprintf(
			"f:enter vfs_read count=$arg3\nf%[1]s:leave vfs_read%%return ret=$retval:s64 count=$arg3\nf:many vfs_w*\nf%[1]s:off schedule%%return\n", number))
		l.must("events/fprobes/enable", "1\n")
		l.ft.Run(500 * machine.Millisecond)
		var out []string
		for _, line := range l.lines(`: (enter|leave|many|off): `) {
			before, after, _ := strings.Cut(line, "] ")
			out = append(out, before+after[5:]) // without the flags
		}
		return strings.Join(out, "\n")
	}
	want := lines(dynevent.FprobeRethook)
	if strings.Count(want, "\n") < 500 || !strings.Contains(want, "leave") || !strings.Contains(want, "off") {
		t.Fatalf("only %d lines", strings.Count(want, "\n"))
	}
	for _, design := range stackedDesigns {
		got := lines(design)
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range a {
			if i < len(b) && a[i] != b[i] {
				t.Fatalf("%s, line %d: %q, with 6.12's %q", design, i, a[i], b[i])
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s: %d lines, with 6.12's %d", design, len(a), len(b))
		}
	}
}

// Without room for another user of the shadow stack, the event cannot be enabled.
func TestFprobeNoRoom(t *testing.T) {
	l := newFprobeLab(t, dynevent.FprobeGraph)
	for range fgraph.MaxOps {
		err := l.ft.graph.Register(&fgraph.Ops{
			Entry:  func(*machine.CPU, *fgraph.Stack, fgraph.Call) bool { return false },
			Return: func(*machine.CPU, *fgraph.Stack, fgraph.Ret) {},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.must("dynamic_events", "f:leave vfs_read%return\n")
	if err := tracefsfs.WriteFile(l.fs, "events/fprobes/leave/enable", "1\n"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("enabled: %v", err)
	}
	l.want("events/fprobes/leave/enable", "0\n")
	l.must("dynamic_events", "-:leave\n")
}

// A module takes its functions away from the probes on them; probes on its tracepoint
// wait again.
func TestFprobeModuleGoes(t *testing.T) {
	for _, design := range stackedDesigns {
		l := newFprobeLab(t, design)
		mod := machine.Module{Name: "sample", Functions: []string{"__probestub_sample_point", "sample_open"}}
		l.must("dynamic_events", "t:late sample_point\n")
		l.do(func(m *machine.Machine) error { return m.LoadModule(mod) })
		l.must("dynamic_events", "f:gone sample_open%return\n")
		l.must("events/fprobes/enable", "1\n")
		l.must("events/tracepoints/enable", "1\n")
		if got := l.read("enabled_functions"); !strings.Contains(got, "sample_open") || !strings.Contains(got, "__probestub_sample_point") {
			t.Errorf("%s: %q", design, got)
		}
		l.do(func(m *machine.Machine) error { return m.UnloadModule("sample") })
		l.want("enabled_functions", "")
		l.must("events/fprobes/enable", "0\n")
		l.must("events/tracepoints/enable", "0\n")
		l.must("dynamic_events", "-:gone\n")
		l.must("dynamic_events", "-:late\n")
	}
}
