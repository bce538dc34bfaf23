package bridge

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/workload"
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

// onRootDevice is a new folder on the file system of the root.
func onRootDevice(t *testing.T) string {
	t.Helper()
	root, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, parent := range []string{os.TempDir(), "/var/tmp", ".", "/"} {
		dir, err := os.MkdirTemp(parent, "outcome")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if sameDevice(int(f.Fd()), int(root.Fd())) {
			return dir
		}
	}
	testutil.Missing(t, "a folder to write to on the file system of the root")
	return ""
}

// What a call returns is known if its file is not there, or is there and must not be.
func TestOutcome(t *testing.T) {
	if len(observable) == 0 {
		testutil.Missing(t, "calls that are observed on this architecture")
	}
	dir := onRootDevice(t)
	for _, err := range []error{
		os.Mkdir(dir+"/folder", 0o755), os.WriteFile(dir+"/file", nil, 0o644), os.Symlink("file", dir+"/link"), os.Symlink("none", dir+"/dangling"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	folder, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(folder)
	var r roots
	defer r.close()
	const noent, exist, notdir = -int64(unix.ENOENT), -int64(unix.EEXIST), -int64(unix.ENOTDIR)
	for _, c := range []struct {
		nr     int64
		folder int    // 0: the path is absolute
		path   string // below dir
		flags  uint64
		size   uint64
		want   int64
	}{
		{nr: 2, path: "/file", want: firstFD},
		{nr: 2, path: "/none", want: noent},
		{nr: 2, path: "/none", flags: unix.O_CREAT, want: firstFD},
		{nr: 85, path: "/none", want: firstFD},
		{nr: 257, path: "/dangling", want: noent},
		{nr: 257, folder: folder, path: "file", want: firstFD},
		{nr: 257, folder: folder, path: "none", want: noent},
		{nr: 257, folder: 1 << 20, path: "none", want: firstFD}, // no such descriptor: not known
		{nr: 257, folder: folder, path: "file/", want: notdir},
		{nr: 257, folder: folder, path: "file", flags: unix.O_DIRECTORY, want: notdir},
		{nr: 262, folder: folder, path: "dangling", want: noent},
		{nr: 262, folder: folder, path: "dangling", flags: unix.AT_SYMLINK_NOFOLLOW},
		{nr: 332, path: "/link"},
		{nr: 332, path: "/none", want: noent},
		{nr: 21, path: "/link"},
		{nr: 21, path: "/dangling", want: noent},
		{nr: 80, path: "/file", want: notdir},
		{nr: 80, path: "/folder"},
		{nr: 83, path: "/folder", want: exist},
		{nr: 83, path: "/dangling", want: exist},
		{nr: 83, path: "/none"},
		{nr: 84, path: "/none", want: noent},
		{nr: 87, path: "/dangling"},
		{nr: 87, path: "/none", want: noent},
		{nr: 89, path: "/link", size: 100, want: 4},
		{nr: 89, path: "/link", size: 2, want: 2},
		{nr: 89, path: "/file", size: 100, want: -int64(unix.EINVAL)},
		{nr: 82, path: "/none"}, // looked for is the other path
		{nr: 2, path: "", want: firstFD},
	} {
		p := pathsOf(c.nr)
		call := readCall(os.Getpid(), p, [6]uint64{})
		switch at := c.nr == 257 || c.nr == 262 || c.nr == 332; {
		case at && c.folder != 0:
			call.Args[0] = uint64(c.folder)
		case at:
			call.Args[0] = 1<<64 - 100 // AT_FDCWD
		}
		if call.Path = c.path; c.folder == 0 && c.path != "" {
			call.Path = dir + c.path
		}
		call.Args[p.path+1] = c.flags
		if p.flags != 0 {
			call.Args[p.flags] = c.flags
		}
		if p.reads != nil {
			call.Args[2] = c.size
		}
		if p.moves {
			call.Target = dir + "/file"
		}
		if got := r.outcome(os.Getpid(), p, &call); got != c.want {
			t.Errorf("call %d of %q with flags %#x returns %d, want %d", c.nr, c.path, c.flags, got, c.want)
		}
	}
}

// Files on other file systems are not looked for.
func TestOutcomeElsewhere(t *testing.T) {
	if len(observable) == 0 {
		testutil.Missing(t, "calls that are observed on this architecture")
	}
	var r roots
	defer r.close()
	call := readCall(os.Getpid(), pathsOf(2), [6]uint64{})
	call.Path = "/proc/none"
	if got := r.outcome(os.Getpid(), pathsOf(2), &call); got != firstFD {
		t.Errorf("a file that nobody looks for: %d", got)
	}
}

// What a process does is known: it computes, it waits in a call that exists to wait, or it has
// been in another call for a long time.
func TestState(t *testing.T) {
	b := &Bridge{}
	for _, c := range []struct {
		script string
		nr     int64 // 0: it reads; -1: it computes
	}{
		{"exec sleep 60", 230},
		{"exec cat", 0},
		{"while :; do :; done", -1},
	} {
		cmd := exec.Command("sh", "-c", c.script)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var now workload.GuestState
		known, looks := false, 0
		right := func() bool {
			return known && now.Waits == (c.nr >= 0) && (!now.Waits || now.NR == c.nr)
		}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && looks < 10; time.Sleep(time.Millisecond) {
			if now, known = b.look(cmd.Process.Pid); right() {
				looks++ // it stays so
			} else {
				looks = 0
			}
		}
		if looks < 10 {
			t.Errorf("%s: %+v, known: %v", c.script, now, known)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		in.Close()
		if _, known := b.look(cmd.Process.Pid); known {
			t.Errorf("%s: it has ended", c.script)
		}
	}
}

// A call is long if the same one was seen a long time ago.
func TestLongCall(t *testing.T) {
	var s states
	start := time.Now()
	read := workload.GuestState{Waits: true, NR: 0, Args: [6]uint64{3}}
	other := workload.GuestState{Waits: true, NR: 0, Args: [6]uint64{4}}
	for _, c := range []struct {
		host  int
		now   workload.GuestState
		after time.Duration
		want  bool
	}{
		{1, read, 0, false},
		{1, read, longTime / 2, false},
		{2, read, longTime, false},
		{1, read, longTime, true},
		{1, other, 2 * longTime, false},
		{1, read, 3 * longTime, false},
		{1, read, 4 * longTime, true},
	} {
		if got := s.long(c.host, c.now, start.Add(c.after)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Who asks what a process does is not kept waiting by one that cannot be looked at. What a
// look has found is told once.
func TestStateDoesNotWait(t *testing.T) {
	var s states
	found := workload.GuestState{Waits: true, NR: 61}
	looks, seen := make(chan bool), make(chan bool)
	look := func(int) (workload.GuestState, bool) {
		<-looks
		defer close(seen)
		return found, true
	}
	for range 3 {
		if now, known := s.latest(1, look); now.Waits || !known {
			t.Fatalf("before the look is done: %+v, %v", now, known)
		}
	}
	looks <- true
	<-seen
	for {
		if now, _ := s.latest(1, look); now == found {
			break
		}
		time.Sleep(time.Millisecond) // it is being written down
	}
	looked := make(chan bool, 2)
	look = func(int) (workload.GuestState, bool) {
		looked <- true
		return found, true
	}
	for _, err := range []string{"told twice", "told after a call"} {
		if now, known := s.latest(1, look); now.Waits || !known {
			t.Fatalf("%s: %+v", err, now)
		}
		<-looked
		s.forget(1)
	}
}
