package memory_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/machine"
	"ftracelab/machine/btf"
	"ftracelab/machine/memory"
	"ftracelab/tracefsfs/shell"
	"ftracelab/workload"
)

// boot starts the learned workload.
func boot(t testing.TB) (*machine.Machine, *memory.Memory, *btf.Model) { return bootWith(t, "") }

func bootWith(t testing.TB, scenario string) (*machine.Machine, *memory.Memory, *btf.Model) {
	t.Helper()
	m, err := machine.New(machine.Config{CPUs: 2})
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
	mem, err := memory.New(m)
	if err != nil {
		t.Fatal(err)
	}
	types, err := btf.Load()
	if err != nil {
		t.Fatal(err)
	}
	return m, mem, types
}

// at calls see at each entry of a function.
func at(t testing.TB, m *machine.Machine, name string, see func(c *machine.CPU, f *machine.Frame)) {
	t.Helper()
	s, ok := m.Kallsyms().ByName(name)
	if !ok {
		t.Fatalf("no function %s", name)
	}
	hook := m.Hooks.Call
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		if f.Func == s.Addr {
			see(c, f)
		}
		if hook != nil {
			hook(c, f)
		}
	}
}

type reader struct {
	t     testing.TB
	mem   *memory.Memory
	types *btf.Model
	c     *machine.CPU
}

