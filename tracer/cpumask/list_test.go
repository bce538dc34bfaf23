package cpumask

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Lists of CPUs and what they are, as the kernel's own test of its parser has them and
// its source says.
//
// Kernel: parselist_tests, lib/test_bitmap.c.
func TestParseCPUList(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // as Mask.list
		err  error
	}{
		{"0", "0", nil},
		{"1", "1", nil},
		{"31,8-9\n", "8-9,31", nil},
		{"0-31:1/1", "0-31", nil},
		{"0-31:1/4", "0,4,8,12,16,20,24,28", nil},
		{"1-31:4/4", "1-31", nil},
		{"0-31:1/4,16-30:2/8", "0,4,8,12,16-17,20,24-25,28", nil},
		{"0-9:2/3", "0-1,3-4,6-7,9", nil},
		{"0-31:0/1", "", nil},
		{"N-N", "31", nil},
		{"0-0:1/N", "0", nil},
		{"0-0:N/N", "0", nil},
		{"0-15:16/N", "0-15", nil},
		{"N-N:N/N", "31", nil},
		{"all", "0-31", nil},
		{"ALL:1/2", "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30", nil},
		{"0, 1, , \t ,  , 31", "0-1,31", nil},
		{" ,,0,, ,31,, ", "0,31", nil},
		{"\xa00\xa031", "0,31", nil},
		{"", "", nil},
		{"\n5", "5", nil},
		{"4\n5", "4", nil},
		{"0-3:1/2\n5", "0,2,5", nil},
		{"0-3:1/4N", "0,31", nil},
		{"3\x005", "3", nil},
		{"-1", "", syscall.EINVAL},
		{"-0", "", syscall.EINVAL},
		{"10-1", "", syscall.EINVAL},
		{"8-8:", "", syscall.EINVAL},
		{"0-31:", "", syscall.EINVAL},
		{"0-31:0", "", syscall.EINVAL},
		{"0-31:0/", "", syscall.EINVAL},
		{"0-31:0/0", "", syscall.EINVAL},
		{"0-31:1/0", "", syscall.EINVAL},
		{"0-31:10/1", "", syscall.EINVAL},
		{"0-4294967295", "", syscall.EINVAL}, // there is no group of 2^32
		{"0-31:1/2-", "", syscall.EINVAL},
		{"3-", "", syscall.EINVAL},
		{"allx", "", syscall.EINVAL},
		{"n", "", syscall.EINVAL},
		{"a-31", "", syscall.EINVAL},
		{"0-a", "", syscall.EINVAL},
		{"0x1", "", syscall.EINVAL},
		{"1;2", "", syscall.EINVAL},
		{"32", "", syscall.ERANGE},
		{"5000-1000", "", syscall.EINVAL},
		{"0-4294967294", "", syscall.ERANGE},
		{"4294967296", "", syscall.EOVERFLOW},
		{"0-4294967296", "", syscall.EOVERFLOW},
		{"99999999999999999999999", "", syscall.EOVERFLOW},
		{"1:4294967296/2", "", syscall.EINVAL},
		{"0-1:4294967296/2", "", syscall.EOVERFLOW},
	} {
		m, err := ParseList(c.text, 32)
		if !errors.Is(err, c.err) || c.err != nil && m != nil || err == nil && m.List() != c.want {
			t.Errorf("%q: %q, %v; want %q, %v", c.text, m.List(), err, c.want, c.err)
		}
	}
}

// What a list is shown as reads as the same list, and any text is a list or one of
// three errors.
func FuzzParseCPUList(f *testing.F) {
	for _, text := range []string{"0-3,5", "all:1/2", "0-9:2/3", "N", "\n", "0-4294967295", "1-0", "0-3:1/2\n5"} {
		f.Add(text, uint8(16))
	}
	f.Fuzz(func(t *testing.T, text string, cpus uint8) {
		n := int(cpus) + 1
		m, err := ParseList(text, n)
		if err != nil {
			if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ERANGE) && !errors.Is(err, syscall.EOVERFLOW) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := ParseList(m.List(), n); err != nil || !slices.Equal(again, m) {
			t.Errorf("%q is %q, which reads as %q, %v", text, m.List(), again.List(), err)
		}
		if strings.Trim(m.List(), "0123456789,-") != "" {
			t.Errorf("%q is %q", text, m.List())
		}
	})
}
