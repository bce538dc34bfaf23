package tracer_test

import (
	"strings"
	"testing"

	"ftracelab/internal/tracefile"
	"ftracelab/stackmap"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/workload"
	"ftracelab/workload/machine"
)

// lab is a running machine with its tracefs.
type lab struct {
	t  testing.TB
	ft *tracer.Ftrace
	fs *tracefsfs.FS
}

func newLab(t testing.TB, cfg tracer.Config) *lab {
	t.Helper()
	m, err := machine.New(machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.Find("")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	ft, err := tracer.New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t, ft, tracefsfs.New(ft.Root())}
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := tracefsfs.WriteFile(l.fs, name, text); err != nil {
		l.t.Fatalf("write %q to %s: %v", text, name, err)
	}
}

func (l *lab) refused(name, text string) error {
	l.t.Helper()
	err := tracefsfs.WriteFile(l.fs, name, text)
	if err == nil {
		l.t.Errorf("write %q to %s succeeded", text, name)
	}
	return err
}

func (l *lab) read(name string) string {
	l.t.Helper()
	text, err := l.fs.ReadFile(name)
	if err != nil {
		l.t.Fatalf("read %s: %v", name, err)
	}
	return string(text)
}

func TestLook(t *testing.T) {
	l := newLab(t, tracer.Config{Stackmap: stackmap.Documented()})
	l.write("current_tracer", "function\n")
	l.ft.Run(2 * machine.Millisecond)
	l.write("tracing_on", "0")
	t.Log(head(l.read("trace"), 30))
	l.write("current_tracer", "function_graph")
	l.write("tracing_on", "1")
	l.ft.Run(2 * machine.Millisecond)
	l.write("tracing_on", "0")
	t.Log(head(l.read("trace"), 60))
	l.write("current_tracer", "nop")
	l.write("options/stacktrace", "1")
	l.write("set_event", "sched:*\n")
	l.write("tracing_on", "1")
	l.ft.Run(2 * machine.Millisecond)
	t.Log(head(l.read("trace"), 60))
	t.Log(l.read("per_cpu/cpu0/stats"))
	_ = tracefile.Errno
}

func head(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}
