package fusefs

import (
	"bytes"
	"context"
	"os"
	"strconv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/tracefile"
)

// context is that of a request: it is done when the caller is interrupted, and knows who
// the caller is.
func (m *Mount) context(cancel <-chan struct{}, h *fuse.InHeader) context.Context {
	return tracefile.WithCaller(&fuse.Context{Cancel: cancel}, func() tracefile.Caller {
		c := callerAt(int(h.Pid))
		if c.PID = int(h.Pid); m.cfg.PID != nil {
			c.PID = m.cfg.PID(c.PID)
		}
		c.Dir = func() string {
			dir, err := os.Readlink("/proc/" + strconv.Itoa(int(h.Pid)) + "/cwd")
			if err != nil {
				return ""
			}
			return dir
		}
		return c
	})
}

// callerAt is what the kernel tells of a thread, which waits for this process: its name,
// and on which CPU of this computer it ran last. What it does not tell is zero.
func callerAt(thread int) (c tracefile.Caller) {
	var may unix.CPUSet
	if unix.SchedGetaffinity(thread, &may) == nil {
		c.Pinned = may.Count() == 1
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/stat")
	if err != nil {
		c.Pinned = false
		return c
	}
	c.Comm, c.CPU = parseStat(text)
	return c
}

// statCPU is how many words come after the name in /proc/PID/stat before the number of the
// CPU.
//
// Kernel: do_task_stat, fs/proc/array.c.
const statCPU = 36

// parseStat reads /proc/PID/stat. The name is in parentheses, and may have some itself.
func parseStat(text []byte) (comm string, cpu int) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return "", 0
	}
	words := bytes.Fields(text[end+1:])
	if len(words) <= statCPU {
		return "", 0
	}
	cpu, err := strconv.Atoi(string(words[statCPU]))
	if err != nil || cpu < 0 {
		cpu = 0
	}
	return string(text[begin+1 : end]), cpu
}

// maxPath is how long a path can be.
//
// Kernel: PATH_MAX, include/uapi/linux/limits.h.
const maxPath = 4096

// TextAt is the text at an address of a thread's memory, such as the path that it gives to a
// system call; "" if it cannot be read.
func TextAt(tid int, addr uint64) string {
	var buf [maxPath]byte
	n := 0
	for n < len(buf) {
		// Not beyond a page: the next one may not be there.
		size := min(len(buf)-n, maxPath-int((addr+uint64(n))%maxPath))
		local := []unix.Iovec{{Base: &buf[n]}}
		local[0].SetLen(size)
		got, err := unix.ProcessVMReadv(tid, local, []unix.RemoteIovec{{Base: uintptr(addr) + uintptr(n), Len: size}}, 0)
		if err != nil || got <= 0 {
			break
		}
		if end := bytes.IndexByte(buf[n:n+got], 0); end >= 0 {
			return string(buf[:n+end])
		}
		n += got
	}
	return string(buf[:n])
}
