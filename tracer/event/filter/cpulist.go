package filter

import (
	"math/bits"
	"strings"
)

// cpuMask is a set of CPUs: CPU n is bit n&7 of byte n/8, as in a cpumask_t.
type cpuMask []byte

func (m cpuMask) has(cpu int) bool { return cpu>>3 < len(m) && m[cpu>>3]>>(cpu&7)&1 != 0 }

// single returns the CPU of a set that has just one.
func (m cpuMask) single() (cpu int, ok bool) {
	weight := 0
	for i := len(m) - 1; i >= 0; i-- {
		if m[i] != 0 {
			cpu = 8*i + bits.TrailingZeros8(m[i])
			weight += bits.OnesCount8(m[i])
		}
	}
	return cpu, weight == 1
}

// at is byte i of the first n CPUs of a mask that may be longer or shorter.
func (m cpuMask) at(i, n int) byte {
	switch {
	case i >= len(m):
		return 0
	case n-8*i < 8:
		return m[i] & (1<<(n-8*i) - 1)
	}
	return m[i]
}

// equal and intersects compare the first n CPUs.

func (m cpuMask) equal(other cpuMask, n int) bool {
	for i := range (n + 7) / 8 {
		if m.at(i, n) != other.at(i, n) {
			return false
		}
	}
	return true
}

func (m cpuMask) intersects(other cpuMask, n int) bool {
	for i := range (n + 7) / 8 {
		if m.at(i, n)&other.at(i, n) != 0 {
			return true
		}
	}
	return false
}

// region is a part of a list: of start…end the first used of every group CPUs.
type region struct {
	start, end, used, group uint32
}

// parseCPUList reads a list for n CPUs, such as "0-3,8" or "0-N:1/2" for every
// second one. Commas and blanks separate its parts, "all" means all CPUs, and N
// is the last CPU; a line break right after a number ends the list.
//
// Kernel: bitmap_parselist, lib/bitmap-str.c.
func parseCPUList(s string, n int) (cpuMask, bool) {
	mask := make(cpuMask, (max(n, 0)+7)/8)
	for {
		for s != "" && isDivider(s[0]) {
			s = s[1:]
		}
		if s == "" {
			return mask, true
		}
		r, rest, ok := parseRegion(s, uint32(n-1))
		if !ok || r.start > r.end || r.group == 0 || r.used > r.group || int64(r.end) >= int64(n) {
			return nil, false
		}
		// If a group is so long that the sum wraps, it leads back to CPUs
		// before start.
		for start := r.start; start <= r.end; start += r.group {
			for cpu := start; cpu < start+min(r.end-start+1, r.used); cpu++ {
				mask[cpu/8] |= 1 << (cpu % 8)
			}
		}
		s = rest
	}
}

func isDivider(c byte) bool { return c == ',' || isSpace(c) }

// parseRegion reads one region of a list whose last CPU is last.
func parseRegion(s string, last uint32) (r region, rest string, ok bool) {
	if len(s) >= 3 && strings.EqualFold(s[:3], "all") {
		r.end, rest = last, s[3:]
	} else {
		if r.start, rest, ok = parseCPU(s, last); !ok {
			return r, rest, false
		}
		r.end = r.start
		if rest != "" && rest[0] == '-' {
			if r.end, rest, ok = parseCPU(rest[1:], last); !ok {
				return r, rest, false
			}
		} else if rest != "" && !isDivider(rest[0]) {
			return r, rest, false
		}
	}
	if rest == "" || isDivider(rest[0]) {
		r.used, r.group = r.end+1, r.end+1
		if strings.HasPrefix(rest, "\n") {
			rest = ""
		}
		return r, rest, true
	}
	if rest[0] != ':' {
		return r, rest, false
	}
	if r.used, rest, ok = parseCPU(rest[1:], last); !ok || rest == "" || rest[0] != '/' {
		return r, rest, false
	}
	r.group, rest, ok = parseCPU(rest[1:], last)
	return r, rest, ok
}

// parseCPU reads a number of 32 bits or N.
func parseCPU(s string, last uint32) (cpu uint32, rest string, ok bool) {
	if s != "" && s[0] == 'N' {
		return last, s[1:], true
	}
	digits, v := 0, uint64(0)
	for digits < len(s) && isDigit(s[digits]) {
		v = v*10 + uint64(s[digits]-'0')
		if v > 1<<32-1 {
			return 0, s, false
		}
		digits++
	}
	return uint32(v), s[digits:], digits > 0
}