func (r reader) word(addr uint64) (v uint64) {
	r.t.Helper()
	var b [8]byte
	if n := r.mem.Kernel(r.c, b[:], addr); n != 8 {
		r.t.Fatalf("%#x: only %d bytes can be read", addr, n)
	}
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

func (r reader) field(addr uint64, structure, path string) uint64 {
	r.t.Helper()
	f, ok := r.types.Field(structure, path)
	if !ok {
		r.t.Fatalf("no %s.%s", structure, path)
	}
	return r.word(addr+uint64(f.Bit/8)) & (1<<(8*r.types.Type(f.Type).Size) - 1)
}

func text(read func([]byte, uint64) int, addr uint64) string {
	b := make([]byte, 256)
	n := read(b, addr)
	s, _, _ := strings.Cut(string(b[:n]), "\x00")
	return s
}

func (r reader) text(addr uint64) string {
	return text(func(b []byte, a uint64) int { return r.mem.Kernel(r.c, b, a) }, addr)
}

func (r reader) user(addr uint64) string {
	return text(func(b []byte, a uint64) int { return r.mem.User(r.c, b, a) }, addr)
}

// What read(2) was asked for is what vfs_read gets, and its file leads to a name.
func TestRead(t *testing.T) {
	m, mem, types := boot(t)
	calls := 0
	at(t, m, "vfs_read", func(c *machine.CPU, f *machine.Frame) {
		stay := c.Current.Stay()
		if stay.NR != 0 {
			return
		}
		calls++
		r := reader{t, mem, types, c}
		a := mem.Enter(c, f)
		if a.Arg(1) != stay.Args[1] || a.Arg(2) != stay.Args[2] || a.Reg(memory.RegDX) != stay.Args[2] {
			t.Errorf("vfs_read(…, %#x, %d), want %#x, %d", a.Arg(1), a.Arg(2), stay.Args[1], stay.Args[2])
		}
		if a.Stack(0) != f.Ret || r.word(a.SP()) != f.Ret {
			t.Errorf("%#x on the stack, want the return address %#x", a.Stack(0), f.Ret)
		}
		file := a.Arg(0)
		dentry := r.field(file, "file", "f_path.dentry")
		name := r.text(r.field(dentry, "dentry", "d_name.name"))
		if path := m.Workload().(memory.Names).FileOf(c.Current, int64(stay.Args[0])); name == "" || !strings.HasSuffix(path, name) {
			t.Errorf("the dentry's name is %q, the file %q", name, path)
		}
		if got := r.field(dentry, "dentry", "d_name.len"); got != uint64(len(name)) {
			t.Errorf("%q has length %d", name, got)
		}
		if r.user(file) != "" {
			t.Error("kernel memory can be read as user memory")
		}
	})
	m.Run(300 * machine.Millisecond)
	if calls == 0 {
		t.Error("nobody reads")
	}
}

// An open's path is at a user's address for do_sys_openat2 and in a struct filename in
// the kernel; the kernel cannot read the user's.
func TestOpen(t *testing.T) {
	m, mem, types := bootWith(t, "busy")
	paths := map[string]int{}
	at(t, m, "do_sys_openat2", func(c *machine.CPU, f *machine.Frame) {
		r := reader{t, mem, types, c}
		a := mem.Enter(c, f)
		name, how := a.Arg(1), a.Arg(2)
		path := r.user(name)
		paths[path]++
		if path == "" || r.text(name) != "" {
			t.Errorf("the path at %#x is %q for the user, %q for the kernel", name, path, r.text(name))
		}
		if got := r.field(how, "open_how", "flags"); c.Current.Stay().NR == 257 && got != c.Current.Stay().Args[2]|0x8000 {
			t.Errorf("flags %#x of %#x", got, c.Current.Stay().Args[2])
		}
	})
	at(t, m, "do_filp_open", func(c *machine.CPU, f *machine.Frame) {
		r := reader{t, mem, types, c}
		if stay := c.Current.Stay(); stay.NR == 257 {
			filename := mem.Enter(c, f).Arg(1)
			if got, want := r.text(r.field(filename, "filename", "name")), r.user(stay.Args[1]); got != want {
				t.Errorf("struct filename has %q, the user %q", got, want)
			}
		}
	})
	m.Run(300 * machine.Millisecond)
	if len(paths) < 3 {
		t.Errorf("opened: %v", paths)
	}
}

// A file gets its inode and its mode by vfs_open, as the kernel's documentation shows.
func TestVfsOpen(t *testing.T) {
	m, mem, types := bootWith(t, "busy")
	modes := map[uint64]int{}
	m.Hooks.Return = func(c *machine.CPU, f *machine.Frame) {
		r := reader{t, mem, types, c}
		file := mem.Leave(c, f).Arg(1)
		mode := r.field(file, "file", "f_mode")
		modes[mode]++
		if r.field(file, "file", "f_inode") == 0 || mode&0x80000 == 0 {
			t.Errorf("an open file with mode %#x and no inode", mode)
		}
		if flags := r.field(file, "file", "f_flags"); flags&0x3c0 != 0 || (flags+1)&3 != mode&3 {
			t.Errorf("flags %#x, mode %#x", flags, mode)
		}
	}
	at(t, m, "vfs_open", func(c *machine.CPU, f *machine.Frame) {
		if c.Current.Stay().NR != 257 {
			return
		}
		f.Ret = 1
		r := reader{t, mem, types, c}
		file := mem.Enter(c, f).Arg(1)
		if mode := r.field(file, "file", "f_mode"); mode == 0 || mode > 3 || r.field(file, "file", "f_inode") != 0 {
			t.Errorf("before it is open, a file has mode %#x", mode)
		}
	})
	m.Run(300 * machine.Millisecond)
	if modes[0x4a801d] == 0 || modes[0x4d801e] == 0 {
		t.Errorf("modes %#x, want 0x4a801d of reading, 0x4d801e of writing", modes)
	}
}

// Page faults, forks and exits are told truly.
func TestFaultForkExit(t *testing.T) {
	m, mem, types := bootWith(t, "busy")
	faults, forks, exits := 0, 0, 0
	at(t, m, "handle_mm_fault", func(c *machine.CPU, f *machine.Frame) {
		if stay := c.Current.Stay(); stay.Kind == machine.PageFault {
			faults++
			if got := mem.Enter(c, f).Arg(1); got != stay.Address {
				t.Errorf("a fault at %#x, want %#x", got, stay.Address)
			}
		}
	})
	at(t, m, "kernel_clone", func(c *machine.CPU, f *machine.Frame) {
		if stay := c.Current.Stay(); stay.NR == 56 {
			forks++
			r := reader{t, mem, types, c}
			args := mem.Enter(c, f).Arg(0)
			if flags, sig := r.field(args, "kernel_clone_args", "flags"), r.field(args, "kernel_clone_args", "exit_signal"); flags|sig != stay.Args[0] {
				t.Errorf("clone with %#x and signal %d, want %#x", flags, sig, stay.Args[0])
			}
		}
	})
	at(t, m, "do_exit", func(c *machine.CPU, f *machine.Frame) {
		exits++
		if got, want := mem.Enter(c, f).Arg(0), c.Current.Stay().Args[0]&0xff<<8; got != want {
			t.Errorf("exit code %#x, want %#x", got, want)
		}
	})
	m.Run(300 * machine.Millisecond)
	if faults == 0 || forks == 0 || exits == 0 {
		t.Errorf("%d faults, %d forks, %d exits", faults, forks, exits)
	}
}

// A task's structure has what is known of the task.
func TestTask(t *testing.T) {
	m, mem, types := boot(t)
	m.Run(100 * machine.Millisecond)
	r := reader{t, mem, types, m.CPUs()[0]}
	seen := map[uint64]bool{}
	for _, task := range append(m.Tasks(), m.CPUs()[0].Idle(), m.CPUs()[1].Idle()) {
		addr := mem.Task(task)
		if seen[addr] {
			t.Errorf("two tasks at %#x", addr)
		}
		seen[addr] = true
		comm, _ := types.Offset("task_struct", "comm")
		if got := r.text(addr + comm); got != task.Comm {
			t.Errorf("comm %q, want %q", got, task.Comm)
		}
		if pid := r.field(addr, "task_struct", "pid"); pid != uint64(task.PID) {
			t.Errorf("pid %d, want %d", pid, task.PID)
		}
		if start := r.field(addr, "task_struct", "start_time"); start != task.StartTime() {
			t.Errorf("start_time %d, want %d", start, task.StartTime())
		}
		// An empty list's head points to itself: se.group_node.next->prev.
		node, _ := types.Offset("task_struct", "se.group_node")
		if next := r.word(addr + node); r.word(next+8) != addr+node {
			t.Errorf("group_node of %s leads to %#x", task.Comm, next)
		}
		if task.Parent != nil && r.field(addr, "task_struct", "real_parent") != mem.Task(task.Parent) {
			t.Errorf("%s has another parent", task.Comm)
		}
	}
	if init, ok := m.Kallsyms().Address("init_task"); !ok || mem.Task(m.CPUs()[0].Idle()) != init {
		t.Error("the first idle task is not init_task")
	}
}

// What kfree gets is what its tracepoint reports, and the same of sizes.
func TestSlab(t *testing.T) {
	m, mem, types := boot(t)
	for _, name := range []string{"kmem:kfree", "kmem:kmalloc", "kmem:kmem_cache_alloc"} {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	var freed, asked uint64
	frees, mallocs := 0, 0
	at(t, m, "kfree", func(c *machine.CPU, f *machine.Frame) { freed = mem.Enter(c, f).Arg(0) })
	at(t, m, "__kmalloc_noprof", func(c *machine.CPU, f *machine.Frame) { asked = mem.Enter(c, f).Arg(0) })
	m.Hooks.Trace = func(c *machine.CPU, tp machine.Tracepoint) {
		fs := c.Frames()
		name, _, _, _, _ := m.Kallsyms().Lookup(fs[len(fs)-1].Func)
		switch a := tp.(type) {
		case *machine.SlabFree:
			if name == "kfree" {
				frees++
				if freed != a.Ptr {
					t.Errorf("kfree(%#x) frees %#x", freed, a.Ptr)
				}
			}
			if p := mem.Pass(c, tp); p.Arg(0) != a.CallSite || p.Arg(1) != a.Ptr || p.Arg(2) != 0 {
				t.Error("the tracepoint's arguments are wrong")
			}
		case *machine.SlabAlloc:
			if a.ID == machine.EvKmemCacheAlloc {
				r := reader{t, mem, types, c}
				cache := mem.Pass(c, tp).Arg(2)
				if size := r.field(cache, "kmem_cache", "object_size"); size != a.BytesAlloc {
					t.Errorf("a cache of %d bytes gives %d", size, a.BytesAlloc)
				}
				if r.text(r.field(cache, "kmem_cache", "name")) == "" {
					t.Error("a cache has no name")
				}
			}
			if name == "__kmalloc_noprof" {
				mallocs++
				if asked != a.BytesReq {
					t.Errorf("__kmalloc_noprof(%d) allocates %d", asked, a.BytesReq)
				}
			}
		}
	}
	m.Run(300 * machine.Millisecond)
	if frees == 0 || mallocs == 0 {
		t.Errorf("%d frees, %d allocations", frees, mallocs)
	}
}

func TestKernelData(t *testing.T) {
	m, mem, types := boot(t)
	r := reader{t, mem, types, m.CPUs()[0]}
	addr, _ := m.Kallsyms().Address("linux_proc_banner")
	if got := r.text(addr); got != machine.Banner {
		t.Errorf("the banner is %q", got)
	}
	if machine.Banner != shell.KernelVersion+"\n" {
		t.Errorf("/proc/version is %q", shell.KernelVersion)
	}
	addr, _ = m.Kallsyms().Address("vfs_read")
	if got := r.word(addr) & 0xffffffff; got != 0xfa1e0ff3 {
		t.Errorf("vfs_read begins with %#x, want endbr64", got)
	}
	for _, addr := range []uint64{0, 0x1000, 1 << 47, 0x8000000000000000, 0xfffffffffffff000} {
		var b [8]byte
		if n := mem.Kernel(r.c, b[:], addr); n != 0 {
			t.Errorf("%d bytes at %#x can be read", n, addr)
		}
	}
}

// A string that the kernel passes on behalf of a user is the function's first argument.
func TestCallWith(t *testing.T) {
	m, mem, types := boot(t)
	got := ""
	at(t, m, "eventfs_create_dir", func(c *machine.CPU, f *machine.Frame) {
		got = reader{t, mem, types, c}.text(mem.Enter(c, f).Arg(0))
	})
	m.Run(machine.Millisecond)
	m.CPUs()[0].CallWith("event_create_dir", "eventfs_create_dir", "test")
	if got != "test" {
		t.Errorf("eventfs_create_dir(%q)", got)
	}
	m.Run(machine.Millisecond)
}

// Any address can be asked for, in any piece, and pieces agree.
func TestAnyAddress(t *testing.T) {
	m, mem, _ := boot(t)
	m.Run(20 * machine.Millisecond)
	for _, task := range m.Tasks() {
		mem.Task(task)
	}
	c := m.CPUs()[0]
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]uint64{
			0xffff888140000000, 0xffffc90000000000, 0xffffffff81000000, 0xffffffff82c10940, 0x7fffffff0000, 0, 0xffff8881ffffff00,
			0xffff888141000000 - 1<<19, 0xffffffffffffff00,
		}).Draw(t, "base")
		addr := base + rapid.Uint64Range(0, 1<<20).Draw(t, "offset")
		b := make([]byte, rapid.IntRange(0, 64).Draw(t, "size"))
		n := mem.Kernel(c, b, addr)
		for i := range n {
			var one [1]byte
			if mem.Kernel(c, one[:], addr+uint64(i)) != 1 || one[0] != b[i] {
				t.Fatalf("%#x: byte %d is %#x alone and %#x in %d", addr, i, one[0], b[i], n)
			}
		}
		mem.User(c, b, addr)
	})
}

