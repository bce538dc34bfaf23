package fusefs

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is how long this process has used CPUs.
func cpuTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
