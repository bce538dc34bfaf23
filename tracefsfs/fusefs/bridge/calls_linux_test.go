package bridge

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

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
