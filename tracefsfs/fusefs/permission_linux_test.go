package fusefs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// nobody runs a program with no rights but those of the groups; denied is what it says
// of the file it was refused.
func nobody(t *testing.T, groups []uint32, argv ...string) (denied bool) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, Groups: groups}}
	out, err := cmd.CombinedOutput()
	denied = strings.Contains(string(out), "Permission denied") || strings.Contains(string(out), "not permitted")
	if err != nil && !denied {
		t.Fatalf("%v: %v, %s", argv, err, out)
	}
	return denied
}

// Who may do what is the kernel's decision: by folders on the way, all groups of the
// caller, also for FIFOs, and by what was changed a moment before.
// The server decides alike where it is asked.
func TestPermissions(t *testing.T) {
	t.Run("kernel", func(t *testing.T) { testPermissions(t, mountLab(t)) })
	t.Run("AskAccess", func(t *testing.T) {
		testPermissions(t, mountLab(t, func(cfg *fusefs.Config) { cfg.AskAccess = true }))
	})
}

func testPermissions(t *testing.T, m *fusefs.Mount) {
	if err := os.Chmod(filepath.Dir(m.Dir()), 0o755); err != nil { // of the test's own
		t.Fatal(err)
	}
	const group = 1234
	at := func(name string) string { return filepath.Join(m.Dir(), name) }
	raw := "per_cpu/cpu0/trace_pipe_raw"
	opened := func(name string) []string { return []string{"sh", "-c", `: < "$0"`, at(name)} }
	chmod := func(name string, mode os.FileMode) func() error {
		return func() error { return os.Chmod(at(name), mode) }
	}
	remount := func(options string) func() error {
		return func() error { return os.WriteFile(at(".ftracelab/remount"), []byte(options), 0) }
	}
	writeFile(t, m, "trace_marker", "text")
	for _, c := range []struct {
		what   string
		change func() error
		groups []uint32
		argv   []string
		denied bool
	}{
		{"a file for all in a root for nobody", nil, nil, opened("README"), true},
		{"the same to a member", remount("gid=1234"), []uint32{group}, opened("README"), true},
		{"the root for its group, to others", chmod("", 0o710), nil, opened("README"), true},
		{"the root for its group, to a member", nil, []uint32{group}, opened("README"), false},
		{"a file for its group, to a member", nil, []uint32{group}, opened("trace"), false},
		{"a FIFO for its group, to a member", nil, []uint32{group}, opened(raw), false},
		{"a file for its group, to others", chmod("", 0o711), nil, opened("trace"), true},
		{"a FIFO for its group, to others", nil, nil, opened(raw), true},
		{"listing", nil, nil, []string{"ls", at("")}, true},
		{"listing, allowed", chmod("", 0o755), nil, []string{"ls", at("")}, false},
		{"a folder closed on the way", chmod("per_cpu", 0o700), []uint32{group}, opened(raw), true},
		{"another group", remount("gid=4321"), []uint32{group}, opened("trace"), true},
		{"chmod by others", nil, nil, []string{"chmod", "644", at("trace")}, true},
		{"mkdir by others", nil, nil, []string{"mkdir", at("instances/x")}, true},
		{"mkdir, allowed", chmod("instances", 0o777), nil, []string{"mkdir", at("instances/x")}, false},
		{"chdir, allowed", nil, nil, []string{"env", "-C", at("events"), "true"}, false},
		{"chdir", chmod("events", 0o700), nil, []string{"env", "-C", at("events"), "true"}, true},
	} {
		if c.change != nil {
			if err := c.change(); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
		}
		if denied := nobody(t, c.groups, c.argv...); denied != c.denied {
			t.Errorf("%s: denied %t, want %t", c.what, denied, c.denied)
		}
	}
	// An owner may change the mode of what is his.
	if err := os.Chown(at("trace"), 65534, -1); err != nil {
		t.Fatal(err)
	}
	if nobody(t, nil, "chmod", "600", at("trace")) {
		t.Error("the owner may not change the mode")
	}
	if _, _, mode := owner(t, m, "trace"); mode != 0o600 {
		t.Errorf("the mode is %o", mode)
	}
}

// A server without descriptors says so. An open that gave an empty file would be taken for
// the end of the trace.
func TestNoDescriptors(t *testing.T) {
	s := serve(t)
	raw := filepath.Join(s.dir, "per_cpu/cpu0/trace_pipe_raw")
	open := func() error {
		fd, err := unix.Open(raw, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	for _, c := range []struct {
		what string
		pid  int
	}{{"server", s.server}, {"helper", s.helper}} {
		var limit unix.Rlimit
		if err := unix.Prlimit(c.pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
			t.Fatal(err)
		}
		if err := unix.Prlimit(c.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4, Max: limit.Max}, nil); err != nil {
			t.Fatal(err)
		}
		if err := open(); !errors.Is(err, unix.EMFILE) {
			t.Errorf("the %s has no descriptors: %v", c.what, err)
		}
		if err := unix.Prlimit(c.pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(); err != nil {
		t.Errorf("with descriptors again: %v", err)
	}
}