// Reads that begin before an object, or before a symbol, find what is there.
func TestAcross(t *testing.T) {
	m, mem, types := boot(t)
	c := m.CPUs()[0]
	tasks := m.Tasks()
	user := tasks[slices.IndexFunc(tasks, func(t *machine.Task) bool { return !t.Kernel })]
	mm := reader{t, mem, types, c}.field(mem.Task(user), "task_struct", "mm") // the first of its kind
	jiffies, _ := m.Kallsyms().Address("jiffies")
	banner, _ := m.Kallsyms().Address("linux_proc_banner")
	for _, addr := range []uint64{mm, jiffies, banner} {
		var alone [256]byte
		var across [300]byte
		n := mem.Kernel(c, alone[:], addr)
		if got := mem.Kernel(c, across[:44+n], addr-44); got != 44+n || !bytes.Equal(across[44:got], alone[:n]) {
			t.Errorf("%#x: %x, alone %x", addr, across[44:], alone)
		}
	}
}

// A module's functions take what is known of them, whatever was at their addresses before.
func TestModuleAtSameAddress(t *testing.T) {
	m, mem, _ := boot(t)
	c := m.CPUs()[0]
	arg := func(name string) uint64 {
		s, ok := m.Kallsyms().ByName(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		return mem.Enter(c, &machine.Frame{Func: s.Addr, IP: s.IP()}).Arg(0)
	}
	load := func(function string) {
		if err := m.LoadModule(machine.Module{Name: "m", Functions: []string{function}}); err != nil {
			t.Fatal(err)
		}
	}
	load("one_of_which_nothing_is_known")
	addr, _ := m.Kallsyms().Address("one_of_which_nothing_is_known")
	arg("one_of_which_nothing_is_known")
	if err := m.UnloadModule("m"); err != nil {
		t.Fatal(err)
	}
	load("vfs_read")
	got := mem.Enter(c, &machine.Frame{Func: addr, IP: addr + 4}).Arg(0)
	if want := arg("vfs_read"); got != want {
		t.Errorf("a module's vfs_read(%#x), the kernel's vfs_read(%#x)", got, want)
	}
}

// The same run reads the same, and reading does not change the run.
func TestDeterminism(t *testing.T) {
	run := func(probe bool) (log []string, steps uint64) {
		m, mem, _ := boot(t)
		m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
			if !probe {
				return
			}
			a := mem.Enter(c, f)
			if len(log) < 20000 {
				log = append(log, fmt.Sprintf("%x %x %x %x %x", a.Arg(0), a.Arg(1), a.Arg(2), a.Stack(1), a.Reg(memory.RegR12)))
			}
		}
		m.Run(50 * machine.Millisecond)
		return log, m.Steps()
	}
	one, steps := run(true)
	two, _ := run(true)
	_, without := run(false)
	if strings.Join(one, "\n") != strings.Join(two, "\n") {
		t.Error("two runs differ")
	}
	if steps != without {
		t.Errorf("%d steps when probed, %d otherwise", steps, without)
	}
}

