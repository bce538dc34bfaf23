package machine

import (
	"slices"
	"testing"
)

// family is a machine on which a parent forks a child that execs and exits.
func family(t *testing.T) (*Machine, *[]string) {
	t.Helper()
	m, err := New(Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 100)
	assemble := func(a *Assembler) Code {
		code, err := a.Code()
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	fork := assemble(a.Call("kernel_clone").Trace(EvSchedFork, 0).Call("wake_up_new_task").Trace(EvSchedWakeupNew, 0).Return(2))
	wait := assemble(a.Call("do_wait").Trace(EvSchedWait, 0).Call("schedule").Switch(StateInterruptible).Return(2))
	exec := assemble(a.Call("bprm_execve").Trace(EvSchedExec, 0).Return(1))
	exit := assemble(a.Call("do_exit").Trace(EvSchedExit, 0).Call("do_notify_parent").
		Trace(EvSchedWaking, 1).Trace(EvSchedWakeup, 1).Return(1).Switch(StateDead).Return(1))
	born := assemble(a.Call("ret_from_fork").Return(1))
	script := &Script{Stays: map[string][]Stay{
		"parent": {
			{Kind: Syscall, After: 1000, Code: fork},
			{Kind: Syscall, After: 1000, Code: wait, Wait: Wait{Class: 1}},
			{Kind: Syscall, After: 1000, Code: wait, Wait: Wait{Class: 9}},
		},
		"child": {{Kind: Syscall, After: 500, Code: exec}},
		"prog":  {{Kind: Syscall, After: 500, Code: exit}},
	}}
	script.Events = func(c *CPU, _ *Task, e Event) {
		switch e {
		case EvSchedFork:
			c.Fork(TaskConfig{Comm: "child", Born: born}, 17)
		case EvSchedExec:
			c.Exec("prog", "/bin/prog")
		}
	}
	m.Boot(Kernel{Sites: a.Sites, Workload: script})
	m.Spawn(TaskConfig{Comm: "parent", PID: 10})
	var seen []string
	for _, name := range Tracepoints() {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Hooks.Trace = func(c *CPU, tp Tracepoint) { seen = append(seen, c.Current.Comm+" "+tp.Event().TracepointName()) }
	return m, &seen
}

func TestForkExecExit(t *testing.T) {
	m, seen := family(t)
	exited := 0
	m.Hooks.Exit = func(t *Task) { exited = t.PID }
	m.Run(Millisecond)
	want := []string{
		"swapper/0 sched:sched_switch",
		"parent task:task_newtask", "parent sched:sched_process_fork", "parent sched:sched_wakeup_new",
		"parent sched:sched_process_wait", "parent sched:sched_switch",
		"child task:task_rename", "prog sched:sched_process_exec",
		"prog sched:sched_process_exit", "prog sched:sched_waking", "prog sched:sched_wakeup", "prog sched:sched_switch",
		"parent sched:sched_process_wait", "parent sched:sched_switch",
	}
	if !slices.Equal(*seen, want) {
		t.Errorf("%q", *seen)
	}
	if exited != 11 || m.Task(11) != nil || m.Task(10) == nil {
		t.Errorf("pid %d exited; task 11: %v", exited, m.Task(11))
	}
}

func TestView(t *testing.T) {
	m, _ := family(t)
	m.Run(1150) // inside the fork
	s := m.View()
	if len(s.CPUs) != 1 || len(s.Tasks) != 1 || s.Now != 1150 {
		t.Fatalf("%+v", s)
	}
	c := s.CPUs[0]
	if c.Comm != "parent" || c.PID != 10 || len(c.Stack) != 1 || c.NextStep <= s.Now {
		t.Errorf("%+v", c)
	}
	m.Run(Millisecond)
	w, asleep := m.Task(10).Sleeping()
	if !asleep || w.Class != 9 {
		t.Errorf("parent waits for %+v, asleep %v", w, asleep)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, n := range []int{-1, MaxCPUs + 1} {
		if _, err := New(Config{CPUs: n}); err == nil {
			t.Errorf("%d CPUs: no error", n)
		}
	}
	if _, err := New(Config{Boot: 1 << 56}); err == nil {
		t.Error("a machine starts at a time that is too late")
	}
	m, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Enable("sched:nonesuch", true); err == nil {
		t.Error("unknown tracepoint: no error")
	}
	if _, err := NewAssembler(m.Kallsyms(), 1).Call("nonesuch").Code(); err == nil {
		t.Error("unknown function: no error")
	}
	if _, err := NewAssembler(m.Kallsyms(), 1).Call("vfs_read").Code(); err == nil {
		t.Error("call without return: no error")
	}
	m.Run(Second) // without a kernel nothing happens
	if m.Now() != Second || m.Steps() != 0 {
		t.Errorf("now %d after %d steps", m.Now(), m.Steps())
	}
}

func TestStreamsAreIndependent(t *testing.T) {
	draw := func(seed uint64, first string) uint64 {
		m, err := New(Config{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		m.Rand(first).Uint64()
		return m.Rand("irq/timer/0").Uint64()
	}
	if draw(1, "a") != draw(1, "b") {
		t.Error("another stream's consumer changes the numbers")
	}
	if draw(1, "a") == draw(2, "a") {
		t.Error("the seed does not change the numbers")
	}
}

// A function that was jumped to returns where its caller would have: the caller
// is not on the stack, and a replaced address is the caller's own. An unwinder sees the
// replacement as long as nobody recovers the address.
func TestTailCall(t *testing.T) {
	m, err := New(Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 100)
	code, err := a.Hide("do_syscall_64").Call("x64_sys_call").Call("ksys_read").Return(3).Code()
	if err != nil {
		t.Fatal(err)
	}
	sites := slices.Clone(a.Sites)
	sites[2].Tail = true
	m.Boot(Kernel{Sites: sites, Workload: &Script{Stays: map[string][]Stay{"t": {{Kind: Syscall, After: 10, Code: code}, {Kind: Syscall, After: Second}}}}})
	m.Spawn(TaskConfig{Comm: "t"})
	returns := 0
	m.Hooks.Call = func(c *CPU, f *Frame) {
		if len(c.Frames()) == 3 {
			if f.Ret != 42 || f.Parent() != sites[1].Ret {
				t.Errorf("returns to %#x, parent %#x", f.Ret, f.Parent())
			}
			m.Hooks.Recover = nil
			if s := c.AppendKernelStack(nil); len(s) != 2 || s[1] != 42 {
				t.Errorf("stack %#x, want the replacement", s)
			}
			m.Hooks.Recover = func(_ *Task, _ *int, ret, place uint64) uint64 {
				if ret != 42 || place != 2 {
					t.Errorf("%#x at place %d", ret, place)
				}
				return sites[1].Ret
			}
			if s := c.AppendKernelStack(nil); len(s) != 2 || s[1] != sites[1].Ret {
				t.Errorf("stack %#x", s)
			}
			if s := c.AppendStackWords(nil); len(s) != 2 || s[1] != 42 {
				t.Errorf("words %#x", s)
			}
			f.Ret = 43
			return
		}
		f.Ret = 42
	}
	m.Hooks.Return = func(*CPU, *Frame) { returns++ }
	m.Run(Millisecond)
	if returns != 2 {
		t.Errorf("%d returns, want 2", returns)
	}
}

// page is memory of one word.
type page struct{ addr, word uint64 }

func (p *page) Load(addr uint64) (uint64, bool) { return p.word, addr == p.addr }

func (p *page) Fork() UserMemory {
	c := *p
	return &c
}

// TestUserSpaceOfForkAndExec: a child has its parent's registers, mappings and a copy of its
// memory. When the new name of a task that begins another program is reported, the memory is the new
// program's and the registers are the old one's; when sched_process_exec comes, all is new.
func TestUserSpaceOfForkAndExec(t *testing.T) {
	m, _ := family(t)
	parent := m.Task(10)
	memory, maps, at := &page{0x7000, 42}, []Mapping{{Start: 0x1000, End: 0x2000, Path: "/bin/old"}}, UserRegs{IP: 0x1234, SP: 0x7000}
	parent.Memory, parent.Maps, parent.Compat = memory, maps, true
	next := Program{Memory: &page{0x8000, 1}, Maps: []Mapping{{Start: 0x4000, End: 0x5000, Path: "/bin/prog"}}, User: UserRegs{IP: 0x4321, SP: 0x8000}}
	m.kernel.Load = func(t *Task, comm, filename string) Program {
		if t.Comm != "child" || comm != "prog" || filename != "/bin/prog" {
			panic("another program")
		}
		return next
	}
	same := func(task *Task, word uint64, mem *page, maps []Mapping, regs UserRegs, compat bool) bool {
		got, ok := task.Memory.Load(mem.addr)
		return ok && got == word && len(task.Maps) == 1 && task.Maps[0].Path == maps[0].Path && task.User == regs && task.Compat == compat
	}
	forks, names, execs, leaves := 0, 0, 0, 0
	m.Hooks.Executing = func(c *CPU) {
		if leaves++; !same(c.Current, 42, memory, maps, at, true) {
			t.Errorf("before the exec: %+v", c.Current.User)
		}
	}
	m.Hooks.Trace = func(_ *CPU, tp Tracepoint) {
		switch tp := tp.(type) {
		case *SchedFork:
			forks++
			if memory.word = 43; !same(tp.Child, 42, memory, maps, at, true) { // what the parent writes now is its own
				t.Errorf("the child: %+v", tp.Child.User)
			}
		case *TaskRename:
			if names++; !same(tp.Task, 1, next.Memory.(*page), next.Maps, at, false) {
				t.Errorf("at the new name: %+v", tp.Task.User)
			}
		case *SchedExec:
			if execs++; !same(tp.Task, 1, next.Memory.(*page), next.Maps, next.User, false) {
				t.Errorf("after the exec: %+v", tp.Task.User)
			}
		}
	}
	for _, comm := range []string{"parent", "child"} {
		m.Workload().(*Script).Stays[comm][0].User = at
	}
	m.Run(Millisecond)
	if forks != 1 || names != 1 || execs != 1 || leaves != 1 {
		t.Errorf("%d forks, %d names, %d execs, %d leave a program", forks, names, execs, leaves)
	}
}
