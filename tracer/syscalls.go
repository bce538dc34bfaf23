package tracer

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// traceSysEnter is the probe of raw_syscalls:sys_enter, which the events of the
// syscalls system share.
//
// Kernel: ftrace_syscall_enter, kernel/trace/trace_syscalls.c.
func (ft *Ftrace) traceSysEnter(c *machine.CPU, tp *machine.SysEnter) {
	ft.recs.sysEnter = events.SysEnterRecord{ID: tp.NR, Args: tp.Args}
	emit(ft, c, events.SysEnter, &ft.recs.sysEnter)
	if t := ft.syscalls.enter[tp.NR]; t != nil && ft.listening[t.ID] {
		ft.emitSyscall(c, t, tp.NR, tp.Args[:])
	}
}

// Kernel: ftrace_syscall_exit, kernel/trace/trace_syscalls.c.
func (ft *Ftrace) traceSysExit(c *machine.CPU, tp *machine.SysExit) {
	ft.recs.sysExit = events.SysExitRecord{ID: tp.NR, Ret: tp.Ret}
	emit(ft, c, events.SysExit, &ft.recs.sysExit)
	if t := ft.syscalls.exit[tp.NR]; t != nil && ft.listening[t.ID] {
		ft.emitSyscall(c, t, tp.NR, []uint64{uint64(tp.Ret)})
	}
}

// emitSyscall records a syscalls event: the number of the call and as many
// words as the event has fields.
func (ft *Ftrace) emitSyscall(c *machine.CPU, t *event.Type, nr int64, words []uint64) {
	h := common(c)
	ft.scratch = events.AppendSyscall(ft.scratch[:0], h, t, int32(nr), words)
	ft.emitBytes(c, t, h, ft.scratch)
}

// syscallEvents finds the events of a system call by its number.
type syscallEvents struct {
	enter, exit map[int64]*event.Type
}

func newSyscallEvents(types *event.Table) syscallEvents {
	s := syscallEvents{map[int64]*event.Type{}, map[int64]*event.Type{}}
	for name, nr := range syscallNumbers {
		if t := types.ByName("syscalls", "sys_enter_"+name); t != nil {
			s.enter[nr] = t
		}
		if t := types.ByName("syscalls", "sys_exit_"+name); t != nil {
			s.exit[nr] = t
		}
	}
	return s
}

// syscallNumbers are the x86-64 numbers of the calls the catalogue has events
// for.
//
// Kernel: arch/x86/entry/syscalls/syscall_64.tbl.
var syscallNumbers = map[string]int64{
	"read": 0, "write": 1, "open": 2, "close": 3, "newstat": 4, "newfstat": 5, "newlstat": 6, "poll": 7,
	"lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
	"ioctl": 16, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23,
	"sched_yield": 24, "dup": 32, "dup2": 33, "pause": 34, "nanosleep": 35, "getpid": 39, "sendfile64": 40,
	"socket": 41, "connect": 42, "accept": 43, "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47,
	"bind": 49, "listen": 50, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "exit": 60, "wait4": 61,
	"kill": 62, "newuname": 63, "fcntl": 72, "fsync": 74, "ftruncate": 77, "getcwd": 79, "chdir": 80, "rename": 82,
	"mkdir": 83, "rmdir": 84, "unlink": 87, "symlink": 88, "readlink": 89, "gettimeofday": 96, "futex": 202,
	"getdents64": 217, "set_tid_address": 218, "clock_gettime": 228, "clock_nanosleep": 230, "exit_group": 231,
	"epoll_wait": 232, "epoll_ctl": 233, "openat": 257, "mkdirat": 258, "newfstatat": 262, "unlinkat": 263,
	"symlinkat": 266, "readlinkat": 267, "pselect6": 270, "ppoll": 271, "set_robust_list": 273, "pipe2": 293,
	"prlimit64": 302, "getrandom": 318, "execveat": 322, "statx": 332, "rseq": 334, "clone3": 435,
}
