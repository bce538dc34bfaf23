// Package cpumask reads and prints masks of CPUs, in the form of digits
// (tracing_cpumask) and of lists (osnoise/cpus).
package cpumask

import (
	"fmt"
	"strings"
	"syscall"
)

// Mask is a set of CPUs: it says for each CPU number whether the CPU is in it.
type Mask []bool

// All gives the mask of n CPUs that has all of them.
func All(n int) Mask {
	m := make(Mask, n)
	for cpu := range m {
		m[cpu] = true
	}
	return m
}

// String prints the mask in hexadecimal digits, in groups of 32 bits.
//
// Kernel: bitmap_string, lib/vsprintf.c.
func (m Mask) String() string {
	var text strings.Builder
	for word := (len(m) - 1) / 32; word >= 0; word-- {
		var bits uint32
		cpus := m[word*32 : min(len(m), word*32+32)]
		for n, on := range cpus {
			if on {
				bits |= 1 << n
			}
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "%0*x", (len(cpus)+3)/4, bits)
	}
	return text.String()
}

// Parse reads a mask of n CPUs: groups of up to 8 hexadecimal digits, each for 32 CPUs, the last
// one for the first. A newline or a NUL ends the text. Commas and blanks lie between the groups,
// any number of them, and may be at both ends, so that a text without digits is the empty mask.
// Errors: EINVAL for other characters, and EOVERFLOW for bits or groups beyond n and for a group
// that is too long. The last group is looked at first.
//
// Kernel: bitmap_parse, lib/bitmap-str.c.
func Parse(s string, n int) (Mask, error) {
	if end := strings.IndexAny(s, "\n\x00"); end >= 0 {
		s = s[:end]
	}
	m := make(Mask, n)
	rest := s
	for base := 0; ; base += 32 {
		for rest != "" && betweenRegions(rest[len(rest)-1]) {
			rest = rest[:len(rest)-1]
		}
		if rest == "" {
			return m, nil
		}
		if base >= n {
			return nil, fmt.Errorf("%q: too many groups for %d CPUs: %w", s, n, syscall.EOVERFLOW)
		}
		bits, before, err := lastGroup(rest)
		for bit := 0; bit < 32 && err == nil; bit++ {
			switch {
			case bits>>bit&1 == 0:
			case base+bit < n:
				m[base+bit] = true
			default:
				err = syscall.EOVERFLOW
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q as a mask of %d CPUs: %w", s, n, err)
		}
		rest = before
	}
}

// lastGroup reads the group of digits at the end of s, and returns what is before it. Before a
// group of 8 digits, the kernel takes any one character for a separator.
//
// Kernel: bitmap_get_x32_reverse.
func lastGroup(s string) (bits uint32, before string, err error) {
	for shift := 0; shift < 32; shift += 4 {
		value, digit := hexDigit(s[len(s)-1])
		if !digit {
			return 0, "", syscall.EINVAL
		}
		bits |= value << shift
		s = s[:len(s)-1]
		if s == "" || betweenRegions(s[len(s)-1]) {
			return bits, s, nil
		}
	}
	if _, digit := hexDigit(s[len(s)-1]); digit {
		return 0, "", syscall.EOVERFLOW
	}
	return bits, s[:len(s)-1], nil
}

// Kernel: hex_to_bin, lib/hexdump.c.
func hexDigit(c byte) (value uint32, ok bool) {
	at := strings.IndexByte("0123456789abcdefABCDEF", c)
	if at >= 16 {
		at -= 6
	}
	return uint32(at), at >= 0
}
