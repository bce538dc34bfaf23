package tracer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/workload"
)

// A testEvent is what the test kinds make of "x:GROUP/EVENT ARGS…" and of y.
type testEvent struct {
	ft   *Ftrace
	of   *dynevent.Kind
	typ  *event.Type
	args []string
}

func testKind(ft **Ftrace, name string) *dynevent.Kind {
	kind := &dynevent.Kind{Name: name}
	kind.Create = func(_ *dynevent.Events, command string) error {
		words := strings.Fields(command)
		if len(words) == 0 {
			return nil
		}
		rest, mine := strings.CutPrefix(words[0], name+":")
		if !mine {
			return syscall.ECANCELED
		}
		group, event, _ := strings.Cut(rest, "/")
		return addTestEvent(*ft, kind, group, event, words[1:])
	}
	return kind
}

func addTestEvent(ft *Ftrace, kind *dynevent.Kind, group, name string, args []string) error {
	id, err := ft.types.FreeID()
	if err != nil {
		return err
	}
	typ, err := event.NewType(id, group, name, `"x"`, nil)
	if err != nil {
		return err
	}
	if err := ft.addEvent(typ, nil); err != nil {
		return err
	}
	ft.dyn.Add(&testEvent{ft, kind, typ, args})
	return nil
}

func (e *testEvent) Kind() *dynevent.Kind { return e.of }

func (e *testEvent) Show() string {
	return strings.Join(append([]string{fmt.Sprintf("%s:%s", e.of.Name, e.typ)}, e.args...), " ")
}

func (e *testEvent) Busy() bool { return e.ft.enabledSomewhere(e.typ) }

func (e *testEvent) Free() error {
	if err := e.ft.removeEvent(e.typ); err != nil {
		return err
	}
	e.ft.dyn.Drop(e)
	return nil
}

func (e *testEvent) Match(system *string, event string, args []string) bool {
	return (system == nil || *system == e.typ.System) && (event == "" || event == e.typ.Name) &&
		(len(args) == 0 || slices.Equal(args, e.args))
}

// dynLab is a tracefs with dynamic_events of the kinds x and y, and y_events.
type dynLab struct {
	t  *testing.T
	ft *Ftrace
	fs *tracefsfs.FS
}

func newDynLab(t *testing.T) *dynLab {
	t.Helper()
	m, err := machine.New(machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ft, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	x, y := testKind(&ft, "x"), testKind(&ft, "y")
	ft.dyn = dynevent.New((*dynHost)(ft), nil, dynevent.FprobeRethook, x, y)
	root := ft.Root()
	children := root.Children
	root.Find, root.Children = nil, func() []tracefile.Node {
		return append(children(), ft.dyn.File("y_events", y, func(command string) error { return y.Create(ft.dyn, command) }))
	}
	return &dynLab{t, ft, tracefsfs.New(root)}
}

// newProbeLab is a running machine with its tracefs.
func newProbeLab(t *testing.T) *dynLab {
	t.Helper()
	ft := newRunning(t, machine.Config{CPUs: 2})
	return &dynLab{t, ft, tracefsfs.New(ft.Root())}
}

// newRunning is the tracing of a machine that runs the usual workload.
func newRunning(t *testing.T, cfg machine.Config) *Ftrace {
	t.Helper()
	return newRunningKernel(t, cfg, Config{})
}

func newRunningKernel(t *testing.T, cfg machine.Config, kernel Config) *Ftrace {
	t.Helper()
	m, err := machine.New(cfg)
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
	ft, err := New(m, kernel)
	if err != nil {
		t.Fatal(err)
	}
	return ft
}

func (l *dynLab) append(name, text string) error { return tracefsfs.Append(l.fs, name, text) }

func (l *dynLab) must(name, text string) {
	l.t.Helper()
	if err := l.append(name, text); err != nil {
		l.t.Fatalf("write %q to %s: %v", text, name, err)
	}
}

func (l *dynLab) read(name string) string {
	l.t.Helper()
	text, err := l.fs.ReadFile(name)
	if err != nil {
		l.t.Fatalf("read %s: %v", name, err)
	}
	return string(text)
}

func (l *dynLab) want(name, text string) {
	l.t.Helper()
	if got := l.read(name); got != text {
		l.t.Errorf("%s reads %q, want %q", name, got, text)
	}
}

func (l *dynLab) fails(name, text string, errno syscall.Errno) {
	l.t.Helper()
	if err := l.append(name, text); tracefile.Errno(err) != errno || err == nil {
		l.t.Errorf("write %q to %s: %v, want %v", text, name, err, errno)
	}
}

func TestDynamicEventsFile(t *testing.T) {
	l := newDynLab(t)
	l.must("dynamic_events", "x:g/a one # two\n\ny:g/b\nx:g/c\nx:h/a two\n")
	l.want("dynamic_events", "x:g/a one\ny:g/b\nx:g/c\nx:h/a two\n")
	l.want("y_events", "y:g/b\n")
	l.fails("dynamic_events", "z:g/a", syscall.EINVAL) // nobody's
	l.fails("dynamic_events", "x:g/a", syscall.EEXIST)
	for command, errno := range map[string]syscall.Errno{
		"-:g/d": syscall.ENOENT, "-:/a": syscall.ENOENT, "-:g/a two": syscall.ENOENT,
		"-": syscall.EINVAL, "-x:g/a": syscall.EINVAL, "-:": syscall.EINVAL, "!": syscall.EINVAL, "!x": syscall.EINVAL,
		"x:g/" + strings.Repeat("e", 4096): syscall.EINVAL,
	} {
		l.fails("dynamic_events", command, errno)
	}
	l.must("dynamic_events", "-:h/a two\n!x:c")
	l.want("dynamic_events", "x:g/a one\ny:g/b\n")
	l.fails("dynamic_events", "x:g/d\nx:g/e\x00", syscall.EINVAL)
	l.want("dynamic_events", "x:g/a one\ny:g/b\nx:g/d\n")
	if err := tracefsfs.WriteFile(l.fs, "y_events", ""); err != nil {
		t.Fatal(err)
	}
	l.want("dynamic_events", "x:g/a one\nx:g/d\n")
	l.must("dynamic_events", "-:g/")
	l.want("dynamic_events", "")
}

func TestDynamicEventBusy(t *testing.T) {
	l := newDynLab(t)
	if err := l.ft.mkdir("foo"); err != nil {
		t.Fatal(err)
	}
	l.must("dynamic_events", "x:g/a\nx:g/b\nx:g/c\n")
	l.must("instances/foo/events/g/b/enable", "1")
	if err := tracefsfs.WriteFile(l.fs, "dynamic_events", ""); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("all are deleted while one is enabled: %v", err)
	}
	l.fails("dynamic_events", "-:g/", syscall.EBUSY) // a is gone by then
	l.want("dynamic_events", "x:g/b\nx:g/c\n")
	l.must("instances/foo/events/g/b/enable", "0")
	l.must("events/g/c/trigger", "traceoff")
	l.fails("dynamic_events", "-:g/c", syscall.EBUSY)
	l.must("events/g/c/trigger", "!traceoff")
	c := l.ft.types.ByName("g", "c")
	l.ft.holdEvent(c)
	l.fails("dynamic_events", "-:g/c", syscall.EBUSY)
	l.ft.releaseEvent(c)
	l.must("dynamic_events", "-:g/c")

	// The records of what was enabled go with it, and only those.
	l.must("trace_marker", "top\n")
	l.must("instances/foo/trace_marker", "foo\n")
	l.must("dynamic_events", "-:g/b")
	if got := l.read("instances/foo/trace"); strings.Contains(got, "foo\n") {
		t.Errorf("foo keeps what it recorded:\n%s", got)
	}
	if got := l.read("trace"); !strings.Contains(got, "top\n") {
		t.Errorf("the top instance lost what it recorded:\n%s", got)
	}
}

