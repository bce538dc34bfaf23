package cell

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The numbers of a cell's programs. They begin with one of five digits, because scripts
// look for numbers within numbers.
const (
	firstPID = 10_000
	pidLimit = 65_536
)

// reserved is the number below which the kernel gives none when it starts again.
//
// Kernel: RESERVED_PIDS, kernel/pid.c.
const reserved = 300

// initialNamespace is the first PID namespace of every computer, as /proc names it.
//
// Kernel: PROC_PID_INIT_INO, include/linux/proc_ns.h.
const initialNamespace = "pid:[4026531836]"

// PIDs gives the numbers that a cell's programs can have: from first to below limit. They
// live in a namespace of their own, with a limit of its own where the kernel has such
// limits. Only the first process of the cell has a smaller number, 1.
//
// Kernel: alloc_pid, kernel/pid.c; since Linux 6.14, pid_max is a namespace's.
func PIDs() (first, limit int, err error) {
	first, limit = reserved, pidLimit
	if !hasOwnLimit() {
		limit, err = readLimit()
	}
	if _, missing := os.Stat(lastFile); missing != nil {
		first = 1 // the numbers begin there, see setPIDs
	}
	return first, limit, err
}

// HostPIDs gives the numbers that the processes which this process sees can have: from
// first to below limit. In the first namespace of a computer, numbers below 300 are the
// kernel's own threads and what was started first.
func HostPIDs() (first, limit int, err error) {
	first = 1
	if name, err := os.Readlink("/proc/self/ns/pid"); err == nil && name == initialNamespace {
		first = reserved
	}
	limit, err = readLimit()
	return first, limit, err
}

// CPUs is how many CPUs a machine needs so that it has each CPU on which a program of a
// cell may run: programs look on which CPU they are, and bind themselves to one.
func CPUs() int {
	var may unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil {
		return runtime.NumCPU()
	}
	n := 0
	for cpu := range len(may) * bits.UintSize {
		if may.IsSet(cpu) {
			n = cpu + 1
		}
	}
	return n
}

// The files of a PID namespace: its limit, and the number that it gave last. A kernel
// without CONFIG_CHECKPOINT_RESTORE lacks the second.
const (
	limitFile = "/proc/sys/kernel/pid_max"
	lastFile  = "/proc/sys/kernel/ns_last_pid"
)

func readLimit() (int, error) {
	text, err := os.ReadFile(limitFile)
	if err != nil {
		return 0, err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", limitFile, err)
	}
	return limit, nil
}

// hasOwnLimit reports whether each PID namespace has a limit of its own. On older kernels
// there is one for the whole computer, which a cell must not touch.
func hasOwnLimit() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	return atLeast(unix.ByteSliceToString(name.Release[:]), 6, 14)
}

// atLeast compares the first two numbers of a kernel's release.
func atLeast(release string, major, minor int) bool {
	var have [2]int
	if n, _ := fmt.Sscanf(release, "%d.%d", &have[0], &have[1]); n != 2 {
		return false
	}
	return have[0] > major || have[0] == major && have[1] >= minor
}

// setPIDs sets the numbers of a cell's programs, in the cell's own /proc.
func setPIDs() error {
	if hasOwnLimit() {
		if err := os.WriteFile(limitFile, []byte(strconv.Itoa(pidLimit)), 0); err != nil {
			return fmt.Errorf("pids of its own: %w", err)
		}
	}
	err := os.WriteFile(lastFile, []byte(strconv.Itoa(firstPID-1)), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("pids of its own: %w", err)
	}
	return nil
}
