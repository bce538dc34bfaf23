package machine

import (
	"fmt"
	"slices"
	"testing"
)

// What functions return: the result of a system call is handed up to where it
// came from, and only there; what is known is always the same; a function that
// nothing is known of leaves in the register what its last callee left there.
func TestValues(t *testing.T) {
	ks := load(t)
	known := map[uint64]Value{}
	for name, v := range map[string]Value{
		"ksys_read": {Kind: ValueResult}, "vfs_read": {Kind: ValueResult}, "do_filp_open": {ValueFailure, 0x1234},
		"down_read": {Word: 1}, "ktime_get": {Kind: ValueTime},
	} {
		s, ok := ks.ByName(name)
		if !ok {
			t.Fatal(name)
		}
		known[s.Addr] = v
	}
	for _, c := range []struct {
		ret  int64
		want []string
	}{
		{-11, []string{"vfs_read -11", "down_read 1", "up_read 1", "down_read 1", "vfs_read 0", "do_filp_open 4660", "kfree 0", "filp_close 0", "do_filp_open -11", "ktime_get now", "ksys_read -11"}},
		{27, []string{"vfs_read 27", "down_read 1", "up_read 1", "down_read 1", "vfs_read 0", "do_filp_open 4660", "kfree 0", "filp_close 0", "do_filp_open 4660", "ktime_get now", "ksys_read 27"}},
	} {
		m, err := New(Config{CPUs: 1})
		if err != nil {
			t.Fatal(err)
		}
		m.Boot(Kernel{Values: NewValues(known), Workload: &Script{}})
		code, err := m.Assemble(100, func(a *Assembler) {
			a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("ksys_read").Call("vfs_read").Return(1)
			a.Call("up_read").Call("down_read").Return(1)
			a.Return(1).Call("filp_close").Call("down_read").Return(1)
			a.Call("vfs_read").Return(1).Call("do_filp_open").Return(1).Call("kfree").Return(2).Call("do_filp_open").Return(1).Call("ktime_get").Return(4)
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		m.Hooks.Call = func(_ *CPU, f *Frame) { f.Ret = 0xdead }
		m.Hooks.Return = func(cpu *CPU, f *Frame) { got = append(got, named(ks, cpu, f)) }
		m.Spawn(TaskConfig{Comm: "reader", PID: 100, Next: func(*CPU, *Task) Stay {
			return Stay{Kind: Syscall, After: 1000, Code: code, Ret: c.ret}
		}})
		m.Run(4 * Microsecond)
		if len(got) < len(c.want) || !slices.Equal(got[:len(c.want)], c.want) {
			t.Errorf("result %d:\n%q\nwant\n%q", c.ret, got, c.want)
		}
	}
}

// named is a return as a word and its value.
func named(ks *Kallsyms, c *CPU, f *Frame) string {
	name, _, _, _, _ := ks.Lookup(f.Func)
	if f.Value == c.Time {
		return name + " now"
	}
	return fmt.Sprintf("%s %d", name, int64(f.Value))
}
