//go:build !js

package workload

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"ftracelab/machine"
	"ftracelab/unwind/user"
)

// userGroups are the scenarios whose processes have captured user stacks.
var userGroups = []string{"users", "frames"}

// TestUsersAreWalked: at each system call of a process, a walk along the frame pointers in its
// memory finds the words of a captured place of its program, and nothing else.
func TestUsersAreWalked(t *testing.T) {
	for _, name := range userGroups {
		m := boot(t, name, machine.Config{CPUs: 2})
		if err := m.Enable("raw_syscalls:sys_enter", true); err != nil {
			t.Fatal(err)
		}
		var w user.Walker
		depths := map[int]int{}
		m.Hooks.Trace = func(c *machine.CPU, _ machine.Tracepoint) {
			p, ok := c.Current.Data.(*userProc)
			if !ok {
				return
			}
			im, place := &p.all.users.Images[p.space.image], p.life.Places[p.pos-1]
			from := p.all.words[p.space.image][place]
			var want []uint64
			for _, n := range im.Words[from : from+int32(im.Depth[place])] {
				want = append(want, p.word(im, n))
			}
			got, _ := w.Walk(nil, user.Regs{UserRegs: c.Current.User}, c.Current.Memory, 64)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %s is at %x, want %x", name, c.Current.Comm, got, want)
			}
			depths[len(got)]++
		}
		m.Run(2 * machine.Second)
		t.Logf("%s: depths %v", name, depths)
		if len(depths) < 4 {
			t.Errorf("%s: depths %v", name, depths)
		}
	}
}

// stacksOf are the user stacks of a program at its system calls, by the process.
func stacksOf(t *testing.T, scenario string, seed uint64, comm string, d machine.Time) (list [][][]uint64) {
	t.Helper()
	m := boot(t, scenario, machine.Config{CPUs: 2, Seed: seed})
	if err := m.Enable("raw_syscalls:sys_enter", true); err != nil {
		t.Fatal(err)
	}
	var w user.Walker
	index := map[int]int{}
	m.Hooks.Trace = func(c *machine.CPU, _ machine.Tracepoint) {
		task := c.Current
		if task.Comm != comm {
			return
		}
		at, ok := index[task.PID]
		if !ok {
			at = len(list)
			index[task.PID], list = at, append(list, nil)
		}
		stack, _ := w.Walk(nil, user.Regs{UserRegs: task.User}, task.Memory, 64)
		list[at] = append(list[at], stack)
	}
	m.Run(d)
	return list
}

// TestUsersMove: a program is at other addresses in each process that executes it, but at the
// same places of its files; a seed decides at which.
func TestUsersMove(t *testing.T) {
	runs := stacksOf(t, "users", 1, "cat", 5*machine.Second)
	if len(runs) < 2 || len(runs[0]) != len(runs[1]) || len(runs[0]) < 100 {
		t.Fatalf("%d processes", len(runs))
	}
	moved := map[uint64]int{}
	for i, stack := range runs[0] {
		moved[runs[1][i][0]-stack[0]]++
	}
	if len(moved) != 1 || moved[0] > 0 {
		t.Errorf("the libraries have moved by %v", moved)
	}
	again, other := stacksOf(t, "users", 1, "cat", 5*machine.Second), stacksOf(t, "users", 2, "cat", 5*machine.Second)
	if !reflect.DeepEqual(runs, again) {
		t.Error("a second run has other stacks")
	}
	if reflect.DeepEqual(runs[0], other[0]) {
		t.Error("seed 2 has the addresses of seed 1")
	}
}

// TestUsersLive: children have the addresses of their parents until they execute a program,
// parents wait for them, and nothing is left over.
func TestUsersLive(t *testing.T) {
	for _, name := range userGroups {
		m := boot(t, name, machine.Config{CPUs: 2})
		enableAll(t, m)
		forks, execs, exits, most := 0, 0, 0, 0
		m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
			switch e := tp.(type) {
			case *machine.SchedFork:
				forks++
				most = max(most, forks-exits)
				if parent, ok := e.Parent.Data.(*userProc); ok {
					child := e.Child.Data.(*userProc)
					if child.space != parent.space || !reflect.DeepEqual(child.stack, parent.stack) {
						t.Errorf("%s: a child has another memory than its parent", name)
					}
				}
			case *machine.SchedExec:
				execs++
			case *machine.SchedProcess:
				if e.ID == machine.EvSchedExit {
					exits++
				}
			}
		}
		m.Run(15 * machine.Second)
		t.Logf("%s: %d forks, %d execs, %d exits, at most %d at a time", name, forks, execs, exits, most)
		if forks < 20 || execs < 10 || exits < forks-10 || most > 12 {
			t.Errorf("%s: %d forks, %d execs, %d exits, at most %d at a time", name, forks, execs, exits, most)
		}
	}
}

