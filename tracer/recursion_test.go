package tracer

import (
	"fmt"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
)

// A task nests 90 calls of one function, which is more than the 81 frames of five words for
// which its shadow stack has room. The calls beyond them are not traced, and the returns
// after that tell how many they were.
func TestGraphOverrun(t *testing.T) {
	const nested, room = 90, 81
	m, err := machine.New(machine.Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := machine.NewAssembler(m.Kallsyms(), 100)
	a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64")
	for range nested {
		a.Call("vfs_read")
	}
	code, err := a.Return(nested + 2).Code()
	if err != nil {
		t.Fatal(err)
	}
	m.Boot(machine.Kernel{Sites: a.Sites, Workload: &machine.Script{Stays: map[string][]machine.Stay{
		"deep": {{Kind: machine.Syscall, After: 1000, Code: code, NR: 4}},
	}}})
	m.Spawn(machine.TaskConfig{Comm: "deep", PID: 100})
	ft, err := New(m, Config{FunctionProfiler: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &dynLab{t, ft, tracefsfs.New(ft.Root())}
	l.must("options/funcgraph-overrun", "1\n")
	l.must("current_tracer", "function_graph\n")
	l.ft.Run(25 * machine.Microsecond)
	calls, overruns, last := 0, map[string]int{}, ""
	for _, line := range l.lines("vfs_read|}|Overruns") {
		switch {
		case strings.Contains(line, "vfs_read"):
			calls++
		case strings.Contains(line, "Overruns"):
			last = strings.TrimSpace(line)
			overruns[last]++
		}
	}
	if want := fmt.Sprintf("(Overruns: %d)", nested-room); calls < room || overruns[want] == 0 {
		t.Errorf("%d calls in the trace, %v; want %s", calls, overruns, want)
	}
}
