package workload

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"ftracelab/machine"
)

func boot(t testing.TB, scenario string, cfg machine.Config) *machine.Machine {
	t.Helper()
	m, err := machine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Find(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// enableAll switches every tracepoint on.
func enableAll(t testing.TB, m *machine.Machine) {
	t.Helper()
	for _, name := range machine.Tracepoints() {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
}

// hashHooks makes a hash of everything the hooks see.
func hashHooks(t testing.TB, m *machine.Machine) func() uint64 {
	enableAll(t, m)
	h := fnv.New64a()
	m.Hooks = machine.Hooks{
		Call: func(c *machine.CPU, f *machine.Frame) {
			fmt.Fprintln(h, c.Time, c.ID, c.Current.PID, *f, c.PreemptCount, c.IRQsOff, c.NeedResched)
		},
		Trace: func(c *machine.CPU, tp machine.Tracepoint) {
			fmt.Fprintln(h, c.Time, c.ID, c.Current.PID, tp.Event().TracepointName(), c.Current.User)
			switch tp := tp.(type) {
			case *machine.SlabAlloc:
				fmt.Fprintln(h, *tp)
			case *machine.SchedSwitch:
				fmt.Fprintln(h, tp.Prev.PID, tp.PrevState, tp.Next.PID)
			}
		},
		UserEntry: func(c *machine.CPU) { fmt.Fprintln(h, c.Time, c.ID, "entry") },
		UserExit:  func(c *machine.CPU) { fmt.Fprintln(h, c.Time, c.ID, "exit") },
		Switch:    func(c *machine.CPU, prev, next *machine.Task) { fmt.Fprintln(h, c.Time, c.ID, prev.PID, next.PID) },
	}
	return h.Sum64
}

func TestSameSeedSameRun(t *testing.T) {
	for _, scenario := range []string{"mix", "disk", "desk"} {
		t.Run(scenario, func(t *testing.T) {
			run := func(seed uint64, parts ...machine.Time) uint64 {
				m := boot(t, scenario, machine.Config{Seed: seed})
				sum := hashHooks(t, m)
				for _, d := range parts {
					m.Run(d)
				}
				return sum()
			}
			const ms = machine.Millisecond
			one := run(1, 200*ms)
			if again := run(1, 200*ms); again != one {
				t.Error("two runs differ")
			}
			if again := run(1, 1, 999_999, 49*ms, 100*ms, 7, 50*ms-7); again != one {
				t.Error("a run in pieces differs from a run in one")
			}
			if other := run(2, 200*ms); other == one {
				t.Error("another seed makes the same run")
			}
		})
	}
}

// On each CPU the next task of a switch is the previous one of the following,
// no task runs on two CPUs, and the pids are those of live tasks.
func TestSwitchChain(t *testing.T) {
	for _, cpus := range []int{1, 2, 4, 9} {
		m := boot(t, "mix", machine.Config{CPUs: cpus})
		enableAll(t, m)
		running := map[int]*machine.Task{}
		for _, c := range m.CPUs() {
			running[c.ID] = c.Idle()
		}
		switches := 0
		m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
			s, ok := tp.(*machine.SchedSwitch)
			if !ok {
				if c.Current != running[c.ID] {
					t.Errorf("%d: CPU %d runs %s, switched to %s", c.Time, c.ID, c.Current.Comm, running[c.ID].Comm)
				}
				return
			}
			switches++
			if s.Prev != running[c.ID] || s.Prev == s.Next {
				t.Errorf("%d: CPU %d switches from %s:%d, ran %s:%d", c.Time, c.ID, s.Prev.Comm, s.Prev.PID, running[c.ID].Comm, running[c.ID].PID)
			}
			for id, r := range running {
				if r == s.Next && s.Next.PID != 0 {
					t.Errorf("%d: %s:%d runs on CPUs %d and %d", c.Time, r.Comm, r.PID, id, c.ID)
				}
			}
			running[c.ID] = s.Next
		}
		m.Run(machine.Second / 2)
		if switches < 100 {
			t.Errorf("%d CPUs: %d switches", cpus, switches)
		}
	}
}

// With every return address replaced, calls and returns are the two sides of a
// stack for each task, and all of it is unwound on the way out to user space.
func TestCallsAndReturnsMatch(t *testing.T) {
	for _, scenario := range []string{"mix", "disk", "tools", "talk"} {
		t.Run(scenario, func(t *testing.T) {
			m := boot(t, scenario, machine.Config{})
			stacks := map[*machine.Task][]uint64{}
			const handler = 0xffffffff81075000
			calls := 0
			m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
				calls++
				stacks[c.Current] = append(stacks[c.Current], f.Func)
				f.Ret = handler + uint64(calls)
			}
			m.Hooks.Return = func(c *machine.CPU, f *machine.Frame) {
				s := stacks[c.Current]
				if len(s) == 0 || s[len(s)-1] != f.Func {
					t.Fatalf("%d: %s returns from %#x, stack %x", c.Time, c.Current.Comm, f.Func, s)
				}
				stacks[c.Current] = s[:len(s)-1]
			}
			m.Hooks.UserExit = func(c *machine.CPU) {
				if n := len(stacks[c.Current]); n != 0 {
					t.Fatalf("%d: %s goes to user space with %d functions open", c.Time, c.Current.Comm, n)
				}
			}
			m.Run(machine.Second)
			if calls < 50_000 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// The kernel's stack is a chain: each return address lies in the function that
// is next, and what ftrace cannot see begins it.
func TestStacksAreChains(t *testing.T) {
	for _, scenario := range []string{"mix", "disk", "tools", "talk"} {
		t.Run(scenario, func(t *testing.T) {
			m := boot(t, scenario, machine.Config{})
			ks := m.Kallsyms()
			roots := map[string]int{}
			deepest := 0
			var ips []uint64
			type place struct {
				t  *machine.Task
				at uint64
			}
			replaced := map[place]uint64{}
			m.Hooks.Recover = func(t *machine.Task, _ *int, ret, at uint64) uint64 {
				if ret == 1 {
					return replaced[place{t, at}]
				}
				return ret
			}
			m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
				replaced[place{c.Current, f.Place()}] = f.Parent()
				f.Ret = 1 // must not show
				ips = c.AppendKernelStack(ips[:0])
				frames := c.Frames()
				at := len(frames) - 1
				for i, ip := range ips {
					s, ok := ks.At(ip)
					if !ok || ip == 1 {
						t.Fatalf("%s: no symbol for %#x in %x", c.Current.Comm, ip, ips)
					}
					for at >= 0 && frames[at].Func != s.Addr {
						at-- // jumped to its callee
					}
					if at < 0 {
						t.Fatalf("%s: address %d of %x is in %s, which is not on the stack", c.Current.Comm, i, ips, s.Name)
					}
					at--
				}
				last, _ := ks.At(ips[len(ips)-1])
				roots[last.Name]++
				deepest = max(deepest, len(ips))
			}
			m.Run(machine.Second / 2)
			want := []string{
				"asm_common_interrupt", "asm_exc_page_fault", "asm_sysvec_apic_timer_interrupt", "asm_sysvec_call_function_single",
				"common_startup_64", "entry_SYSCALL_64_after_hwframe", "ret_from_fork_asm",
			}
			for _, r := range sortedKeys(roots) {
				if !slices.Contains(want, r) {
					t.Errorf("%d stacks end in %s", roots[r], r)
				}
			}
			if deepest < 20 || deepest > 60 {
				t.Errorf("deepest stack has %d frames", deepest)
			}
		})
	}
}

// What a second of the default scenario holds: enough of everything, few enough
// different stacks for a stack map of 16384.
func TestSecond(t *testing.T) {
	m := boot(t, "mix", machine.Config{})
	enableAll(t, m)
	calls, events, stacks := 0, map[string]int{}, map[uint64]bool{}
	var ips []uint64
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		calls++
		ips = c.AppendKernelStack(ips[:0])
		h := uint64(14695981039346656037)
		for _, ip := range ips {
			h = (h ^ ip) * 1099511628211
			h ^= h >> 29
		}
		stacks[h] = true
	}
	m.Hooks.Trace = func(_ *machine.CPU, tp machine.Tracepoint) { events[tp.Event().TracepointName()]++ }
	m.Run(machine.Second)
	t.Logf("%d calls, %d stacks, %d steps, %d tasks", calls, len(stacks), m.Steps(), len(m.Tasks()))
	if calls < 100_000 || calls > 600_000 {
		t.Errorf("%d calls", calls)
	}
	if len(stacks) < 2000 || len(stacks) > 14_000 {
		t.Errorf("%d different stacks", len(stacks))
	}
	for name, least := range map[string]int{
		"sched:sched_switch": 300, "sched:sched_waking": 50, "sched:sched_process_fork": 5, "sched:sched_process_exec": 3,
		"sched:sched_process_exit": 1, "raw_syscalls:sys_enter": 300, "raw_syscalls:sys_exit": 300,
		"kmem:kmem_cache_alloc": 500, "kmem:kfree": 100, "kmem:kmalloc": 50, "irq:irq_handler_entry": 50,
		"irq:softirq_entry": 200, "timer:hrtimer_start": 100, "exceptions:page_fault_user": 100, "kmem:mm_page_alloc": 100,
	} {
		if events[name] < least {
			t.Errorf("%s: %d, want at least %d", name, events[name], least)
		}
	}
	for _, n := range sortedKeys(events) {
		t.Logf("%6d %s", events[n], n)
	}
}

// Nearly every ten milliseconds have system calls, and all have context switches.
func TestNeverSilent(t *testing.T) {
	m := boot(t, "mix", machine.Config{})
	enableAll(t, m)
	events := map[string]int{}
	m.Hooks.Trace = func(_ *machine.CPU, tp machine.Tracepoint) { events[tp.Event().TracepointName()]++ }
	m.Run(50 * machine.Millisecond)
	silent := 0
	for range 100 {
		events = map[string]int{}
		m.Run(10 * machine.Millisecond)
		if events["raw_syscalls:sys_enter"] == 0 {
			silent++
		}
		if events["sched:sched_switch"] == 0 || silent > 2 {
			t.Errorf("%d: %d system calls and %d switches in 10 ms", m.Now(), events["raw_syscalls:sys_enter"], events["sched:sched_switch"])
		}
	}
}

// A frame pointer unwinder gets from the registers to the end of the chain.
func TestUserStacksCanBeWalked(t *testing.T) {
	m := boot(t, "mix", machine.Config{})
	walked, deepest := 0, 0
	m.Hooks.UserEntry = func(c *machine.CPU) {
		u := c.Current
		if u.Kernel || u.Memory == nil {
			t.Fatalf("%s enters from user space", u.Comm)
		}
		depth := 0
		for fp := u.User.FP; fp != 0; depth++ {
			next, ok := u.Memory.Load(fp)
			ret, ok2 := u.Memory.Load(fp + 8)
			if !ok || !ok2 || next != 0 && next <= fp || depth > 64 {
				t.Fatalf("%s: frame %d at %#x: next %#x", u.Comm, depth, fp, next)
			}
			if !slices.ContainsFunc(u.Maps, func(mp machine.Mapping) bool { return ret >= mp.Start && ret < mp.End }) {
				t.Fatalf("%s: return address %#x is not mapped", u.Comm, ret)
			}
			fp = next
		}
		walked++
		deepest = max(deepest, depth)
	}
	m.Run(machine.Second / 4)
	if walked < 100 || deepest < 4 {
		t.Errorf("%d stacks walked, deepest %d", walked, deepest)
	}
}

func TestTasksStayBounded(t *testing.T) {
	m := boot(t, "busy", machine.Config{CPUs: 2})
	for range 20 {
		m.Run(machine.Second / 10)
		if n := len(m.Tasks()); n > maxTasks+50 {
			t.Fatalf("%d tasks after %d ns", n, m.Now())
		}
	}
}

func BenchmarkRun(b *testing.B) {
	m := boot(b, "busy", machine.Config{})
	m.Run(100 * machine.Millisecond)
	before := m.Steps()
	for b.Loop() {
		m.Run(machine.Millisecond)
	}
	b.ReportMetric(float64(m.Steps()-before)/b.Elapsed().Seconds(), "steps/s")
}

// The functions that were called most in the captures have about the same share
// of the calls when the same work is done without pauses.
func TestSharesAreThoseOfTheCaptures(t *testing.T) {
	m := boot(t, "busy", machine.Config{})
	calls, total := map[uint64]int{}, 0
	m.Hooks.Call = func(_ *machine.CPU, f *machine.Frame) { calls[f.Func]++; total++ }
	m.Run(2 * machine.Second)
	model, err := LoadModel()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range model.Shares[:20] {
		name, _, _, _, _ := m.Kallsyms().Lookup(s.Func)
		want, got := float64(s.Calls)/float64(model.Calls), float64(calls[s.Func])/float64(total)
		if got < want/2 || got > want*2 {
			t.Errorf("%s: %.2f %% of the calls, captured %.2f %%", name, 100*got, 100*want)
		}
	}
}

func TestStepsDoNotAllocate(t *testing.T) {
	m := boot(t, "idle", machine.Config{})
	enableAll(t, m)
	n := 0
	m.Hooks.Call = func(*machine.CPU, *machine.Frame) { n++ }
	m.Hooks.Trace = func(*machine.CPU, machine.Tracepoint) { n++ }
	m.Run(machine.Second)
	n = 0
	allocs := testing.AllocsPerRun(20, func() { m.Run(20 * machine.Millisecond) })
	if perCall := allocs / (float64(n) / 21); perCall > 0.01 {
		t.Errorf("%.0f allocations for %d hooks a run", allocs, n/21)
	}
}

func TestFindNamesWhatIsMissing(t *testing.T) {
	if _, err := Find("nonesuch"); err == nil {
		t.Error("no error")
	}
	names := map[string]bool{}
	for _, s := range Scenarios() {
		if s.Name == "" || s.Doc == "" || names[s.Name] {
			t.Errorf("scenario %+v", s.Name)
		}
		names[s.Name] = true
		m := boot(t, s.Name, machine.Config{CPUs: 1})
		m.Run(50 * machine.Millisecond)
	}
}

func Example() {
	m, err := machine.New(machine.Config{CPUs: 2, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := Find("mix")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Start(m); err != nil {
		fmt.Println(err)
		return
	}
	reads := 0
	vfsRead, _ := m.Kallsyms().ByName("vfs_read")
	m.Hooks.Call = func(_ *machine.CPU, f *machine.Frame) {
		if f.Func == vfsRead.Addr {
			reads++
		}
	}
	m.Run(machine.Second)
	fmt.Println(reads > 0, m.Now() == machine.Second)
	// Output: true true
}

// The pids that system calls return are those of the machine's tasks.
func TestPIDsReturned(t *testing.T) {
	m, err := machine.New(machine.Config{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	child, exited, failed := map[int]int{}, map[int64]bool{}, 0
	seen := map[int64]int{}
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		switch tp := tp.(type) {
		case *machine.SchedFork:
			child[tp.Parent.PID] = tp.Child.PID
		case *machine.SchedProcess:
			exited[int64(tp.PID)] = true
		case *machine.SysExit:
			want := tp.Ret
			switch tp.NR {
			case 39:
				want = int64(c.Current.TGID)
			case 218:
				want = int64(c.Current.PID)
			case 56:
				if want = int64(child[c.Current.PID]); tp.Ret == -11 { // EAGAIN
					failed++
					want = tp.Ret
				}
			case 61:
				if exited[tp.Ret] {
					seen[-61]++
				}
			}
			if tp.Ret != want {
				t.Errorf("pid %d: system call %d returns %d, want %d", c.Current.PID, tp.NR, tp.Ret, want)
			}
			seen[tp.NR]++
		}
	}
	for _, name := range []string{"sched:sched_process_fork", "sched:sched_process_exit", "raw_syscalls:sys_exit"} {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Run(3 * machine.Second)
	t.Logf("%v; %d forks failed", seen, failed)
	if failed > int(seen[56])/2 {
		t.Errorf("%d of %d forks failed", failed, seen[56])
	}
	for _, nr := range []int64{39, 56, 218, 61, -61} {
		if seen[nr] == 0 {
			t.Errorf("system call %d was not seen", nr)
		}
	}
}