// Events stand first where there is an instance already, last where one is made.
func TestDynamicEventsInInstances(t *testing.T) {
	l := newDynLab(t)
	static := l.read("available_events")
	early := l.ft.mkdir("early")
	l.must("dynamic_events", "x:g/a\nx:sched/b\n")
	if err := errors.Join(early, l.ft.mkdir("late")); err != nil {
		t.Fatal(err)
	}
	l.want("available_events", "sched:b\ng:a\n"+static)
	for _, instance := range []string{"instances/early/", "instances/late/"} {
		l.must(instance+"set_event", "sched:\ng:a\n")
	}
	if early := l.read("instances/early/set_event"); !strings.HasPrefix(early, "sched:b\ng:a\nsched:") {
		t.Errorf("early: %s", early)
	}
	if late := l.read("instances/late/set_event"); !strings.HasSuffix(late, "\ng:a\nsched:b\n") {
		t.Errorf("late: %s", late)
	}
	for _, instance := range []string{"instances/early/", "instances/late/"} {
		l.must(instance+"set_event", "!sched:\n!g:a\n")
	}

	// Ids are given again, and what was set of an event is not.
	a := l.ft.types.ByName("g", "a")
	h, err := l.fs.OpenHandle(context.Background(), "events/g/a/enable", tracefile.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	l.must("events/g/a/filter", "common_pid == 1")
	l.must("dynamic_events", "-:g/a")
	if _, err := h.Write(context.Background(), []byte("1")); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("an event that is gone is enabled: %v", err)
	}
	if _, err := l.fs.Lookup("events/g"); err == nil {
		t.Error("events/g stays")
	}
	l.must("dynamic_events", "y:g/c\n")
	if c := l.ft.types.ByName("g", "c"); c.ID != a.ID {
		t.Errorf("id %d, want %d again", c.ID, a.ID)
	}
	l.want("events/g/c/filter", "none\n")
	l.want("instances/early/events/g/c/id", fmt.Sprintln(a.ID))
	if err := tracefsfs.WriteFile(l.fs, "dynamic_events", ""); err != nil {
		t.Fatal(err)
	}
	l.want("available_events", static)
}

// What a dynamic event does when it is turned on may fail: then it stays off.
func TestDynamicEventSwitch(t *testing.T) {
	l := newDynLab(t)
	l.must("dynamic_events", "x:g/a\nx:g/b\n")
	var calls []string
	refuse := false
	for _, name := range []string{"a", "b"} {
		l.ft.dynamic[l.ft.types.ByName("g", name)].reg = func(_ dynevent.Instance, on bool) error {
			calls = append(calls, fmt.Sprint(name, on))
			if refuse && on && name == "a" {
				return syscall.ENOMEM
			}
			return nil
		}
	}
	refuse = true
	l.fails("events/g/enable", "1", syscall.ENOMEM) // b is on, the last one is tried first
	l.fails("events/g/a/enable", "1", syscall.ENOMEM)
	l.want("events/g/enable", "X\n")
	l.fails("set_event", "g:a", syscall.ENOMEM)
	l.fails("set_event", "a", syscall.ENOMEM)
	refuse = false
	l.must("events/g/a/trigger", "traceoff") // softly
	l.must("events/g/a/enable", "1")
	l.must("events/g/a/enable", "0")
	l.must("events/g/a/trigger", "!traceoff")
	l.must("events/g/enable", "0")
	want := "btrue atrue atrue atrue atrue atrue afalse bfalse"
	if got := strings.Join(calls, " "); got != want {
		t.Errorf("switched %q, want %q", got, want)
	}
}
