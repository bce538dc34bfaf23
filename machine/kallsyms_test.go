package machine

import (
	"bytes"
	"testing"
)

func load(t testing.TB) *Kallsyms {
	t.Helper()
	k, err := LoadKallsyms()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// symbols gives all symbols of a table.
func symbols(k *Kallsyms) (syms []Symbol) {
	for _, s := range k.All() {
		syms = append(syms, s)
	}
	return syms
}

// Names and offsets as the kernel printed them (oracle: stacks, ev_kmem) and
// the first of several symbols at an address.
func TestKallsymsLookup(t *testing.T) {
	k := load(t)
	for _, want := range []struct {
		addr         uint64
		name         string
		offset, size uint64
	}{
		{0xffffffff811a321b, "syscall_exit_to_user_mode_prepare", 0, 0x170},
		{0xffffffff813d454f, "kmem_cache_alloc_noprof", 0, 0},
		{0xffffffff8145ad8e, "alloc_empty_file", 0x4e, 0x120},
		{0xffffffff8158486b, "security_file_alloc", 0x2b, 0x150},
		{0xffffffff8100a100, "__do_sys_ni_syscall", 0, 0},
		{0xffffffff81000000, "_stext", 0, 0x10},
	} {
		name, module, offset, size, ok := k.Lookup(want.addr)
		if !ok || name != want.name || module != "" || want.offset != 0 && offset != want.offset || want.size != 0 && size != want.size {
			t.Errorf("Lookup(%#x) = %s %s+%#x/%#x %v, want %s+%#x/%#x", want.addr, module, name, offset, size, ok, want.name, want.offset, want.size)
		}
	}
	for _, addr := range []uint64{0, 1 << 40, 0xffffffff80ffffff, ^uint64(0)} {
		if name, _, _, _, ok := k.Lookup(addr); ok {
			t.Errorf("Lookup(%#x) = %s, want none", addr, name)
		}
	}
}

// What the kernel's own tests of tracefs look for (probepoint.tc,
// kprobe_non_uniq_symbol.tc, kprobe_args_symbol.tc, multiple_kprobes.tc).
func TestKallsymsOfSelftests(t *testing.T) {
	k := load(t)
	for _, name := range []string{
		"schedule", "sched_tick", "kernel_clone", "do_exit", "vfs_read", "vfs_open", "vfs_symlink",
		"do_sys_openat2", "dput", "kfree", "kmem_cache_free", "getname_flags", "inet_csk_accept",
		"wake_up_process", "eventfs_create_dir", "tracefs_create_dir", "proc_reg_write", "handle_mm_fault",
	} {
		s, ok := k.ByName(name)
		if !ok || !s.Traceable {
			t.Errorf("%s: found %v, traceable %v", name, ok, s.Traceable)
		}
	}
	for _, name := range []string{"_sdata", "linux_proc_banner", "_stext", "_etext", "__pfx_vfs_read", "entry_SYSCALL_64_after_hwframe"} {
		if _, ok := k.ByName(name); !ok {
			t.Errorf("%s: not found", name)
		}
	}
	for _, name := range []string{"_do_fork", "non_exist_func", "hoge"} {
		if _, ok := k.ByName(name); ok {
			t.Errorf("%s: found", name)
		}
	}
	if n := k.Count("name_show"); n < 2 {
		t.Errorf("name_show: %d symbols, want several", n)
	}
	if n := k.Count("tracefs_create_dir"); n != 1 {
		t.Errorf("tracefs_create_dir: %d symbols, want 1", n)
	}
	if s, _ := k.ByName("kernel_clone"); s.Size < 256 {
		t.Errorf("kernel_clone: %d bytes, want at least 256", s.Size)
	}
}

func TestKallsymsText(t *testing.T) {
	var b bytes.Buffer
	if _, err := load(t).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000000 t __pfx_sev_es_terminate\nffffffff81000010 t sev_es_terminate\n",
		"ffffffff8100a0f0 t __pfx___do_sys_ni_syscall\nffffffff8100a0f0 T __pfx___ia32_sys_ni_syscall\n",
		"ffffffff82000000 T _etext\n",
	} {
		if !bytes.Contains(b.Bytes(), []byte(line)) {
			t.Errorf("missing %q", line)
		}
	}
}

func TestKallsymsLookupDoesNotAllocate(t *testing.T) {
	k := load(t)
	if n := testing.AllocsPerRun(100, func() { k.Lookup(0xffffffff8158486b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKallsymsEncode(t *testing.T) {
	syms := symbols(load(t))
	decoded, err := decodeKallsyms(string(EncodeKallsyms(syms)))
	if err != nil {
		t.Fatal(err)
	}
	again := symbols(&Kallsyms{decoded, new(symbolTable)})
	if len(again) != len(syms) {
		t.Fatalf("%d symbols, want %d", len(again), len(syms))
	}
	for i, s := range again {
		if s.Size = syms[i].Size; s != syms[i] {
			t.Fatalf("symbol %d: %+v, want %+v", i, s, syms[i])
		}
	}
}

// Every symbol is found by its address and by its name; of several, the first one.
func TestKallsymsOrder(t *testing.T) {
	syms := symbols(load(t))
	first := map[string]int{}
	for i, s := range syms {
		if i > 0 && syms[i-1].Addr > s.Addr {
			t.Fatalf("%s at %#x comes after %s at %#x", s.Name, s.Addr, syms[i-1].Name, syms[i-1].Addr)
		}
		if _, again := first[s.Name]; !again {
			first[s.Name] = i
		}
		if got, ok := load(t).ByName(s.Name); !ok || got != syms[first[s.Name]] {
			t.Fatalf("%s is %+v, want %+v", s.Name, got, syms[first[s.Name]])
		}
		if at, ok := load(t).At(s.Addr); !ok || at.Addr != s.Addr {
			t.Fatalf("at %#x is %+v, want %+v", s.Addr, at, s)
		}
	}
}

func FuzzDecodeKallsyms(f *testing.F) {
	f.Add(EncodeKallsyms([]Symbol{
		{Addr: 0xffffffff81001000, Type: 't', Name: "__pfx_a"},
		{Addr: 0xffffffff81001010, Type: 't', Name: "a", Traceable: true},
		{Addr: 0xffffffff81001020, Type: 'T', Name: "b", Module: "m"},
		{Addr: 0xffffffff81001030, Type: '-'},
	}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		table, err := decodeKallsyms(string(b))
		if err == nil {
			k := table.finish()
			k.Lookup(0xffffffff81001015)
			k.ByName("a")
		}
	})
}
