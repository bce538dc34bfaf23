package plugin

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// Bounded makes a file with a number that must not be less than lo or more than hi. A
// nil limit does not count.
//
// Kernel: trace_min_max_read and trace_min_max_write, kernel/trace/trace.c.
func Bounded(ft Ftrace, name string, val, lo, hi *uint64) tracefile.Node {
	return ft.Value(name, 0o640,
		func() string { return strconv.FormatUint(*val, 10) + "\n" },
		func(s string) error {
			n, err := tracefile.ParseUserUlong(s, 10)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if lo != nil && n < *lo || hi != nil && n > *hi {
				return fmt.Errorf("%s: %d is out of range: %w", name, n, syscall.EINVAL)
			}
			*val = n
			return nil
		})
}
