package cell

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// readLog answers a call of syslog(2), which never reaches the host's kernel.
//
// Kernel: SYSCALL_DEFINE3(syslog), kernel/printk/printk.c.
func (c *Cell) readLog(call Call) error {
	if c.syslog == nil {
		return unix.EPERM
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", call.TID), os.O_WRONLY, 0)
	if err != nil {
		return unix.EPERM
	}
	defer memory.Close() // a failed write is said by WriteAt
	if !call.Waits() {
		return nil // nobody gets the answer
	}
	text, n, err := c.syslog(int(int32(call.Args[0])), int(int32(call.Args[2])))
	if err != nil {
		return err
	}
	if len(text) > 0 {
		if _, err := memory.WriteAt(text, int64(call.Args[1])); err != nil {
			return unix.EFAULT
		}
	}
	*call.value = int64(n)
	return nil
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
