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
