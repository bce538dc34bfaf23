package trigger

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/filter"
)

// env knows three events and no symbols.
func env() Env {
	known := []*event.Type{events.SchedSwitch.Type, events.SchedWaking.Type, events.SoftirqEntry.Type}
	return Env{
		Type:   events.SchedSwitch.Type,
		Filter: filter.Env{CPUs: 2},
		Event: func(system, name string) *event.Type {
			for _, t := range known {
				if t.System == system && t.Name == name {
					return t
				}
			}
			return nil
		},
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, want string
		err        error
	}{
		{"traceon", "traceon:unlimited", nil},
		{"  traceoff \n", "traceoff:unlimited", nil},
		{"traceoff:", "traceoff:unlimited", nil},
		{"traceoff 3", "traceoff:count=3", nil},
		{"snapshot:0x10", "snapshot:count=16", nil},
		{"snapshot:18446744073709551615", "snapshot:unlimited", nil},
		{"stacktrace:5 if prev_pid == 7", "stacktrace:count=5 if prev_pid == 7", nil},
		{"stacktrace if  prev_pid == 7", "stacktrace:unlimited if  prev_pid == 7", nil},
		{"stacktrace:if prev_pid == 7", "stacktrace:unlimited if prev_pid == 7", nil},
		{"enable_event:irq:softirq_entry", "enable_event:irq:softirq_entry:unlimited", nil},
		{"disable_event irq:softirq_entry:2 if prev_pid > 0", "disable_event:irq:softirq_entry:count=2 if prev_pid > 0", nil},
		{"traceoff:2:rest", "traceoff:count=2", nil},

		{"", "", syscall.EINVAL},
		{"!", "", syscall.EINVAL},
		{"bogus", "", syscall.EINVAL},
		{"hist:keys=prev_pid", "", syscall.EINVAL},
		{"traceoff:x", "", syscall.EINVAL},
		{"traceoff:-1", "", syscall.EINVAL},
		{"traceoff:5x", "", syscall.EINVAL},
		{"traceoff:99999999999999999999", "", syscall.ERANGE},
		{"traceoff if", "", syscall.EINVAL},
		{"traceoff prev_pid == 7", "", syscall.EINVAL},
		{"traceoff if nofield == 7", "", syscall.EINVAL},
		{"enable_event", "", syscall.EINVAL},
		{"enable_event:irq", "", syscall.EINVAL},
		{"enable_event:irq:", "", syscall.EINVAL},
		{"enable_event:foo:bar:99999999999999999999", "", syscall.EINVAL},
		{"enable_event:irq:softirq_entry:", "", syscall.EINVAL},
		{"traceoff\ntraceon", "", syscall.EINVAL},
		{"traceoff if " + strings.Repeat("(", 5000), "", syscall.EINVAL},
	} {
		tr, remove, err := Parse(c.text, env())
		switch {
		case !errors.Is(err, c.err) || err == nil && remove:
			t.Errorf("%q: %v, remove %v, want %v", c.text, err, remove, c.err)
		case err == nil && tr.String() != c.want:
			t.Errorf("%q is %q, want %q", c.text, tr, c.want)
		}
	}
}

// What is taken away is not looked at closely.
func TestParseRemove(t *testing.T) {
	for _, text := range []string{"!traceoff", "!traceoff:bogus", "!stacktrace:count=7 if nofield", "!enable_event:irq:softirq_entry:count=1"} {
		if _, remove, err := Parse(text, env()); err != nil || !remove {
			t.Errorf("%q: remove %v, %v", text, remove, err)
		}
	}
	if _, _, err := Parse("!enable_event:foo:bar", env()); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("an event that is not there: %v", err)
	}
}

func (l *List) add(t *testing.T, text string) error {
	t.Helper()
	tr, _, err := Parse(text, env())
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return l.Add(tr)
}

// The newest comes first; two of a class exclude each other, enable and disable
// of one event too.
func TestListOrder(t *testing.T) {
	var l List
	if got := Available(); got != "# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n" {
		t.Errorf("available: %q", got)
	}
	for _, c := range []struct {
		text string
		want error
	}{
		{"traceon", nil},
		{"traceoff:3", syscall.EEXIST},
		{"snapshot:1", nil},
		{"enable_event:irq:softirq_entry:1", nil},
		{"disable_event:irq:softirq_entry", syscall.EEXIST},
		{"disable_event:sched:sched_waking", nil},
		{"enable_hist:irq:softirq_entry:2", nil},
		{"disable_hist:irq:softirq_entry", syscall.EEXIST},
	} {
		if err := l.add(t, c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.text, err, c.want)
		}
	}
	want := "enable_hist:irq:softirq_entry:count=2\ndisable_event:sched:sched_waking:unlimited\nenable_event:irq:softirq_entry:count=1\nsnapshot:count=1\ntraceon:unlimited\n"
	if got := l.Show(); got != want {
		t.Errorf("the list shows\n%swant\n%s", got, want)
	}
	off, _, _ := Parse("!disable_event:irq:softirq_entry", env())
	if got := l.Remove(off); got == nil || got.Target() != events.SoftirqEntry.Type {
		t.Errorf("removed %v, want the trigger of softirq_entry", got)
	}
	if l.Remove(off) != nil || l.Len() != 4 {
		t.Errorf("after removing twice there are %d", l.Len())
	}
	if gone := l.RemoveHistSwitches(); len(gone) != 1 || gone[0].Target() != events.SoftirqEntry.Type || l.Len() != 3 {
		t.Errorf("opening with > removed %v, and %d are left", gone, l.Len())
	}
}

