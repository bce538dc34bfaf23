package tracer

import (
	"fmt"
	"strings"
	"syscall"
)

// cpuMask says which CPUs record: tracing_cpumask, by number.
type cpuMask []bool

func allCPUs(n int) cpuMask {
	m := make(cpuMask, n)
	for cpu := range m {
		m[cpu] = true
	}
	return m
}

// String is the mask as hexadecimal digits, in groups of 32 bits.
//
// Kernel: bitmap_string, lib/vsprintf.c.
func (m cpuMask) String() string {
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

// parseCPUMask reads a mask of n CPUs: groups of up to 8 hexadecimal digits
// with commas between, blanks around a group allowed. Bits beyond n are
// EOVERFLOW.
//
// Kernel: bitmap_parse, lib/bitmap-str.c.
func parseCPUMask(s string, n int) (cpuMask, error) {
	s, _, _ = strings.Cut(s, "\n")
	m := make(cpuMask, n)
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

func (tr *Instance) showCPUMask() string { return tr.cpumask.String() + "\n" }

// writeCPUMask takes a mask; CPUs that leave it stop recording, those that
// enter it start.
//
// Kernel: tracing_cpumask_write and tracing_set_cpumask, kernel/trace/trace.c.
func (tr *Instance) writeCPUMask(s string) error {
	mask, err := parseCPUMask(s, tr.buf.CPUs())
	if err != nil {
		return err
	}
	tr.cpumask = mask
	for cpu, on := range mask {
		tr.buf.SetCPURecording(cpu, on)
		tr.snap.buf.SetCPURecording(cpu, on)
	}
	return nil
}
