package fusefs

import (
	"testing"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// The kernel may remember what stays: no folder of a dynamic event, and no system that
// has none but those.
func TestStatic(t *testing.T) {
	dir := func(name string, passing bool, children ...tracefile.Node) *tracefile.Dir {
		return &tracefile.Dir{Name: name, Passing: passing, Children: func() []tracefile.Node { return children }}
	}
	root := dir("", false, dir("events", false,
		dir("sched", false, dir("sched_switch", false), dir("mine", true)),
		dir("kprobes", true, dir("p", true))))
	m := &Mount{cfg: Config{FS: tracefsfs.New(root)}, nodes: map[uint64]*node{}, paths: map[string]*node{}}
	m.addRoot()
	for p, want := range map[string]bool{
		"events/sched": true, "events/sched/sched_switch/id": true, "instances/foo/events/sched/sched_switch": true,
		"events/sched/mine": false, "events/sched/mine/id": false, "events/kprobes": false, "events/kprobes/p/id": false,
		"events/sched/later": false,
	} {
		if got := m.isStatic(p); got != want {
			t.Errorf("%s: %t, want %t", p, got, want)
		}
	}
}
