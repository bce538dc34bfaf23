package workload_test

import (
	"slices"
	"testing"

	"ftracelab/machine"
	"ftracelab/workload"
)

// lab lets a machine run by itself.
type sampleLab struct{ m *machine.Machine }

func (l sampleLab) Do(do func(*machine.Machine) error) error { return do(l.m) }
func (l sampleLab) Run(d machine.Time)                       { l.m.Run(d) }

// The thread of the module passes its tracepoints once a second, two of them only each
// tenth and each eighth time, and ends before the module goes.
func TestSampleModule(t *testing.T) {
	m, err := machine.New(machine.Config{CPUs: 2})
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
	seen := map[string][]int32{}
	for _, name := range machine.Tracepoints() {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		if tp, ok := tp.(*machine.Sample); ok {
			seen[tp.Event().TracepointName()] = append(seen[tp.Event().TracepointName()], tp.Count)
			if c.Current.Comm != "event-sample" || c.Current.Kernel == false {
				t.Errorf("%s in %s", tp.Event().TracepointName(), c.Current.Comm)
			}
		}
	}
	l := sampleLab{m}
	for range 2 {
		clear(seen)
		if err := workload.Modprobe(l, "trace-events-sample", nil); err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Kallsyms().ByName("__probestub_foo_bar_with_cond"); !ok {
			t.Error("no function for a probe on foo_bar_with_cond")
		}
		l.Run(11*machine.Second + 500*machine.Millisecond)
		for name, want := range map[string][]int32{
			"sample-trace:foo_bar": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "sample-trace:foo_bar_with_cond": {0, 10},
			"sample-trace:foo_with_template_cond": {0, 8}, "sample-trace:foo_rel_loc": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		} {
			if !slices.Equal(seen[name], want) {
				t.Errorf("%s passed with %v, want %v", name, seen[name], want)
			}
		}
		if err := workload.Rmmod(l, "trace-events-sample"); err != nil {
			t.Fatal(err)
		}
		for _, task := range m.Tasks() {
			if task.Comm == "event-sample" {
				t.Error("the thread is still there")
			}
		}
	}
}
