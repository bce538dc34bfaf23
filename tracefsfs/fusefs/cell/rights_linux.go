package cell

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// rights are the capabilities that a program in a cell has when it runs as root, each with
// a client that needs it. It has no others and can get none.
var rights = []struct {
	bit    int
	name   string
	client string
}{
	{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "trace-cmd record writes its file into the working folder, which may be another user's"},
	{unix.CAP_SETUID, "CAP_SETUID", "trace-cmd record --user"},
	{unix.CAP_SETGID, "CAP_SETGID", "trace-cmd record --user"},
	{unix.CAP_SYS_NICE, "CAP_SYS_NICE", "chrt, in the selftests wakeup and wakeup_rt; trace-cmd record -r"},
	{unix.CAP_PERFMON, "CAP_PERFMON", "perf ftrace does not start without it; perf_event_open is still not available"},
}

// Rights are the capabilities of a program in a cell, by their numbers.
func Rights() []int {
	var bits []int
	for _, r := range rights {
		bits = append(bits, r.bit)
	}
	return bits
}

// dropRights takes all other capabilities from the calling thread and what it executes,
// and sees to it that no program brings new ones.
func dropRights() error {
	var kept [2]uint32
	for _, r := range rights {
		kept[r.bit/32] |= 1 << (r.bit % 32)
	}
	for bit := 0; ; bit++ {
		have, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(bit), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && bit > 0 {
			break // behind the last one that this kernel has
		}
		if err != nil {
			return fmt.Errorf("read capability %d: %w", bit, err)
		}
		if have == 0 || bit < 64 && kept[bit/32]&(1<<(bit%32)) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(bit), 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", bit, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for i := range data {
		data[i].Permitted &= kept[i]
		data[i].Effective = data[i].Permitted
		data[i].Inheritable = 0
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// privileged says that this process may mount and make namespaces.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
