package fusefs

import (
	"strings"
	"testing"
)

func TestParseSyscall(t *testing.T) {
	nr, args, ok := ParseSyscall("257 0xffffffffffffff9c 0x55f0 0x241 0x1b6 0x0 0x0 0x7ffd7d0 0x7f21e1\n")
	if want := [6]uint64{0xffffffffffffff9c, 0x55f0, 0x241, 0x1b6}; !ok || nr != 257 || args != want {
		t.Errorf("%d %x %v", nr, args, ok)
	}
	for _, text := range []string{"", "running\n", "-1 0x7ffd 0x7f21\n", "0 0 0 0 0 0 x 0 0\n", "x 0 0 0 0 0 0 0 0\n"} {
		if _, _, ok := ParseSyscall(text); ok {
			t.Errorf("%q is a call", text)
		}
	}
}

func FuzzParseSyscall(f *testing.F) {
	f.Add("1 0x1 0x55d0 0x7 0x0 0x0 0x0 0x7ffd 0x7f21\n")
	f.Add("running\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, ok := ParseSyscall(text); ok && len(strings.Fields(text)) != 9 {
			t.Errorf("%q is a call", text)
		}
	})
}
