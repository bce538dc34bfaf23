package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
)

// blendedLoad gives a machine with mix whose blended load has begun, and the load.
func blendedLoad(t *testing.T) (*machine.Machine, *trailing) {
	t.Helper()
	m, err := machine.New(machine.Config{CPUs: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Find("mix")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	m.Run(blendBegins + machine.Millisecond)
	return m, m.Workload().(*mix).loads[0]
}

// ends is what code does at the ends of ways: where it allocates an object of a cache and
// where it switches, each with the functions on the stack, and the vfs functions that it calls.
type ends struct {
	allocs, switches, calls []string
	jumps                   []string // of calls: functions that have jumped to the next one
}

// walk executes code without a machine.
func walk(t *testing.T, m *machine.Machine, code machine.Code) (e ends) {
	t.Helper()
	type frame struct {
		name string
		gone bool // it has jumped to the next one
	}
	var stack []frame
	names := func() string {
		var b strings.Builder
		for _, f := range stack {
			if !f.gone {
				b.WriteString(f.name + " ")
			}
		}
		return b.String()
	}
	for _, op := range code {
		switch op.Kind {
		case machine.OpCall:
			site := m.Sites()[op.Arg]
			s, _ := m.Kallsyms().At(site.Func)
			if site.Tail {
				e.jumps = append(e.jumps, names())
				stack[len(stack)-1].gone = true
			}
			stack = append(stack, frame{name: s.Name})
			if strings.HasPrefix(s.Name, "vfs_") {
				e.calls = append(e.calls, names())
			}
		case machine.OpReturn:
			stack = stack[:len(stack)-1]
			if n := len(stack); n > 0 {
				stack[n-1].gone = false
			}
		case machine.OpSwitch:
			e.switches = append(e.switches, names())
			if op.Flags != machine.FlagIRQsOff || op.Preempt != 1 {
				t.Errorf("%q switches in state %#x, %d", names(), op.Flags, op.Preempt)
			}
		case machine.OpTrace:
			if op.Event == machine.EvKmemCacheAlloc {
				e.allocs = append(e.allocs, names())
			}
		}
	}
	if len(stack) > 0 {
		t.Errorf("%q is still open at the end", names())
	}
	if last := code[len(code)-1]; last.Flags&^machine.FlagIRQsOff != 0 || last.Preempt != 0 {
		t.Errorf("code ends in state %#x, %d", last.Flags, last.Preempt)
	}
	return e
}

// TestWaysStayTheTrails: whatever a stay does beside its ways, it allocates and switches just
// where the trail does, in the same order, and calls those vfs functions that are on the ways.
func TestWaysStayTheTrails(t *testing.T) {
	m, tg := blendedLoad(t)
	b := tg.code
	done := map[int32]bool{}
	ops, thin := 0, 0
	for i := range tg.load.Lives {
		for _, at := range tg.load.Lives[i].Stay {
			if done[at] {
				continue
			}
			done[at] = true
			var want ends
			for _, p := range b.tr.Stays[at] {
				path := &b.tr.Paths[p]
				way := ""
				for _, s := range path.Sites {
					way += b.tr.Names[b.tr.Sites[s].Func] + " "
					thin++
				}
				switch path.End {
				case AllocEnd:
					want.allocs = append(want.allocs, way)
				case SwitchEnd:
					want.switches = append(want.switches, way)
				}
				for n, s := range path.Sites {
					if strings.HasPrefix(b.tr.Names[b.tr.Sites[s].Func], "vfs_") {
						way := ""
						for _, s := range path.Sites[:n+1] {
							way += b.tr.Names[b.tr.Sites[s].Func] + " "
						}
						want.calls = append(want.calls, way)
					}
				}
			}
			made := b.at(at)
			have := walk(t, m, made.Code)
			ops += len(made.Code)
			if !slices.Equal(have.allocs, want.allocs) {
				t.Fatalf("stay %d allocates at\n%s\nwant\n%s", at, strings.Join(have.allocs, "\n"), strings.Join(want.allocs, "\n"))
			}
			if !slices.Equal(have.switches, want.switches) {
				t.Fatalf("stay %d switches at\n%s\nwant\n%s", at, strings.Join(have.switches, "\n"), strings.Join(want.switches, "\n"))
			}
			for _, call := range have.calls {
				if !slices.Contains(want.calls, call) && !slices.Contains(have.jumps, call) {
					t.Errorf("stay %d calls %s, which is on no way", at, call)
				}
			}
			for _, call := range want.calls {
				if !slices.Contains(have.calls, call) {
					t.Errorf("stay %d does not call %s", at, call)
				}
			}
		}
	}
	if len(done) < 1000 || ops < 5*thin {
		t.Errorf("%d stays with %d operations, and %d functions on their ways", len(done), ops, thin)
	}
}

// TestLivesAreWhole: a process gets its program in one system call and ends in one, however
// many stacks were recorded in it.
func TestLivesAreWhole(t *testing.T) {
	_, tg := blendedLoad(t)
	b := tg.code
	for i := range tg.load.Lives {
		life := &tg.load.Lives[i]
		exits, execs := 0, 0
		for _, at := range life.Stay {
			s := b.at(at)
			if s.NR == sysExitGroup && !s.yield {
				exits++
			}
			if slices.ContainsFunc(s.Code, func(op machine.Op) bool { return op.Kind == machine.OpTrace && op.Event == machine.EvSchedExec }) {
				execs++
			}
		}
		if exits > 1 || execs > 1 {
			t.Errorf("life %d, %s: %d exits, %d programs", i, life.Comm, exits, execs)
		}
	}
}

// TestStaysOnTrailsHaveEvents: after the first second, what memory is made of is asked for and
// given back by the processes on trails, too.
func TestStaysOnTrailsHaveEvents(t *testing.T) {
	m, _ := blendedLoad(t)
	seen := map[string]int{}
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		if _, ok := c.Current.Data.(*trail); ok && !c.InHardIRQ && !c.InSoftIRQ {
			seen[tp.Event().TracepointName()]++
		}
	}
	names := []string{
		"kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_free", "kmem:mm_page_alloc", "kmem:mm_page_free",
		"exceptions:page_fault_kernel", "sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit",
	}
	for _, name := range append(names, "raw_syscalls:sys_enter") {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Run(5 * machine.Second)
	calls := seen["raw_syscalls:sys_enter"]
	for _, name := range names {
		least := 5
		if strings.HasPrefix(name, "kmem:") {
			least = calls / 20
		}
		if seen[name] < least {
			t.Errorf("%s: %d in %d system calls, want %d", name, seen[name], calls, least)
		}
	}
	if t.Failed() {
		t.Log(fmt.Sprint(seen))
	}
}
