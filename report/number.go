package report

import (
	"fmt"
	"strconv"
)

// Group prints n with commas between the thousands.
func Group(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes prints a number of bytes for people, in powers of 1024.
func Bytes(n int64) string {
	if n < 0 {
		return "-" + binaryBytes(uint64(-n))
	}
	return binaryBytes(uint64(n))
}

func binaryBytes(n uint64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
