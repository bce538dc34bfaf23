package stackmap

import (
	"fmt"
	"strconv"
	"strings"
)

const bootParameter = "ftrace_stackmap.bits"

// ParseBits reads the value of the boot parameter ftrace_stackmap.bits and
// clamps it to 10…18. The number may be decimal, hexadecimal with 0x, or octal
// with a leading 0; a plus sign and one newline are allowed, a minus sign is not.
//
// For anything else it returns the default of 14 with an error that wraps
// ErrInvalid, because the kernel calls the option malformed and boots with 14.
//
// Kernel: kstrtouint with base 0, lib/kstrtox.c.
func ParseBits(s string) (bits int, err error) {
	digits := strings.TrimPrefix(strings.TrimSuffix(s, "\n"), "+")
	base := 10
	switch {
	case len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X"):
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0"):
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return DefaultBits, fmt.Errorf("%s=%q: %w", bootParameter, s, ErrInvalid)
	}
	return clampBits(int(min(n, MaxBits))), nil
}

// BootBits reads the capacity from a kernel command line. It returns 14 if the
// line has no such parameter; if there are several, the last counts. Dashes and
// underscores in the name are the same.
//
// Errors: ErrInvalid, with the bits to go on with, for a malformed value, for
// which the kernel logs "Malformed early option 'ftrace_stackmap.bits'";
// ErrNoValue for the name without "=", with which no such kernel boots.
//
// Kernel: early_param("ftrace_stackmap.bits"), trace_stackmap.c.
func BootBits(cmdline string) (bits int, err error) {
	bits = DefaultBits
	for word := range strings.FieldsSeq(cmdline) {
		name, value, found := strings.Cut(word, "=")
		if strings.ReplaceAll(name, "-", "_") != bootParameter {
			continue
		}
		if !found {
			return 0, ErrNoValue
		}
		n, perr := ParseBits(value)
		if perr != nil {
			err = perr
			continue
		}
		bits = n
	}
	return bits, err
}
