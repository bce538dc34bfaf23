package probe

import (
	"math"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// parseUint32 reads a number of 32 bits.
//
// Kernel: kstrtouint, lib/kstrtox.c.
func parseUint32(s string) (uint32, error) {
	n, err := tracefile.ParseUlong(s, 0)
	if err == nil && n > math.MaxUint32 {
		err = syscall.ERANGE
	}
	return uint32(n), err
}

// leadingNumber reads the number at the beginning of s, 0 if there is none, and returns
// the rest of s. A number that does not fit 64 bits wraps around.
//
// Kernel: simple_strtoul, lib/vsprintf.c.
func leadingNumber(s string, base uint64) (n uint64, rest string) {
	if base == 0 {
		base = 10
		if s != "" && s[0] == '0' {
			base = 8
			if len(s) > 2 && s[1]|0x20 == 'x' && strings.IndexByte("0123456789abcdef", s[2]|0x20) >= 0 {
				base, s = 16, s[2:]
			}
		}
	}
	for s != "" {
		d := uint64(strings.IndexByte("0123456789abcdef", lower(s[0])))
		if d >= base {
			break
		}
		n, s = n*base+d, s[1:]
	}
	return n, s
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// splitOffset splits "SYMBOL+OFFS" or "SYMBOL-OFFS".
//
// Kernel: traceprobe_split_symbol_offset, kernel/trace/trace_probe.c.
func splitOffset(s string) (symbol string, offset int64, err error) {
	i := strings.IndexAny(s, "+-")
	if i < 0 {
		return s, 0, nil
	}
	offset, err = tracefile.ParseLong(s[i:], 0)
	return s[:i], offset, err
}
