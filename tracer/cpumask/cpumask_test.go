package cpumask

import (
	"errors"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Masks and what they are; those of 2 CPUs are from a real 6.12, those of 40 from its source.
//
// Kernel: bitmap_parse, lib/bitmap-str.c.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		cpus int
		want string
		err  error
	}{
		{"3\n", 2, "3", nil},
		{"1,\n", 2, "1", nil},
		{",1\n", 2, "1", nil},
		{"1,,", 2, "1", nil},
		{" , 1 ,\n", 2, "1", nil},
		{"\n", 2, "0", nil},
		{" ", 2, "0", nil},
		{",", 2, "0", nil},
		{"1\t\n2", 2, "1", nil},
		{"1,\n,3", 2, "1", nil},
		{"1\x00x", 2, "1", nil},
		{"1\xa0", 2, "1", nil},
		{"\xa01", 2, "1", nil},
		{"00000001", 2, "1", nil},
		{"0,1", 2, "", syscall.EOVERFLOW},
		{"1 1", 2, "", syscall.EOVERFLOW},
		{"000000001", 2, "", syscall.EOVERFLOW},
		{"100000001", 2, "", syscall.EOVERFLOW},
		{"4", 2, "", syscall.EOVERFLOW},
		{"f0000000", 2, "", syscall.EOVERFLOW},
		{"1x", 2, "", syscall.EINVAL},
		{"x1", 2, "", syscall.EINVAL},
		{"1-", 2, "", syscall.EINVAL},
		{"0x1", 2, "", syscall.EINVAL},
		{"\x10", 2, "", syscall.EINVAL},
		{"x00000001", 2, "1", nil},
		{"xx00000001", 2, "", syscall.EOVERFLOW},
		{"1", 40, "00,00000001", nil},
		{"aB CdEf", 40, "ab,0000cdef", nil},
		{"1,2,3", 40, "", syscall.EOVERFLOW},
		{"100,0", 40, "", syscall.EOVERFLOW},
		{"x,100", 40, "", syscall.EINVAL},
	} {
		m, err := Parse(c.text, c.cpus)
		if !errors.Is(err, c.err) || err == nil && m.String() != c.want {
			t.Errorf("%q of %d: %v, %v; want %q, %v", c.text, c.cpus, m, err, c.want, c.err)
		}
	}
}

// maskText is what a mask of CPUs may look like, up to the end of its line, in Latin-1.
var maskText = regexp.MustCompile(`^(?:[0-9a-fA-F,\s\v\x{a0}]|.[0-9a-fA-F]{8})*(?:[\n\x00]|$)`)

// latin1 is s with a character for each byte.
func latin1(s string) string {
	var text strings.Builder
	for _, c := range []byte(s) {
		text.WriteRune(rune(c))
	}
	return text.String()
}

// FuzzParse reads any text as a mask of CPUs, which has digits of its own only, and
// reads the same when it is printed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"3", "f", "ffffffff,ffffffff", "0,", ",", "1,00000000", "\x10", "\n", "3\x00x", "x00000001", "1\xa0,"} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		cpus := 1 + int(n%128)
		mask, err := Parse(s, cpus)
		if err != nil {
			return
		}
		again, err := Parse(mask.String(), cpus)
		if err != nil || again.String() != mask.String() {
			t.Errorf("%q is %v, which is %v, %v", s, mask, again, err)
		}
		if !maskText.MatchString(latin1(s)) {
			t.Errorf("%q is taken for %v", s, mask)
		}
	})
}
