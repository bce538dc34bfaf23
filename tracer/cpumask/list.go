package cpumask

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
)

// List prints the mask as numbers and ranges: 0-2,5.
//
// Kernel: bitmap_list_string, lib/vsprintf.c.
func (m Mask) List() string {
	var parts []string
	for from := 0; from < len(m); from++ {
		if !m[from] {
			continue
		}
		to := from
		for to+1 < len(m) && m[to+1] {
			to++
		}
		if to == from {
			parts = append(parts, strconv.Itoa(from))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", from, to))
		}
		from = to
	}
	return strings.Join(parts, ",")
}

// cpuRegion is a part of a list of CPUs. From start to end, it has the first used CPUs
// of each group.
//
// Kernel: struct region, lib/bitmap-str.c.
type cpuRegion struct{ start, end, used, group uint32 }

// ParseList reads a list of n CPUs:
//
//	2,5     two of them; blanks are as good as commas
//	0-3     a range
//	0-9:2/3 of each three the first two: 0,1,3,4,6,7,9
//	all     all of them, in any case, all:1/2 every other
//	N       the last one, wherever a number is
//
// A newline behind a region without a colon ends the list. Errors: EINVAL for something
// that is no region, ERANGE for a CPU that does not exist, EOVERFLOW for a number of
// more than 32 bits.
//
// Kernel: bitmap_parselist, lib/bitmap-str.c.
func ParseList(s string, n int) (Mask, error) {
	s, _, _ = strings.Cut(s, "\x00")
	m := make(Mask, n)
	for {
		for s != "" && betweenRegions(s[0]) {
			s = s[1:]
		}
		if s == "" {
			return m, nil
		}
		r, rest, err := parseCPURegion(s, uint32(n-1))
		switch {
		case err != nil:
		case r.start > r.end || r.group == 0 || r.used > r.group:
			err = syscall.EINVAL
		case int64(r.end) >= int64(n):
			err = syscall.ERANGE
		}
		if err != nil {
			return nil, fmt.Errorf("%q in a list of %d CPUs: %w", s, n, err)
		}
		for at := int(r.start); at <= int(r.end); at += int(r.group) {
			for cpu := at; cpu <= int(r.end) && cpu < at+int(r.used); cpu++ {
				m[cpu] = true
			}
		}
		s = rest
	}
}

// betweenRegions reports whether c may stand before a region.
func betweenRegions(c byte) bool { return c == ',' || isSpace(c) }

// isSpace reports whether c is a blank for the kernel.
//
// Kernel: isspace, include/linux/ctype.h.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0xa0 }

// parseCPURegion reads one region and returns the text behind it.
//
// Kernel: bitmap_parse_region.
func parseCPURegion(s string, last uint32) (r cpuRegion, rest string, err error) {
	if len(s) >= 3 && strings.EqualFold(s[:3], "all") {
		r.end, s = last, s[3:]
	} else {
		if r.start, s, err = parseCPU(s, last); err != nil {
			return r, "", err
		}
		if r.end = r.start; !endsRegion(s) {
			if s[0] != '-' {
				return r, "", syscall.EINVAL
			}
			if r.end, s, err = parseCPU(s[1:], last); err != nil {
				return r, "", err
			}
		}
	}
	if endsRegion(s) {
		r.used, r.group = r.end+1, r.end+1
		if s != "" && s[0] == '\n' {
			s = ""
		}
		return r, s, nil
	}
	if s[0] != ':' {
		return r, "", syscall.EINVAL
	}
	if r.used, s, err = parseCPU(s[1:], last); err != nil {
		return r, "", err
	}
	if s == "" || s[0] != '/' {
		return r, "", syscall.EINVAL
	}
	r.group, s, err = parseCPU(s[1:], last)
	return r, s, err
}

func endsRegion(s string) bool { return s == "" || betweenRegions(s[0]) }

// parseCPU reads a number, or N, which stands for the last CPU.
//
// Kernel: bitmap_getnum.
func parseCPU(s string, last uint32) (n uint32, rest string, err error) {
	if strings.HasPrefix(s, "N") {
		return last, s[1:], nil
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		return 0, "", syscall.EINVAL
	}
	v, err := strconv.ParseUint(s[:digits], 10, 64)
	if err != nil || v > math.MaxUint32 {
		return 0, "", syscall.EOVERFLOW
	}
	return uint32(v), s[digits:], nil
}
