package bridge

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

func TestParseSyscall(t *testing.T) {
	nr, args, ok := parseSyscall("257 0xffffffffffffff9c 0x55f0 0x241 0x1b6 0x0 0x0 0x7ffd7d0 0x7f21e1\n")
	if want := [6]uint64{0xffffffffffffff9c, 0x55f0, 0x241, 0x1b6}; !ok || nr != 257 || args != want {
		t.Errorf("%d %x %v", nr, args, ok)
	}
	for _, text := range []string{"", "running\n", "-1 0x7ffd 0x7f21\n", "0 0 0 0 0 0 x 0 0\n", "x 0 0 0 0 0 0 0 0\n"} {
		if _, _, ok := parseSyscall(text); ok {
			t.Errorf("%q is a call", text)
		}
	}
}

func FuzzParseSyscall(f *testing.F) {
	f.Add("1 0x1 0x55d0 0x7 0x0 0x0 0x0 0x7ffd 0x7f21\n")
	f.Add("running\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, ok := parseSyscall(text); ok && len(strings.Fields(text)) != 9 {
			t.Errorf("%q is a call", text)
		}
	})
}

// A text is read up to its end, also over the edge of a page, and up to what can be read.
func TestTextAt(t *testing.T) {
	const page = 4096
	mem, err := unix.Mmap(-1, 0, 4*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	if err := unix.Mprotect(mem[3*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	at := func(n int) uint64 { return uint64(uintptr(unsafe.Pointer(&mem[0]))) + uint64(n) }
	copy(mem[page-4:], "across\x00not this")
	copy(mem[3*page-3:], "end")
	long := strings.Repeat("x", page+100)
	copy(mem[page+10:], long)
	for _, c := range []struct {
		addr uint64
		want string
	}{
		{at(page - 4), "across"},
		{at(page + 2), ""},
		{at(3*page - 3), "end"},
		{at(3 * page), ""},
		{0, ""},
		{^uint64(0), ""},
		{at(page + 10), long[:4096]},
	} {
		if got := fusefs.TextAt(os.Getpid(), c.addr); got != c.want {
			t.Errorf("%#x: %.20q (%d bytes), want %.20q (%d)", c.addr, got, len(got), c.want, len(c.want))
		}
	}
	if got := fusefs.TextAt(-1, at(0)); got != "" {
		t.Errorf("of nobody: %q", got)
	}
}

func TestOwnThread(t *testing.T) {
	if !ownThread(unix.Gettid()) || ownThread(1) {
		t.Error("own threads are told from others wrongly")
	}
}
