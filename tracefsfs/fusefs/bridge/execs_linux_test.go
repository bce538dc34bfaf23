package bridge

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"testing"

	"ftracelab/workload"
)

// told is a message of fanotify.
func told(fd, pid int32) []byte {
	msg := make([]byte, execHeader)
	binary.NativeEndian.PutUint32(msg, execHeader)
	binary.NativeEndian.PutUint32(msg[execFD:], uint32(fd))
	binary.NativeEndian.PutUint32(msg[execPID:], uint32(pid))
	return msg
}

func TestParseExecs(t *testing.T) {
	long := append(told(9, 10), 1, 2, 3, 4)
	binary.NativeEndian.PutUint32(long, execHeader+4)
	for _, c := range []struct {
		msg  []byte
		want string
	}{
		{slices.Concat(told(5, 100), told(6, 101)), "5 of 100, 6 of 101, "},
		{slices.Concat(long, told(6, 101)), "9 of 10, 6 of 101, "},
		{told(-1, 100), ""}, // the queue has overflown
		{told(5, 100)[:20], ""},
		{make([]byte, 100), ""},
		{nil, ""},
	} {
		got := ""
		parseExecs(c.msg, func(fd, pid int) { got += fmt.Sprintf("%d of %d, ", fd, pid) })
		if got != c.want {
			t.Errorf("%x: %q, want %q", c.msg, got, c.want)
		}
	}
}

func TestNoteExecs(t *testing.T) {
	e := &execs{path: map[int]string{}}
	e.note(1, "/lib64/ld-linux-x86-64.so.2")
	e.note(1, "/tmp/script")
	e.note(1, "/bin/sh")
	if e.path[1] != "/tmp/script" {
		t.Errorf("%v", e.path)
	}
	for pid := range 10 * maxExecs {
		e.note(pid, "/bin/true")
	}
	if len(e.path) > maxExecs {
		t.Errorf("%d are kept", len(e.path))
	}
	if (*execs)(nil).take(1) != "" {
		t.Error("nobody told")
	}
}

// The program of a process that has ended is known.
func TestExecs(t *testing.T) {
	e, err := listenExecs()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("CI has to provide fanotify: %v", err)
	default:
		t.Skipf("no fanotify: %v", err)
	}
	defer e.close()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.ProcessState.Pid()
	if got := programOf(pid, e, workload.Syscall{}); path.Base(got.path) != "true" || got.comm != "true" {
		t.Errorf("the program is %+v", got)
	}
	if got := e.take(pid); got != "" {
		t.Errorf("%q once more", got)
	}
}

func FuzzParseExecs(f *testing.F) {
	f.Add(told(5, 100))
	f.Add(append(told(-1, 0), 1, 2, 3))
	f.Fuzz(func(t *testing.T, msg []byte) {
		n := 0
		parseExecs(msg, func(int, int) { n++ })
		if n > len(msg)/execHeader {
			t.Fatalf("%d messages in %d bytes", n, len(msg))
		}
	})
}
