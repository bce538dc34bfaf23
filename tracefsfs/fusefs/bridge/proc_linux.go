package bridge

import (
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ftracelab/machine"
	"ftracelab/workload"
)

func proc(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// commOf is a process's name, "" if it has ended.
func commOf(pid int) string {
	text, err := os.ReadFile(proc(pid, "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// exeOf is the path of a process's program, "" if it has ended.
func exeOf(pid int) string {
	path, err := os.Readlink(proc(pid, "exe"))
	if err != nil {
		return ""
	}
	return path
}

// cwdOf is the folder that a process is in, "" if it has ended.
func cwdOf(pid int) string {
	path, err := os.Readlink(proc(pid, "cwd"))
	if err != nil {
		return ""
	}
	return path
}

// program is what a process runs.
type program struct {
	comm, path string
	call       workload.Syscall // the call that executed it, if that was observed
	policy     machine.Policy
	prio       int
}

// programOf is the program that a process has begun to run by a call, which is empty if it
// was not observed. Of a process that has ended already it knows what the call says, or
// what execs does, which may be nothing.
//
// Kernel: begin_new_exec, fs/exec.c: a task is called by the file that was executed.
func programOf(pid int, execs *execs, call workload.Syscall) program {
	p := program{comm: commOf(pid), path: exeOf(pid), call: call}
	p.policy, p.prio = schedOf(pid)
	name := execs.take(pid)
	if call.Path != "" {
		name = call.Path
	}
	if name != "" && (p.comm == "" || p.path == "") {
		p.path = name
		p.comm = path.Base(name)
		p.comm = p.comm[:min(len(p.comm), maxComm)]
	}
	return p
}

// maxComm is how long a task's name can be.
//
// Kernel: TASK_COMM_LEN, include/linux/sched.h, with a NUL.
const maxComm = 15

// statusOf is a number of /proc/PID/status, the last if there are more, 0 if there is
// none.
func statusOf(pid int, field string) int {
	text, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value[strings.LastIndexByte(value, '\t')+1:]))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

func parentOf(pid int) int { return statusOf(pid, "PPid") }

// innermost is the number that a process or a thread has in its own PID namespace, 0 if
// it has ended.
//
// Kernel: task_state, fs/proc/array.c: NSpid, which ends with that number.
func innermost(pid int) int { return statusOf(pid, "NSpid") }

// processOf is the process that a thread belongs to, itself if nobody knows.
func processOf(tid int) int {
	if pid := statusOf(tid, "Tgid"); pid != 0 {
		return pid
	}
	return tid
}

// schedOf is a process's scheduling policy and kernel priority, 0 if it has ended.
//
// Kernel: do_task_stat, fs/proc/array.c: fields 18, 40 and 41 of /proc/PID/stat.
func schedOf(pid int) (policy machine.Policy, prio int) {
	text, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return 0, 0
	}
	_, rest, ok := strings.Cut(string(text), ") ") // behind the name, which may hold anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < 39 {
		return 0, 0
	}
	number := func(field int) int {
		n, err := strconv.Atoi(fields[field-3])
		if err != nil {
			return 0
		}
		return n
	}
	if rt := number(40); rt > 0 {
		return machine.Policy(number(41)), machine.RTPrio(rt)
	}
	if machine.Policy(number(41)) == machine.Deadline {
		return machine.Deadline, -1
	}
	return machine.Normal, 100 + number(18)
}

// ownThread says that tid is a thread of this process.
func ownThread(tid int) bool { return unix.Tgkill(os.Getpid(), tid, 0) == nil }

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
