package workload

import (
	"fmt"

	"ftracelab/machine"
)

// guestCode adds the code of chdir, rmdir, symlinkat and of prctl for a new name, system calls
// that guests make and that are in no capture.
//
// Departure: the code of chdir, rmdir and symlinkat is written by hand, and ends where a
// kernel would call the file system. So is that of prctl.
//
// Kernel: ksys_chdir, fs/open.c; do_rmdir and do_symlinkat, fs/namei.c; prctl, kernel/sys.c.
func (w *mix) guestCode(m *machine.Machine) error {
	for _, call := range []struct {
		key   string
		build func(*machine.Assembler)
	}{
		{"sys 80", func(a *machine.Assembler) {
			lookup(a.Call("__x64_sys_chdir").Call("user_path_at")).Return(1)
			a.Call("inode_permission").Call("security_inode_permission").Return(2)
			a.Call("set_fs_pwd").Call("path_get").Return(1)
			putPath(a).Return(1)
			putPath(a).Return(1)
		}},
		{"sys 84", func(a *machine.Assembler) {
			lookup(a.Call("__x64_sys_rmdir").Call("do_rmdir"))
			a.Call("vfs_rmdir").Call("inode_permission").Call("security_inode_permission").Return(2)
			a.Call("security_inode_rmdir").Return(1).Call("d_delete").Return(2)
			putPath(a).Return(2)
		}},
		{"sys 266", func(a *machine.Assembler) {
			a.Call("__x64_sys_symlinkat").Call("getname_flags").Return(1).Call("getname_flags").Return(1).Call("do_symlinkat")
			a.Call("filename_create").Call("path_lookupat").Return(1).Call("lookup_one_qstr_excl").Return(2)
			a.Call("vfs_symlink").Call("inode_permission").Call("security_inode_permission").Return(2)
			a.Call("security_inode_symlink").Return(2)
			a.Call("done_path_create").Return(1)
			a.Call("putname").Return(1).Call("putname").Return(3)
		}},
		{renames, func(a *machine.Assembler) {
			a.Call("__x64_sys_prctl").Call("__do_sys_prctl").Call("security_task_prctl").Call("cap_task_prctl").Return(2)
			a.Call("strncpy_from_user").Return(1).Call("__set_task_comm")
			a.Call("_raw_spin_lock").State(0, 1, 0).Return(1).Probe()
			a.Call("_raw_spin_unlock").State(0, 0, 0).Return(1).Call("perf_event_comm").Return(2)
			a.Call("proc_comm_connector").Return(3)
		}},
	} {
		if err := w.callCode(m, call.key, call.build); err != nil {
			return err
		}
	}
	return nil
}

// renames is the key of the code with which a guest gives itself another name.
const renames = "guest renames"

// callCode adds the code of a system call under a key that has none. What build adds begins
// with the function that x64_sys_call calls, and returns from it.
func (w *mix) callCode(m *machine.Machine, key string, build func(*machine.Assembler)) error {
	if w.codes[key] != nil {
		return nil
	}
	code, err := m.Assemble(120, func(a *machine.Assembler) {
		build(a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("x64_sys_call"))
		a.Return(3)
	})
	if err != nil {
		return err
	}
	w.codes[key] = only(w.crossing(code))
	return nil
}

// Show makes guests able to make the system call with this number and name. It fails if the
// kernel has no such call.
//
// Departure: a system call that no scenario makes and that `exec --observe` shows calls no
// function but its own, as __x64_sys_getppid.
func (g *Guests) Show(nr int64, name string) error {
	return g.w.callCode(g.w.m, fmt.Sprintf("sys %d", nr), func(a *machine.Assembler) { a.Call("__x64_sys_" + name).Return(1) })
}

// lookup adds the code that looks up a path which the caller has passed.
func lookup(a *machine.Assembler) *machine.Assembler {
	a.Call("getname_flags").Return(1).Call("filename_lookup").Call("path_lookupat").Call("path_init").Return(1)
	a.Call("walk_component").Return(1).Call("complete_walk").Return(1).Call("terminate_walk").Return(3)
	return a.Call("putname").Return(1)
}

// putPath adds the code that releases a path.
func putPath(a *machine.Assembler) *machine.Assembler {
	return a.Call("path_put").Call("dput").Return(1).Call("mntput").Return(2)
}
