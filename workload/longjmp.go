package workload

import "ftracelab/machine"

// startLongjmp loads the module ljst and starts a process that writes to its file in
// /proc. lj_try calls lj_a, which calls lj_b, which calls lj_c. Every other time lj_c
// gives up: all three are left at once and lj_try goes on with lj_catch. A return hook
// that waits for lj_a, lj_b or lj_c then waits in vain.
//
// Departure: no kernel code does that. A kernel that is traced would not survive it.
func startLongjmp(m *machine.Machine) error {
	if err := m.LoadModule(machine.Module{Name: "ljst", Functions: []string{"lj_write", "lj_try", "lj_a", "lj_b", "lj_c", "lj_catch"}}); err != nil {
		return err
	}
	w := m.Workload().(*mix)
	var codes []machine.Code
	for _, fails := range []bool{true, false} {
		code, err := m.Assemble(120, func(a *machine.Assembler) {
			a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("x64_sys_call")
			a.Jump("__x64_sys_write").Jump("ksys_write").Call("vfs_write").Call("proc_reg_write")
			a.Call("lj_write").Call("lj_try").Call("lj_a").Call("lj_b").Call("lj_c")
			if fails {
				a.Unwind(3).Call("lj_catch")
			}
			a.Call("kmem_cache_alloc_noprof").Trace(machine.EvKmemCacheAlloc, 0).Return(1)
			if fails {
				a.Return(10)
			} else {
				a.Return(12)
			}
		})
		if err != nil {
			return err
		}
		codes = append(codes, w.crossing(code))
	}
	round := 0
	m.Spawn(machine.TaskConfig{Comm: "bash", CPU: 1, Memory: newUserStack(), Next: func(_ *machine.CPU, t *machine.Task) machine.Stay {
		round++
		return machine.Stay{
			Kind: machine.Syscall, After: 3 * machine.Millisecond, NR: sysWrite, Args: [6]uint64{1, textBase, 2}, Ret: 2,
			Code: codes[round%len(codes)], User: w.userAt(t, round, sysWrite),
		}
	}})
	return nil
}
