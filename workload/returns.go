package workload

import (
	"strings"

	"ftracelab/machine"
)

// Return is the value that a function returned most often in the captures.
type Return struct{ Func, Value uint64 }

// handsThrough are functions that return the result of the system call that they are a
// part of. The functions of the system calls themselves are not listed.
var handsThrough = strings.Fields(`
	x64_sys_call
	ksys_read vfs_read pipe_read shmem_file_read_iter sock_read_iter generic_file_read_iter filemap_read proc_reg_read proc_reg_read_iter
	ksys_write vfs_write pipe_write shmem_file_write_iter generic_perform_write sock_write_iter proc_reg_write
	do_sys_openat2 do_fcntl ksys_dup3 do_dup2 ksys_lseek do_pipe2 get_random_bytes_user
	vfs_fstatat vfs_fstat vfs_statx do_statx do_faccessat do_readlinkat vfs_readlink
	do_mkdirat do_unlinkat do_renameat2 do_symlinkat do_utimes vfs_utimes chmod_common ksys_fchown path_getxattr
	user_statfs fd_statfs ksys_fadvise64_64
	ksys_mmap_pgoff vm_mmap_pgoff do_mmap mmap_region do_mprotect_pkey do_madvise __vm_munmap do_vmi_munmap do_vmi_align_munmap
	kernel_clone kernel_wait4 do_wait __do_wait do_execveat_common.isra.0 bprm_execve do_arch_prctl_64
	do_sigaction sigprocmask do_prlimit do_sys_poll do_futex common_nsleep hrtimer_nanosleep do_nanosleep
	__sys_getsockname __sys_socketpair`)

// handsErrors are functions that return the error of the system call that they are a
// part of. If there is no error, they return what the other function returns.
var handsErrors = map[string]string{
	"do_filp_open": "file_close_fd", "path_openat": "file_close_fd",
	"user_path_at": "filename_lookup", "filename_lookup": "filename_lookup", "path_lookupat": "path_lookupat",
}

// clocks are functions that return the time.
var clocks = strings.Fields(`ktime_get ktime_get_update_offsets_now`)

// values says what functions return: the result of the system call, the time, the value
// that the captures show most often, or nothing that is known.
//
// Departure: if a function returns a pointer, it is one from the captures. Nothing lies
// at that address here.
func (m *Model) values(ks *machine.Kallsyms) *machine.Values {
	known := make(map[uint64]machine.Value, len(m.Returns))
	for _, r := range m.Returns {
		known[r.Func] = machine.Value{Word: r.Value}
	}
	set := func(name string, v machine.Value) {
		if sym, ok := ks.ByName(name); ok {
			known[sym.Addr] = v
		}
	}
	for _, site := range m.Sites {
		if sym, ok := ks.At(site.Func); ok && isSyscall(sym.Name) {
			known[site.Func] = machine.Value{Kind: machine.ValueResult}
		}
	}
	for _, name := range handsThrough {
		set(name, machine.Value{Kind: machine.ValueResult})
	}
	set("syscall_trace_enter", machine.Value{Kind: machine.ValueNumber})
	for _, name := range clocks {
		set(name, machine.Value{Kind: machine.ValueTime})
	}
	for name, other := range handsErrors {
		sym, _ := ks.ByName(other)
		set(name, machine.Value{Kind: machine.ValueFailure, Word: known[sym.Addr].Word})
	}
	return machine.NewValues(known)
}

func isSyscall(name string) bool {
	return strings.HasPrefix(name, "__x64_sys_") || strings.HasPrefix(name, "__do_sys_")
}
