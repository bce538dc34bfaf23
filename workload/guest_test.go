package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/machine/memory"
	"ftracelab/workload"
)

// guestsOf is a machine with the default workload, and its guests.
func guestsOf(t *testing.T, cfg machine.Config) (*machine.Machine, *workload.Guests) {
	t.Helper()
	return guestsBeside(t, cfg, "")
}

// guestsBeside is a machine that does what a scenario says, and its guests.
func guestsBeside(t *testing.T, cfg machine.Config, scenario string) (*machine.Machine, *workload.Guests) {
	t.Helper()
	m, err := machine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.Find(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	g, err := workload.NewGuests(m)
	if err != nil {
		t.Fatal(err)
	}
	return m, g
}

// guestMachine is a machine that notes what its tracepoints say of guests.
func guestMachine(t *testing.T) (*machine.Machine, *workload.Guests, *[]string) {
	t.Helper()
	m, g := guestsOf(t, machine.Config{CPUs: 2})
	return m, g, logGuests(t, m)
}

func logGuests(t *testing.T, m *machine.Machine) *[]string {
	t.Helper()
	var log []string
	note := func(pid int, format string, args ...any) {
		if pid >= 4000 {
			log = append(log, fmt.Sprintf("%d ", pid)+fmt.Sprintf(format, args...))
		}
	}
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		switch tp := tp.(type) {
		case *machine.SchedFork:
			note(tp.Parent.PID, "forks %d", tp.Child.PID)
		case *machine.SchedExec:
			note(tp.Task.PID, "execs %s %s %d", tp.Task.Comm, tp.Filename, tp.Task.Prio)
		case *machine.SysEnter:
			note(c.Current.PID, "calls %d", tp.NR)
		case *machine.SchedProcess:
			if tp.ID == machine.EvSchedExit {
				note(tp.PID, "exits")
			}
		}
	}
	for _, name := range []string{"sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit", "raw_syscalls:sys_enter"} {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	return &log
}

// settle runs the machine until no guest has anything to do.
func settle(t *testing.T, m *machine.Machine, g *workload.Guests) {
	t.Helper()
	for range 10_000 {
		if !g.Wake() {
			return
		}
		m.Run(100 * machine.Microsecond)
	}
	t.Fatal("guests are busy for a second")
}

// A shell forks a child, which becomes another program and ends; each happens in
// its own task and in order.
func TestGuests(t *testing.T) {
	m, g, log := guestMachine(t)
	g.Add(4711, "sh", 0)
	g.Call(4711, workload.Syscall{NR: 257, Ret: 3})
	g.Fork(4711, 4712)
	g.Exec(4712, "cat", workload.Syscall{Path: "/usr/bin/cat"}, machine.FIFO, 94)
	g.Call(4712, workload.Syscall{NR: 0, Ret: 10})
	g.Exit(4712)
	g.Call(4711, workload.Syscall{NR: 1, Ret: 10})
	settle(t, m, g)
	m.Run(10 * machine.Millisecond) // the rest of the exit
	of := func(pid string) []string {
		var lines []string
		for _, line := range *log {
			if strings.HasPrefix(line, pid) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if want := []string{"4711 calls 257", "4711 calls 56", "4711 forks 4712", "4711 calls 1"}; !slices.Equal(of("4711")[:4], want) {
		t.Errorf("the shell: %q, want %q", of("4711"), want)
	}
	if want := []string{"4712 calls 59", "4712 execs cat /usr/bin/cat 94", "4712 calls 0", "4712 calls 231", "4712 exits"}; !slices.Equal(of("4712"), want) {
		t.Errorf("the child: %q, want %q", of("4712"), want)
	}
	if g.Known(4712) || !g.Known(4711) {
		t.Error("who is left is not right")
	}
	if m.Task(4711).Comm != "sh" || m.Task(4712) != nil {
		t.Error("the tasks are not right")
	}
	for _, task := range m.Tasks() {
		if task.PID > 4712 {
			t.Errorf("a task of the machine got pid %d: guests must not move its pids", task.PID)
		}
	}
}

// A guest that takes another name calls prctl, and has the name from then on.
func TestGuestTakesName(t *testing.T) {
	m, g, log := guestMachine(t)
	if err := m.Enable("task:task_rename", true); err != nil {
		t.Fatal(err)
	}
	trace := m.Hooks.Trace
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		if tp, ok := tp.(*machine.TaskRename); ok {
			*log = append(*log, fmt.Sprintf("%s becomes %s", tp.OldComm, tp.NewComm))
		}
		trace(c, tp)
	}
	g.Add(4711, "server", 0)
	g.Rename(4711, "worker")
	settle(t, m, g)
	if want := []string{"4711 calls 157", "server becomes worker"}; len(*log) < 2 || !slices.Equal((*log)[:2], want) || m.Task(4711).Comm != "worker" {
		t.Errorf("%q, want %q; it is called %s", *log, want, m.Task(4711).Comm)
	}
}

// Whatever number a process has, it can be a guest, while the machine's own tasks come and go
// with numbers that no process has.
func TestGuestsKeepTheirPIDs(t *testing.T) {
	foreign := machine.PIDs{First: 1, Limit: 1000}
	m, g := guestsOf(t, machine.Config{CPUs: 2, Foreign: foreign})
	forks := 0
	m.Hooks.Trace = func(_ *machine.CPU, tp machine.Tracepoint) {
		if tp, ok := tp.(*machine.SchedFork); ok {
			forks++
			if tp.Child.PID < foreign.Limit {
				t.Errorf("a task of the machine got pid %d", tp.Child.PID)
			}
		}
	}
	if err := m.Enable("sched:sched_process_fork", true); err != nil {
		t.Fatal(err)
	}
	for pid := foreign.First; pid < foreign.Limit; pid++ {
		g.Add(pid, "sh", 0)
		if !g.Known(pid) {
			t.Fatalf("process %d is no guest", pid)
		}
		g.Exit(pid)
		settle(t, m, g)
	}
	m.Run(machine.Second)
	if forks == 0 {
		t.Error("nobody forked")
	}
}

// The arguments of a call that are known reach the tracepoint, and its memory holds the
// paths where they point.
func TestGuestArguments(t *testing.T) {
	m, g, _ := guestMachine(t)
	names, ok := m.Workload().(memory.Names)
	if !ok {
		t.Fatal("the workload knows no names")
	}
	got := map[int64]string{}
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		if tp, ok := tp.(*machine.SysEnter); ok && c.Current.PID == 4711 {
			got[tp.NR] = fmt.Sprintf("%x %q %q", tp.Args, names.PathOf(c.Current, 0), names.PathOf(c.Current, 2))
		}
	}
	g.Add(4711, "ln", 0)
	g.Call(4711, workload.Syscall{
		NR: 266, Known: true, Args: [6]uint64{0x7ffc1000, 5, 0x7ffc2000, 1, 2, 3},
		Target: "old", TargetAt: 0x7ffc1000, Path: "new", PathAt: 0x7ffc2000,
	})
	g.Exec(4711, "ls", workload.Syscall{Path: "/bin/ls", Known: true, Args: [6]uint64{0x7ffc3000, 6, 7}, PathAt: 0x7ffc3000}, 0, 0)
	settle(t, m, g)
	for nr, want := range map[int64]string{266: `[7ffc1000 5 7ffc2000 1 2 3] "old" "new"`, 59: `[7ffc3000 6 7 0 0 0] "/bin/ls" ""`} {
		if got[nr] != want {
			t.Errorf("call %d: %s, want %s", nr, got[nr], want)
		}
	}
	if g.Calls(437) || !g.Calls(257) {
		t.Error("which calls guests can make is not right")
	}
}

// Guests are bounded, and nonsense about them is no news.
func TestGuestsBounds(t *testing.T) {
	m, g, _ := guestMachine(t)
	g.Fork(1, 2)
	g.Exec(5000, "x", workload.Syscall{}, machine.Normal, 0)
	g.Exit(5000)
	g.Add(-1, "x", 0)
	simulated := m.Tasks()[0].PID
	g.Add(simulated, "x", 0)
	if g.Known(-1) || g.Known(simulated) || g.Known(5000) {
		t.Error("a guest that cannot be")
	}
	for pid := range 2 * workload.MaxGuests {
		g.Add(10_000+pid, "many", 0)
	}
	for range 10_000 {
		g.Call(10_000, workload.Syscall{NR: 0, Ret: 0})
	}
	n := 0
	g.PIDs(func(int) { n++ })
	if n != workload.MaxGuests {
		t.Errorf("%d guests, want %d", n, workload.MaxGuests)
	}
	settle(t, m, g)
}

// A write to a file of /proc runs the code of such files instead of that of the
// file it was seen with, inside of the same system call.
func TestGuestWritesProc(t *testing.T) {
	m, g, log := guestMachine(t)
	ks := m.Kallsyms()
	var returned []string
	calls := uint64(0)
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		if c.Current.PID == 4711 {
			calls++
			f.Ret = calls
		}
	}
	m.Hooks.Return = func(c *machine.CPU, f *machine.Frame) {
		switch name, _, _, _, _ := ks.Lookup(f.Func); name {
		case "proc_reg_write", "rw_verify_area", "vfs_write", "ksys_write", "__x64_sys_write", "x64_sys_call", "pipe_write", "shmem_file_write_iter":
			if stay := c.Current.Stay(); stay.NR == 1 {
				returned = append(returned, fmt.Sprintf("%s %d", name, int64(f.Value)))
			}
		}
	}
	g.Add(4711, "sh", 0)
	for range 20 { // of all kinds of writes
		returned = nil
		g.WriteProc(4711, -5)
		settle(t, m, g)
		want := []string{"rw_verify_area 0", "proc_reg_write -5", "vfs_write -5", "ksys_write -5", "__x64_sys_write -5", "x64_sys_call -5"}
		if !slices.Equal(returned, want) {
			t.Fatalf("%q\nwant %q", returned, want)
		}
	}
	if !slices.Contains(*log, "4711 calls 1") {
		t.Errorf("%q", *log)
	}
	g.Call(4711, workload.Syscall{NR: 1, Ret: 118})
	returned = nil
	settle(t, m, g)
	if !slices.Contains(returned, "ksys_write 118") || slices.Contains(returned, "proc_reg_write 118") {
		t.Errorf("another file: %q", returned)
	}
	g.Fork(4711, 4712)
	var clone int64
	m.Hooks.Return = func(c *machine.CPU, f *machine.Frame) {
		if name, _, _, _, _ := ks.Lookup(f.Func); name == "kernel_clone" && c.Current.PID == 4711 {
			clone = int64(f.Value)
		}
	}
	settle(t, m, g)
	if clone != 4712 {
		t.Errorf("kernel_clone returned %d", clone)
	}
}

// A process that becomes one program after the other while the machine stands still is
// not shown in full, but it ends.
func TestGuestOfManyPrograms(t *testing.T) {
	m, g, log := guestMachine(t)
	g.Add(4711, "sh", 0)
	for range 10_000 {
		g.Exec(4711, "true", workload.Syscall{Path: "/bin/true"}, 0, 0)
	}
	if g.Comm(4711) != "true" || g.Comm(4712) != "" {
		t.Errorf("the guest is %q, a stranger %q", g.Comm(4711), g.Comm(4712))
	}
	g.Exit(4711)
	settle(t, m, g)
	execs := 0
	for _, line := range *log {
		if strings.Contains(line, "execs") {
			execs++
		}
	}
	if execs == 0 || execs > 1000 || g.Known(4711) || g.Changing() {
		t.Errorf("%d programs; still there: %v, to be done: %v", execs, g.Known(4711), g.Changing())
	}
}
