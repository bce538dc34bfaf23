package machine

import (
	"errors"
	"slices"
	"syscall"
	"testing"
)

// spinners is a machine of two CPUs with a task for each, one of which may run
// on the second only.
func spinners(t *testing.T) (m *Machine, ran func() map[string]int) {
	t.Helper()
	m, err := New(Config{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 100)
	yield, err := a.Call("schedule").Switch(StateRunning).Return(1).Code()
	if err != nil {
		t.Fatal(err)
	}
	stay := []Stay{{Kind: Syscall, After: 500, Code: yield}}
	m.Boot(Kernel{Sites: a.Sites, Workload: &Script{Stays: map[string][]Stay{"free": stay, "bound": stay}}})
	m.Spawn(TaskConfig{Comm: "free", CPU: 1})
	m.Spawn(TaskConfig{Comm: "bound", CPU: 1, Bound: true})
	m.Spawn(TaskConfig{Comm: "free", CPU: 0})
	return m, func() map[string]int {
		seen := map[string]int{}
		m.Hooks.Call = func(c *CPU, _ *Frame) { seen[c.Current.Comm+string(rune('0'+c.ID))]++ }
		m.Run(100 * Microsecond)
		m.Hooks.Call = nil
		return seen
	}
}

// A CPU that goes leaves its tasks to the others, but for those bound to it,
// which wait until it comes back.
func TestHotplug(t *testing.T) {
	m, ran := spinners(t)
	if seen := ran(); seen["free1"] == 0 || seen["bound1"] == 0 {
		t.Fatalf("at first: %v", seen)
	}
	var moved []string
	if err := m.Enable("sched:sched_migrate_task", true); err != nil {
		t.Fatal(err)
	}
	m.Hooks.Trace = func(_ *CPU, tp Tracepoint) {
		if tp, ok := tp.(*SchedMigrate); ok && tp.OrigCPU == 1 && tp.DstCPU == 0 {
			moved = append(moved, tp.Task.Comm)
		}
	}
	bound := m.Tasks()[1]
	bound.program = func(*CPU, *Task) Stay { return Stay{Kind: KernelWork, After: Second} }
	if err := m.SetOnline(1, false); err != nil {
		t.Fatal(err)
	}
	m.Run(10 * Microsecond)
	if !slices.Equal(moved, []string{"free"}) {
		t.Errorf("moved %q, want the one that is not bound", moved)
	}
	// The bound task runs on in user space; nothing takes it off.
	if seen := ran(); seen["free1"] != 0 || seen["free0"] == 0 {
		t.Errorf("CPU 1 leaves: %v", seen)
	}
	if err := m.SetOnline(1, true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cpu  int
		want error
	}{{0, syscall.EPERM}, {-1, syscall.EINVAL}, {2, syscall.EINVAL}} {
		if err := m.SetOnline(c.cpu, false); !errors.Is(err, c.want) {
			t.Errorf("CPU %d: %v, want %v", c.cpu, err, c.want)
		}
	}
}

// A module's functions are in the table while it is loaded, and others keep
// their places.
func TestModules(t *testing.T) {
	m, _ := spinners(t)
	before := m.Kallsyms()
	told := []string{}
	m.Hooks.Module = func(mod *Module, loaded bool) {
		name := mod.Name
		told = append(told, name)
		if _, ok := m.Kallsyms().ByName(name + "_init"); !ok {
			t.Errorf("%s: told (loaded %v) without its functions", name, loaded)
		}
	}
	for _, name := range []string{"one", "two"} {
		if err := m.LoadModule(Module{Name: name, Functions: []string{name + "_init", name + "_exit"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.LoadModule(Module{Name: "one"}); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("twice: %v", err)
	}
	s, ok := m.Kallsyms().ByName("two_exit")
	if name, module, off, _, found := m.Kallsyms().Lookup(s.IP()); !ok || !found || name != "two_exit" || module != "two" || off != endbrSize {
		t.Errorf("%s [%s]+%d", name, module, off)
	}
	code, err := m.Assemble(100, func(a *Assembler) { a.Call("two_init").Call("schedule").Return(2) })
	if err != nil {
		t.Fatal(err)
	}
	var called []uint64
	m.Hooks.Call = func(c *CPU, f *Frame) {
		if c.Current.Comm == "module" {
			called = append(called, f.IP)
		}
	}
	m.Spawn(TaskConfig{Comm: "module", Kernel: true, Next: func(*CPU, *Task) Stay {
		return Stay{Kind: KernelWork, After: Millisecond, Code: code}
	}})
	m.Run(4 * Millisecond)
	init, _ := m.Kallsyms().ByName("two_init")
	if len(called) < 2 || called[0] != init.IP() {
		t.Errorf("called %#x, want %#x first", called, init.IP())
	}
	for _, name := range []string{"one", "two"} {
		if err := m.UnloadModule(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.UnloadModule("one"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("unloaded twice: %v", err)
	}
	if !slices.Equal(symbols(m.Kallsyms()), symbols(before)) || !slices.Equal(told, []string{"one", "two", "one", "two"}) {
		t.Errorf("afterwards the table is another; told %q", told)
	}
}