// TestUserArguments: where an argument was a pointer in the capture, it is one to the same part
// of the memory of each process.
func TestUserArguments(t *testing.T) {
	m := boot(t, "users", machine.Config{CPUs: 2})
	if err := m.Enable("raw_syscalls:sys_enter", true); err != nil {
		t.Fatal(err)
	}
	const sysSigaction = 13
	mine, calls := 0, 0
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		p, ok := c.Current.Data.(*userProc)
		if !ok || tp.(*machine.SysEnter).NR != sysSigaction {
			return
		}
		act := tp.(*machine.SysEnter).Args[1]
		if act < textFloor {
			return // none, or that of a program which is always at the same addresses
		}
		if calls++; act > p.space.top-1<<20 && act < p.space.top {
			mine++
		}
	}
	m.Run(machine.Second)
	if calls < 50 || mine < calls*9/10 {
		t.Errorf("of %d pointers, %d point to the stack of the process", calls, mine)
	}
}

// TestUserSpaces: the parts of an address space are where Linux has them, and do not overlap.
func TestUserSpaces(t *testing.T) {
	m := boot(t, "users", machine.Config{CPUs: 1})
	users, err := loadUsers()
	if err != nil {
		t.Fatal(err)
	}
	all := &populace{w: m.Workload().(*mix), users: users, rng: m.Rand("test")}
	for i := range users.Images {
		for range 20 {
			s := all.space(int32(i))
			last := uint64(0)
			for _, at := range s.maps {
				if at.Start < last || at.End <= at.Start || at.End > taskSize {
					t.Fatalf("%s: %x", users.Images[i].Comm, s.maps)
				}
				if at.Start&0xfff != 0 || at.End&0xfff != 0 {
					t.Fatalf("%s: %x", users.Images[i].Comm, at)
				}
				last = at.End
			}
		}
	}
}

// TestUsersAllocateNothing: a step of a process takes no memory.
func TestUsersAllocateNothing(t *testing.T) {
	m := boot(t, "users", machine.Config{CPUs: 1})
	users, err := loadUsers()
	if err != nil {
		t.Fatal(err)
	}
	var shell *userProc
	for _, task := range m.Tasks() {
		if p, ok := task.Data.(*userProc); ok {
			shell = p
		}
	}
	if shell == nil {
		t.Fatal("no shell")
	}
	// The life with the most calls, in the image that it executes.
	longest := 0
	for i := range users.Lives {
		if l := &users.Lives[i]; l.Exec >= 0 && len(l.Places) > len(users.Lives[longest].Places) {
			longest = i
		}
	}
	life := &users.Lives[longest]
	p := shell.all.user(int32(longest), shell.all.space(life.Exec))
	p.task, p.pos = shell.task, int(life.At)+1
	left := len(life.Places) - p.pos - 1
	if n := testing.AllocsPerRun(left-1, func() { p.next(nil, p.task) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if p.pos < len(life.Places)-2 {
		t.Errorf("only %d of %d calls", p.pos, len(life.Places))
	}
}

// TestUserCalls: every system call of the captures has code, and it is the kernel's own where
// a capture of call trees has it.
func TestUserCalls(t *testing.T) {
	m := boot(t, "users", machine.Config{CPUs: 1})
	w := m.Workload().(*mix)
	users, err := loadUsers()
	if err != nil {
		t.Fatal(err)
	}
	all := &populace{w: w, users: users}
	if err := all.fillCalls(); err != nil {
		t.Fatal(err)
	}
	short := 0
	for i, call := range users.Calls {
		c := all.calls[i]
		if len(c.awake)+len(c.asleep) == 0 {
			t.Errorf("system call %d has no code", call.NR)
		}
		if key := fmt.Sprintf("sys %d", call.NR); w.codes[key] == nil && w.codes[key+" sleeps"] == nil {
			short++
		}
	}
	t.Logf("%d of %d have their function only", short, len(users.Calls))
	if short > len(users.Calls)/3 {
		t.Errorf("%d of %d system calls have their function only", short, len(users.Calls))
	}
}