func TestNoAllocation(t *testing.T) {
	m, mem, _ := boot(t)
	m.Run(50 * machine.Millisecond)
	var b [64]byte
	at(t, m, "vfs_read", func(c *machine.CPU, f *machine.Frame) {
		read := func() {
			a := mem.Enter(c, f)
			mem.Kernel(c, b[:], a.Arg(0))
			mem.User(c, b[:], a.Arg(1))
			a.Stack(3)
			a.Reg(memory.RegBX)
		}
		read()
		if n := testing.AllocsPerRun(10, read); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
	m.Run(50 * machine.Millisecond)
}

func Example() {
	m, err := machine.New(machine.Config{CPUs: 1})
	if err != nil {
		panic(err)
	}
	s, err := workload.Find("")
	if err != nil {
		panic(err)
	}
	if err := s.Start(m); err != nil {
		panic(err)
	}
	mem, err := memory.New(m)
	if err != nil {
		panic(err)
	}
	open, _ := m.Kallsyms().Address("do_sys_openat2")
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		if f.Func != open {
			return
		}
		var b [32]byte
		n := mem.User(c, b[:], mem.Enter(c, f).Arg(1))
		path, _, _ := strings.Cut(string(b[:n]), "\x00")
		fmt.Println(c.Current.Comm, "opens", path)
	}
	m.Run(20 * machine.Millisecond)
	// Output: systemd-journal opens /proc/1/comm
}
