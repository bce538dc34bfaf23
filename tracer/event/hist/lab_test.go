package hist

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/filter"
)

// lab is an instance with the scheduler's events, synthetic events that write
// down what they are given, and a snapshot.
type lab struct {
	fakeEnv
	t         testing.TB
	i         *Instance
	synths    map[string]*fakeSynth
	noClock   bool
	armed     int
	snapshots int
	generated []string
}

func newLab(t testing.TB) *lab {
	l := &lab{t: t, synths: map[string]*fakeSynth{}}
	l.types = []*event.Type{
		events.SchedSwitch.Type, events.SchedWaking.Type, events.SchedWakeup.Type, events.SchedProcessFork.Type,
		events.SchedProcessExec.Type, events.Kmalloc.Type,
	}
	l.i = NewInstance(l, new(Registry))
	return l
}

func (l *lab) Synth(name string) SynthEvent {
	if s := l.synths[name]; s != nil {
		return s
	}
	return nil
}

func (l *lab) SynthOf(t *event.Type) SynthEvent {
	if s := l.synths[t.Name]; s != nil && t.System == "synthetic" {
		return s
	}
	return nil
}

func (l *lab) ArmSnapshot() error { l.armed++; return nil }
func (l *lab) DisarmSnapshot()    { l.armed-- }

func (l *lab) Snapshot(_ *Moment, take func() bool) {
	if take() {
		l.snapshots++
	}
}

func (l *lab) SetClock(name string) error {
	if l.noClock {
		return syscall.EINVAL
	}
	return l.fakeEnv.SetClock(name)
}

// LogError writes down a fault as error_log shows it.
func (l *lab) LogError(location, message, command string, pos int) {
	l.log = append(l.log, fmt.Sprintf("[TIME] %s: error: %s\n  Command: %s\n%s^\n",
		location, message, command, strings.Repeat(" ", len("  Command: ")+pos)))
}

func (l *lab) LogFilter(err error) {
	var fault *filter.Error
	if errors.As(err, &fault) {
		l.LogError(filter.Location, fault.Msg, fault.Command, fault.Pos)
	}
}

// write does what an event's trigger file does with a hist command.
func (l *lab) write(t *event.Type, text string) error {
	text, remove := strings.CutPrefix(text, "!")
	text, ok := strings.CutPrefix(text, "hist")
	if !ok {
		l.t.Fatalf("%q is no hist command", text)
	}
	return l.i.Command(t, strings.TrimPrefix(text, ":"), remove)
}

// must writes commands that are accepted.
func (l *lab) must(t *event.Type, commands ...string) {
	l.t.Helper()
	for _, text := range commands {
		if err := l.write(t, text); err != nil {
			l.t.Fatalf("%s: %v\n%s", text, err, strings.Join(l.log, ""))
		}
	}
}

// lines are those of the event's trigger file.
func (l *lab) lines(t *event.Type) string { return string(l.i.File(t).AppendLines(nil)) }

// fakeSynth is a synthetic event that only counts.
type fakeSynth struct {
	lab    *lab
	name   string
	fields []SynthField
	held   int
}

func (l *lab) define(name string, fields ...SynthField) {
	l.synths[name] = &fakeSynth{lab: l, name: name, fields: fields}
}

func (s *fakeSynth) Name() string                { return s.name }
func (s *fakeSynth) NumFields() int              { return len(s.fields) }
func (s *fakeSynth) SynthField(i int) SynthField { return s.fields[i] }
func (s *fakeSynth) Hold(n int)                  { s.held += n }

func (s *fakeSynth) Generate(_ *Moment, refs []Value, args []int) {
	text := s.name
	for n, at := range args {
		if s.fields[n].Text || s.fields[n].Stack {
			text += fmt.Sprintf(" %q", refs[at].B)
		} else {
			text += fmt.Sprintf(" %d", refs[at].N)
		}
	}
	s.lab.generated = append(s.lab.generated, text)
}

var (
	u64Field  = SynthField{Type: "u64", Size: 8}
	pidField  = SynthField{Type: "pid_t", Size: 4, Signed: true}
	commField = SynthField{Type: "char[16]", Size: 16, Signed: true, Text: true}
	textField = SynthField{Type: "__data_loc char[]", Size: 8, Signed: true, Text: true, Dynamic: true}
	stkField  = SynthField{Type: "__data_loc unsigned long[]", Size: 8, Stack: true}
)
