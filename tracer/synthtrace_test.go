package tracer_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/tracer/event/synth"
)

// A program defines an event of its own and records it.
func ExampleInstance_TraceSynthEvent() {
	m, err := machine.New(machine.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ft, err := tracer.New(m, tracer.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fsys := tracefsfs.New(ft.Root())
	err = errors.Join(
		ft.CreateSynthEvent("schedtest", tracer.SynthField{Type: "pid_t", Name: "next_pid"}, tracer.SynthField{Type: "char[]", Name: "next_comm"}),
		tracefsfs.WriteFile(fsys, "events/synthetic/schedtest/enable", "1"),
		ft.Top().TraceSynthEvent("schedtest", synth.Value{N: 777}, synth.Value{B: []byte("tiddlywinks")}),
	)
	text, _ := fsys.ReadFile("trace")
	_, last, _ := strings.Cut(string(text), "FUNCTION\n")
	fmt.Println(err)
	fmt.Print(last)
	// Output:
	// <nil>
	// #              | |         |   |||||     |         |
	//               sh-1000    [000] .....     0.000000: schedtest: next_pid=777 next_comm=tiddlywinks
}

func TestTraceSynthEvent(t *testing.T) {
	l := newLab(t, tracer.Config{})
	field := tracer.SynthField{Type: "u8", Name: "a"}
	top := l.ft.Top()
	for _, c := range []struct {
		what string
		err  error
		want syscall.Errno
	}{
		{"a bad type", l.ft.CreateSynthEvent("e", tracer.SynthField{Type: "u7", Name: "a"}), syscall.EINVAL},
		{"no field", l.ft.CreateSynthEvent("e"), syscall.EINVAL},
		{"too long", l.ft.CreateSynthEvent(strings.Repeat("e", 2048), field), syscall.E2BIG},
		{"none to delete", l.ft.DeleteSynthEvent("e"), syscall.ENOENT},
		{"none to record", top.TraceSynthEvent("e"), syscall.EINVAL},
		{"good", l.ft.CreateSynthEvent("e", field), 0},
		{"not enabled", top.TraceSynthEvent("e"), 0},
		{"enabled, and traced", errors.Join(tracefsfs.WriteFile(l.fs, "events/synthetic/e/enable", "1"), top.TraceSynthEvent("e", synth.Value{N: 255})), 0},
		{"too few values", top.TraceSynthEvent("e"), syscall.EINVAL},
		{"busy", l.ft.DeleteSynthEvent("e"), syscall.EBUSY},
	} {
		if c.want == 0 && c.err != nil || c.want != 0 && !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.err, c.want)
		}
	}
	for _, want := range []string{"e: a=255\n", "e: a=0\n"} {
		if text := l.read("trace"); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	l.write("events/synthetic/e/enable", "0")
	if err := l.ft.DeleteSynthEvent("e"); err != nil {
		t.Error(err)
	}
}
