package memory_test

import (
	"testing"

	"ftracelab/machine"
	"ftracelab/machine/memory"
)

// TestFtraceRegs looks at the registers of a call and its return: what the conversions
// keep, and what they lose.
func TestFtraceRegs(t *testing.T) {
	m, mem, _ := boot(t)
	entries := 0
	at(t, m, "vfs_read", func(c *machine.CPU, f *machine.Frame) {
		if entries++; entries > 20 {
			return
		}
		all, some := mem.Enter(c, f).FtraceRegs(true), mem.Enter(c, f).FtraceRegs(false)
		full, ok := all.PtRegs()
		if !ok || full[memory.RegIP] != f.IP || full[memory.RegCS] != 0x10 || full[memory.RegDI] != all.Arg(0) || full[memory.RegBX] == 0 {
			t.Errorf("all registers: %#x, %v", full, ok)
		}
		if _, ok := some.PtRegs(); ok {
			t.Error("some registers are taken for all")
		}
		partial := some.Partial()
		lost := 0
		for reg, v := range full {
			switch {
			case partial[reg] == v:
			case some.Saved(reg) || partial[reg] != 0:
				t.Errorf("register %d is %#x, and %#x after the conversion", reg, v, partial[reg])
			default:
				lost++
			}
		}
		if lost < 8 {
			t.Errorf("only %d registers are lost", lost)
		}
		for n := range 6 {
			if all.Arg(n) != some.Arg(n) {
				t.Errorf("argument %d differs", n)
			}
		}
		perf := some.Perf()
		if perf[memory.RegIP] != f.IP || perf[memory.RegSP] != full[memory.RegSP] || perf[memory.RegCS] != 0x10 || perf[memory.RegFlags] != 0 || perf[memory.RegDI] != 0 {
			t.Errorf("for perf: %#x", perf)
		}
		if some.Saved(-1) || some.Saved(memory.RegSS+1) || all.Saved(memory.RegSS+1) {
			t.Error("a register that there is not was saved")
		}
		f.Value = 7
		at := mem.Leave(c, f).FtraceRegs(false)
		if !at.Saved(memory.RegAX) || at.Saved(memory.RegDI) || at.Reg(memory.RegAX) != 7 || at.Result() != 7 || at.Reg(memory.RegDI) != 0 {
			t.Errorf("at the return: ax %#x, result %#x, di %#x", at.Reg(memory.RegAX), at.Result(), at.Reg(memory.RegDI))
		}
	})
	m.Run(100 * machine.Millisecond)
	if entries == 0 {
		t.Fatal("vfs_read is never called")
	}
}
