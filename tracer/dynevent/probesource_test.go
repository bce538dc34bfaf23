package dynevent

import (
	"testing"

	"ftracelab/machine"
)

// An address as sprint_symbol prints it, without allocation.
func TestProbeSymbol(t *testing.T) {
	m, err := machine.New(machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := m.Kallsyms().ByName("vfs_read")
	if !ok {
		t.Fatal("no vfs_read")
	}
	source := &taskSource{d: &Events{machine: m}}
	for addr, want := range map[uint64]string{
		s.Addr + 0x1c: "vfs_read+0x1c/0x370",
		0x1234:        "0x1234",
	} {
		dst := source.AppendSymbol(make([]byte, 0, 64), addr)
		if string(dst) != want {
			t.Errorf("%#x: %s, want %s", addr, dst, want)
		}
		if n := testing.AllocsPerRun(10, func() { dst = source.AppendSymbol(dst[:0], addr) }); n != 0 {
			t.Errorf("%#x: %v allocations", addr, n)
		}
	}
}
