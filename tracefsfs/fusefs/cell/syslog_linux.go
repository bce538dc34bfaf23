package cell

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/tracefile"
)

// readLog answers a call of syslog(2), which never reaches the host's kernel.
//
// Kernel: SYSCALL_DEFINE3(syslog), kernel/printk/printk.c.
func (c *Cell) readLog(call Call) {
	fail := func(err error) { call.result.Error = -int32(tracefile.Errno(err)) }
	if c.syslog == nil {
		fail(unix.EPERM)
		return
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", call.TID), os.O_WRONLY, 0)
	if err != nil {
		fail(unix.EPERM)
		return
	}
	defer memory.Close() // a failed write is said by WriteAt
	if !call.Waits() {
		return // nobody gets the answer
	}
	text, n, err := c.syslog(int(int32(call.Args[0])), int(int32(call.Args[2])))
	if err == nil && len(text) > 0 {
		if _, werr := memory.WriteAt(text, int64(call.Args[1])); werr != nil {
			err = unix.EFAULT
		}
	}
	if err != nil {
		fail(err)
		return
	}
	call.result.Val = int64(n)
}

// refuseSyslog makes syslog(2) an error for the calling thread and what it starts.
func refuseSyslog() error {
	_, err := install([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: dataNr},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SYSLOG, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}, 0)
	return err
}
