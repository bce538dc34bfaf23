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

// Parse reads a mask of n CPUs: groups of up to 8 hexadecimal digits with commas
// between them, up to a newline or a NUL. There may be blanks around a group. Errors: EINVAL, and EOVERFLOW for
// bits beyond n or a group that is too long.
//
// Kernel: bitmap_parse, lib/bitmap-str.c.
func Parse(s string, n int) (Mask, error) {
	if end := strings.IndexAny(s, "\n\x00"); end >= 0 {
		s = s[:end]
	}
	m := make(Mask, n)
	groups := strings.Split(s, ",")
	for g, group := range groups {
		digits := strings.TrimSpace(group)
		base := 32 * (len(groups) - 1 - g)
		if digits == "" {
			return nil, fmt.Errorf("tracing_cpumask %q: a group without digits: %w", s, syscall.EINVAL)
		}
		if len(digits) > 8 {
			return nil, fmt.Errorf("tracing_cpumask %q: more than 8 digits in a group: %w", s, syscall.EOVERFLOW)
		}
		for at, c := range []byte(strings.ToLower(digits)) {
			value := strings.IndexByte("0123456789abcdef", c)
			if value < 0 {
				return nil, fmt.Errorf("tracing_cpumask %q: %w", s, syscall.EINVAL)
			}
			for bit := range 4 {
				cpu := base + 4*(len(digits)-1-at) + bit
				if value>>bit&1 == 0 {
					continue
				}
				if cpu >= n {
					return nil, fmt.Errorf("tracing_cpumask %q names CPU %d of %d: %w", s, cpu, n, syscall.EOVERFLOW)
				}
				m[cpu] = true
			}
		}
	}
	return m, nil
}
