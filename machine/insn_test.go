package machine_test

import (
	"testing"

	"pgregory.net/rapid"

	"ftracelab/machine"
)

// Where the kernel's tests put probes and where its error cases do not get one.
func TestInsnBoundary(t *testing.T) {
	m, err := machine.New(machine.Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		off  uint64
		want bool
	}{
		{"vfs_read", 0, true},
		{"vfs_read", 1, false},
		{"vfs_read", 3, false}, // within the endbr64
		{"vfs_read", 4, true},  // the patched call
		{"vfs_read", 5, false},
		{"vfs_read", 9, true},
		{"do_sys_openat2", 0, true}, // no endbr64
		{"do_sys_openat2", 4, false},
		{"do_sys_openat2", 5, true},
	} {
		s, ok := m.Kallsyms().ByName(c.name)
		if !ok {
			t.Fatal(c.name)
		}
		if got := m.InsnBoundary(s.Addr + c.off); got != c.want {
			t.Errorf("%s+%d: %v, want %v", c.name, c.off, got, c.want)
		}
	}
	if m.InsnBoundary(0x1000) {
		t.Error("an instruction begins at 0x1000")
	}
}

// No instruction is longer than those of the model, and the return addresses of calls
// are boundaries, behind a call of five bytes.
func TestInsnBoundaryOfCalls(t *testing.T) {
	m, err := machine.New(machine.Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	ks := m.Kallsyms()
	a := machine.NewAssembler(ks, 1)
	a.Call("ksys_read").Call("vfs_read").Call("rw_verify_area").Return(1).Return(2)
	if _, err := a.Code(); err != nil {
		t.Fatal(err)
	}
	m.Boot(machine.Kernel{Sites: a.Sites, Workload: &machine.Script{}})
	for _, s := range a.Sites {
		if s.Ret != 0 && (!m.InsnBoundary(s.Ret) || !m.InsnBoundary(s.Ret-5)) {
			t.Errorf("%#x and the call before it are no instructions", s.Ret)
		}
	}
	var syms []machine.Symbol
	for _, s := range ks.All() {
		syms = append(syms, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := syms[rapid.IntRange(0, len(syms)-1).Draw(t, "symbol")]
		if s.Size < 16 {
			return
		}
		from := rapid.Uint64Range(0, s.Size-8).Draw(t, "from")
		for i := range uint64(8) {
			if m.InsnBoundary(s.Addr + from + i) {
				return
			}
		}
		t.Fatalf("%s+%d: an instruction of more than 8 bytes", s.Name, from)
	})
}
