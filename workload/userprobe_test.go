package workload

import (
	"os/exec"
	"path/filepath"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/unwind/user"
	"ftracelab/workload/program"
)

// TestProgramHitsProbes: a program stops wherever there is a probe, once each time that it
// comes by. At the entry of a function with frame pointers, a walk that does not know where it is lacks
// the caller, and one that knows has it.
func TestProgramHitsProbes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "walks")
	text, err := exec.CommandContext(t.Context(), testutil.Program(t, "gcc"), "-O1", "-fno-omit-frame-pointer", "-o", out, "program/testdata/walks.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for name, at := range map[string]string{out: "rec", "program/testdata/compat.elf": "ask"} {
		im, err := program.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		entry, ok := im.Entry(at)
		if !ok {
			t.Fatalf("%s has no function %s", name, at)
		}
		m, err := machine.New(machine.Config{CPUs: 2, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := Start(m, Config{}); err != nil {
			t.Fatal(err)
		}
		if err := StartProgram(m, ProgramConfig{Image: im}); err != nil {
			t.Fatal(err)
		}
		hits, entries, found, missed, again := map[uint64]int{}, 0, 0, 0, 0
		var before machine.UserRegs
		m.Hooks.Probed = func(file, offset uint64) bool {
			addr, ok := im.AtOffset(offset)
			return ok && file == im.Inode() && (addr == entry || addr == entry+1) // push %rbp, and what follows it
		}
		m.Hooks.Breakpoint = func(c *machine.CPU, at machine.Place) {
			task := c.Current
			if at.File != im.Inode() || at.Addr != task.User.IP {
				t.Fatalf("%s: hit %+v at %#x", name, at, task.User.IP)
			}
			if hits[at.Addr]++; task.User == before {
				again++
			}
			before = task.User
			if at.Addr != entry {
				return
			}
			if entries++; at.Insn[0] != 0x55 {
				t.Fatalf("%s: the function begins with % x", name, at.Insn)
			}
			w := user.Walker{}
			if im.Compat {
				w.Arch = user.I386
			}
			want := task.Memory.(*program.Thread).Stack(nil)
			regs := user.Regs{UserRegs: task.User}
			if got, _ := w.Walk(nil, regs, task.Memory, 64); len(got) > 1 && got[1] == want[2] {
				missed++
			}
			regs.Entry = true
			if got, _ := w.Walk(nil, regs, task.Memory, 64); len(got) > 1 && got[1] == want[1] {
				found++
			}
		}
		m.Run(200 * machine.Millisecond)
		t.Logf("%s: %d hits at the entry, %d behind it; the caller is found %d times with the entry known, and missed %d times without", at, hits[entry], hits[entry+1], found, missed)
		if entries < 100 || hits[entry+1] != entries || again > 0 {
			t.Errorf("%s: hits %v, %d at the same place again", name, hits, again)
		}
		if found != entries || missed != entries {
			t.Errorf("%s: %d entries, the caller is found at %d and missed at %d", name, entries, found, missed)
		}
	}
}
