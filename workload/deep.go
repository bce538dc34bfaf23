package workload

import "ftracelab/machine"

// deepDepths are how many calls of ds_rec lie on each other, in this order. The stackmap of
// the second posting keeps 64 addresses of a stack, and that of the fourth writes a deeper
// one in full.
var deepDepths = []int{20, 40, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 70, 100, 150}

// deepFunctions are those of deepst, the module with which deep stacks were captured.
var deepFunctions = []string{"w", "ds_path_a", "ds_path_b", "ds_rec", "ds_leaf"}

// startDeep loads the module and starts a process that writes to its file in /proc. Each
// write recurses more deeply than the one before, below ds_path_a or ds_path_b, and then
// allocates an object.
//
// Departure: the object is not of a cache of the module's own.
func startDeep(m *machine.Machine) error {
	if err := m.LoadModule(machine.Module{Name: "deepst", Functions: deepFunctions}); err != nil {
		return err
	}
	w := m.Workload().(*mix)
	var codes []machine.Code
	for _, n := range deepDepths {
		for _, path := range []string{"ds_path_a", "ds_path_b"} {
			code, err := m.Assemble(120, func(a *machine.Assembler) {
				a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("x64_sys_call")
				a.Jump("__x64_sys_write").Jump("ksys_write").Call("vfs_write").Call("proc_reg_write").Call("w").Call(path)
				for range n {
					a.Call("ds_rec")
				}
				a.Call("ds_leaf").Call("kmem_cache_alloc_noprof").Trace(machine.EvKmemCacheAlloc, 0).Return(n + 11)
			})
			if err != nil {
				return err
			}
			codes = append(codes, w.crossing(code))
		}
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