// deeds writes down what triggers do.
type deeds struct {
	on   bool
	soft map[string]bool
	log  []string
}

func (d *deeds) Recording() bool { return d.on }
func (d *deeds) SetRecording(on bool) {
	d.on = on
	d.log = append(d.log, map[bool]string{true: "on", false: "off"}[on])
}
func (d *deeds) Snapshot()                         { d.log = append(d.log, "snapshot") }
func (d *deeds) Stack()                            { d.log = append(d.log, "stack") }
func (d *deeds) SoftDisabled(t *event.Type) bool   { return d.soft[t.Name] }
func (d *deeds) SoftDisable(t *event.Type, v bool) { d.soft[t.Name] = v }
func (d *deeds) PauseHists(t *event.Type, v bool) {
	d.log = append(d.log, map[bool]string{true: "pause ", false: "go on "}[v]+t.Name)
}

// A count goes down only when the trigger changes something.
func TestCounts(t *testing.T) {
	var l List
	for _, text := range []string{"traceoff:2", "snapshot:2", "enable_event:irq:softirq_entry:1"} {
		if err := l.add(t, text); err != nil {
			t.Fatal(err)
		}
	}
	d := &deeds{on: false, soft: map[string]bool{}}
	happens := func() { l.CallDue(l.Call(make([]byte, 64), filter.Context{}, d), d) }
	happens()
	if got, want := l.Show(), "enable_event:irq:softirq_entry:count=1\nsnapshot:count=1\ntraceoff:count=2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.on, d.soft["softirq_entry"] = true, true
	for range 3 {
		happens()
	}
	if got, want := l.Show(), "enable_event:irq:softirq_entry:count=0\nsnapshot:count=0\ntraceoff:count=1\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"snapshot", "snapshot", "off"}; !slices.Equal(d.log, want) || d.soft["softirq_entry"] {
		t.Errorf("they did %q, want %q; softirq_entry still disabled: %v", d.log, want, d.soft["softirq_entry"])
	}
}

// Hists may be told to go on again and again: each time counts.
func TestHistSwitchCounts(t *testing.T) {
	var l List
	for _, text := range []string{"enable_hist:irq:softirq_entry:2", "disable_hist:sched:sched_waking"} {
		if err := l.add(t, text); err != nil {
			t.Fatal(err)
		}
	}
	d := &deeds{}
	for range 3 {
		l.CallAlways(d)
	}
	want := []string{"pause sched_waking", "go on softirq_entry", "pause sched_waking", "go on softirq_entry", "pause sched_waking"}
	if !slices.Equal(d.log, want) {
		t.Errorf("they did %q, want %q", d.log, want)
	}
}

// A filter lets a trigger act on some records, and what comes after the record
// waits for it.
func TestFilterAndOrder(t *testing.T) {
	var l List
	for _, text := range []string{"stacktrace if prev_pid == 7", "snapshot if prev_pid != 7", "traceoff"} {
		if err := l.add(t, text); err != nil {
			t.Fatal(err)
		}
	}
	if !l.Conditional() {
		t.Fatal("filters make a list wait for the record")
	}
	record := func(pid int32) []byte {
		return events.SchedSwitch.Append(nil, event.Common{}, &events.SchedSwitchRecord{PrevPID: pid})
	}
	d := &deeds{on: true}
	due := l.Call(record(7), filter.Context{}, d)
	d.log = append(d.log, "record")
	l.CallDue(due, d)
	d.on = true
	due = l.Call(record(8), filter.Context{}, d)
	d.log = append(d.log, "record")
	l.CallDue(due, d)
	if want := []string{"record", "off", "stack", "snapshot", "record", "off"}; !slices.Equal(d.log, want) {
		t.Errorf("they did %q, want %q", d.log, want)
	}
}

// FuzzParse checks that a command never panics and that what is accepted shows
// as a command that is accepted again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"traceoff:5 if prev_pid == 7", "!snapshot", "enable_event:irq:softirq_entry:2", "stacktrace if prev_comm ~ \"a*\"", "traceon 0x7 if (prev_pid > 3 && next_pid < 5)", "disable_event:irq:softirq_entry if"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tr, remove, err := Parse(text, env())
		if err != nil || remove {
			return
		}
		shown := strings.NewReplacer(":unlimited", "", ":count=", ":").Replace(tr.String())
		again, _, err := Parse(shown, env())
		if err != nil || again.kind != tr.kind || again.target != tr.target {
			t.Errorf("%q shows as %q, which is %v, %v", text, shown, again, err)
		}
	})
}
