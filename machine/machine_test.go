package machine

import (
	"fmt"
	"hash/fnv"
	"testing"
)

// scripted is a machine on which "reader" reads and sleeps.
func scripted(t testing.TB, cpus int) *Machine {
	t.Helper()
	m, err := New(Config{CPUs: cpus})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(m.Kallsyms(), 100)
	read, err := a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("ksys_read").
		Call("vfs_read").Call("rw_verify_area").Return(2).Return(3).Code()
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("schedule").
		State(FlagIRQsOff, 1, 0).Hide("__schedule").Switch(StateInterruptible).Return(1).State(0, 0, 0).Return(3).Code()
	if err != nil {
		t.Fatal(err)
	}
	script := &Script{Stays: map[string][]Stay{"reader": {
		{Kind: Syscall, After: 1000, Code: read, NR: 0},
		{Kind: Syscall, After: 500, Code: sleep, NR: 35, Wait: Wait{Class: 1, Timeout: 5000, By: Sleep}},
	}}}
	m.Boot(Kernel{Sites: a.Sites, Workload: script})
	for i := range 3 {
		m.Spawn(TaskConfig{Comm: "reader", PID: 100 + i, CPU: i})
	}
	return m
}

// record makes every hook add a line to a hash.
func record(m *Machine, each func(string)) func() uint64 {
	h := fnv.New64a()
	line := func(format string, a ...any) {
		s := fmt.Sprintf(format, a...)
		fmt.Fprintln(h, s)
		if each != nil {
			each(s)
		}
	}
	m.Hooks = Hooks{
		Call: func(c *CPU, f *Frame) {
			f.Ret = 0xdead
			name, _, _, _, _ := m.Kallsyms().Lookup(f.Func)
			line("%d [%d] %d %s %x", c.Time, c.ID, c.Current.PID, name, c.AppendKernelStack(nil))
		},
		Return:    func(c *CPU, f *Frame) { line("%d [%d] %d } %x", c.Time, c.ID, c.Current.PID, f.Func) },
		Trace:     func(c *CPU, tp Tracepoint) { line("%d [%d] %s", c.Time, c.ID, tp.Event().TracepointName()) },
		UserEntry: func(c *CPU) { line("%d [%d] enter", c.Time, c.ID) },
		UserExit:  func(c *CPU) { line("%d [%d] exit", c.Time, c.ID) },
		Switch:    func(c *CPU, prev, next *Task) { line("%d [%d] %s ==> %s", c.Time, c.ID, prev.Comm, next.Comm) },
	}
	for _, name := range Tracepoints() {
		if err := m.Enable(name, true); err != nil {
			panic(err)
		}
	}
	return h.Sum64
}

func TestScript(t *testing.T) {
	m := scripted(t, 2)
	var lines []string
	sum := record(m, func(s string) { lines = append(lines, s) })
	m.Run(100 * Microsecond)
	if len(lines) < 200 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	again := scripted(t, 2)
	sum2 := record(again, nil)
	for range 10 {
		again.Run(10 * Microsecond)
	}
	if sum() != sum2() {
		t.Error("ten short runs differ from a long one")
	}
	for _, l := range lines[:60] {
		t.Log(l)
	}
}

// The address a function event records is behind endbr64 where there is one
// (oracle: available_filter_functions_addrs).
func TestIP(t *testing.T) {
	m := scripted(t, 1)
	without := 0
	for _, s := range m.Kallsyms().All() {
		if s.Traceable && !s.Endbr {
			without++
			if s.IP() != s.Addr {
				t.Fatalf("%s: IP %#x, address %#x", s.Name, s.IP(), s.Addr)
			}
		}
	}
	if without == 0 {
		t.Error("all functions begin with endbr64")
	}
	m.Hooks.Call = func(_ *CPU, f *Frame) {
		if s, _ := m.Kallsyms().At(f.Func); f.IP != s.IP() {
			t.Errorf("%s: IP %#x, want %#x", s.Name, f.IP, s.IP())
		}
	}
	m.Run(10 * Microsecond)
}

// On a machine with foreign tasks no other task gets a pid of theirs, whether it asks for one
// or not, also after the pids have started again; without them nothing changes.
func TestForeignPIDs(t *testing.T) {
	foreign := PIDs{First: 300, Limit: 5000}
	m, err := New(Config{CPUs: 1, Foreign: foreign})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := New(Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	sleep := TaskConfig{Comm: "sleeper", Asleep: true}
	for n := range 2 * (pidMax - reservedPIDs) {
		cfg := sleep
		if n%1000 == 7 {
			cfg.PID = 100 + n%pidMax
		}
		task, same := m.Spawn(cfg), plain.Spawn(cfg)
		if task.PID >= foreign.First && task.PID < foreign.Limit || task.PID >= m.PIDLimit() {
			t.Fatalf("task %d got pid %d", n, task.PID)
		}
		if want := same.PID; want < foreign.First && task.PID != want || want >= foreign.First && task.PID != foreign.Limit+want {
			t.Fatalf("task %d got pid %d; without foreign tasks it is %d", n, task.PID, want)
		}
		if n >= 100 { // few live at a time
			delete(m.tasks, task.PID)
			delete(plain.tasks, same.PID)
		}
	}
	if _, err := New(Config{Foreign: PIDs{First: 10, Limit: 5}}); err == nil {
		t.Error("a range that ends before it begins")
	}
}
