package tracer

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
)

var update = flag.Bool("update", false, "write the golden files of the tracers' own texts anew")

// exampleCalls are the calls of the call graph with which an article on ftrace explains
// function_graph, as deep as it shows them. The kernel of that time had these names. Of
// those that 6.12 still has, strncpy_from_user cannot be traced.
const exampleCalls = `
sys_open
 do_sys_open
  getname
   kmem_cache_alloc
    __might_sleep
   strncpy_from_user
    might_fault
     __might_sleep
  alloc_fd
   _spin_lock
   expand_files
   _spin_unlock`

// newExampleLab is a kernel with a tracer return, on which one task makes these calls
// once in a millisecond.
func newExampleLab(t *testing.T, slots int) *dynLab {
	t.Helper()
	m, err := machine.New(machine.Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	old := machine.Module{Name: "old"}
	addr, calls := uint64(0xffffffffc3000000), strings.Fields(exampleCalls)
	for n, name := range calls {
		if _, ok := m.Kallsyms().ByName(name); ok || strings.Contains(" "+strings.Join(calls[:n], " ")+" ", " "+name+" ") {
			continue
		}
		old.Symbols = append(old.Symbols, machine.Symbol{Addr: addr, Size: 0x100, Name: name, Type: 't', Traceable: true})
		addr += 0x100
	}
	if err := m.LoadModule(old); err != nil {
		t.Fatal(err)
	}
	a := machine.NewAssembler(m.Kallsyms(), 100)
	a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64")
	open := 0
	for line := range strings.Lines(strings.TrimSpace(exampleCalls)) {
		name := strings.TrimSpace(line)
		depth := len(line) - len(strings.TrimLeft(line, " "))
		a.Return(open - depth).Call(name)
		open = depth + 1
	}
	code, err := a.Return(open).Return(2).Code()
	if err != nil {
		t.Fatal(err)
	}
	m.Boot(machine.Kernel{Sites: a.Sites, Workload: &machine.Script{Stays: map[string][]machine.Stay{
		"cat": {{Kind: machine.Syscall, After: machine.Millisecond, Code: code, NR: 2}},
	}}})
	m.Spawn(machine.TaskConfig{Comm: "cat", PID: 100})
	ft, err := New(m, Config{ReturnSlots: slots})
	if err != nil {
		t.Fatal(err)
	}
	return &dynLab{t, ft, tracefsfs.New(ft.Root())}
}

// The text of the tracer of 2008 on the functions of the example. A line names the place
// to which a function returned: with enough slots the eleven calls that can be traced make
// eleven lines, the innermost first, and with one slot only that of the outermost call.
func TestReturnTracerOnExample(t *testing.T) {
	var got strings.Builder
	for _, slots := range []int{1, 2, 32} {
		for _, option := range []string{"", "sym-offset", "sym-addr"} {
			if option != "" && slots != 32 {
				continue
			}
			l := newExampleLab(t, slots)
			if option != "" {
				l.must("options/"+option, "1\n")
			}
			l.must("current_tracer", "return\n")
			l.ft.Run(3 * machine.Millisecond / 2) // one round
			fmt.Fprintf(&got, "# slots %d %s\n%s", slots, option, l.read("trace"))
			fmt.Fprintf(&got, "# calls that found no slot: %d\n\n", l.ft.slots.Overrun)
		}
	}
	name := filepath.Join("testdata", "return2008.txt")
	if *update {
		if err := os.WriteFile(name, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}
