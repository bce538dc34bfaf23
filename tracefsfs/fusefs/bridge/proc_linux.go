package bridge

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
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

// statusOf is a number of /proc/PID/status, 0 if there is none.
func statusOf(pid int, field string) int {
	text, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

func parentOf(pid int) int { return statusOf(pid, "PPid") }

// processOf is the process that a thread belongs to, itself if nobody knows.
func processOf(tid int) int {
	if pid := statusOf(tid, "Tgid"); pid != 0 {
		return pid
	}
	return tid
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
