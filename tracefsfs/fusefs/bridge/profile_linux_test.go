package bridge

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestSymlink(t *testing.T) {
	for _, c := range []struct{ args, target, name string }{
		{"ln -s foo /tmp/bar", "foo", "/tmp/bar"},
		{"/usr/bin/ln -sf foo bar", "foo", "bar"},
		{"ln foo bar", "", ""},
		{"ln -s foo", "", ""},
		{"ls -s foo bar", "", ""},
		{"", "", ""},
	} {
		target, name, ok := symlink(strings.Fields(c.args))
		if target != c.target || name != c.name || ok != (c.name != "") {
			t.Errorf("%q: %q, %q, %v", c.args, target, name, ok)
		}
	}
}

func TestFolder(t *testing.T) {
	for args, want := range map[string]string{"ls": ".", "ls -l": ".", "ls -l /tmp /etc": "/tmp", "": "."} {
		if got := folder(strings.Fields(args)); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

func TestArgsOf(t *testing.T) {
	if got := argsOf(os.Getpid()); !slices.Equal(got, os.Args) {
		t.Errorf("%q, want %q", got, os.Args)
	}
	if got := argsOf(-1); got != nil {
		t.Errorf("%q", got)
	}
}

// However long a command line is, little of it is kept: names that are cut off are none.
func TestArgsOfLongCommand(t *testing.T) {
	cmd := exec.Command("sh", append([]string{"-c", "echo; read x"}, slices.Repeat([]string{"0"}, 10*maxArgs)...)...)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(in.Close(), cmd.Wait()) }()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it runs
		t.Fatal(err)
	}
	args := argsOf(cmd.Process.Pid)
	if size := len(strings.Join(args, "\x00")); len(args) < 2 || args[0] != "sh" || size >= maxArgs {
		t.Errorf("%.20q: %d bytes", args, size)
	}
}

func TestOwnThread(t *testing.T) {
	if !ownThread(syscall.Gettid()) || ownThread(1) {
		t.Error("own threads are told from others wrongly")
	}
}
