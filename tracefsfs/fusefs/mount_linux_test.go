package fusefs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

func TestMain(m *testing.M) {
	if playRole() {
		return
	}
	os.Exit(testutil.RunWithPrivateMounts(m))
}

// patience bounds what must not hang; nothing here takes a hundredth of it.
const patience = time.Minute

// mount mounts a tree and makes its folder the test's.
func mount(t *testing.T, cfg fusefs.Config) *fusefs.Mount {
	t.Helper()
	testutil.NeedPrivateMounts(t, fusefs.Available())
	m, err := fusefs.New(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// mountLab mounts the tree of a simulated machine.
func mountLab(t *testing.T, with ...func(*fusefs.Config)) *fusefs.Mount {
	t.Helper()
	testutil.NeedPrivateMounts(t, fusefs.Available())
	clock := new(fusefs.Clock)
	_, ft, err := newLab(tracer.Config{Wait: clock.Wait})
	if err != nil {
		t.Fatal(err)
	}
	cfg := fusefs.Config{
		FS: tracefsfs.New(ft.Root()), Clock: clock, Run: func(ns uint64) { ft.Run(machine.Time(ns)) },
	}
	for _, change := range with {
		change(&cfg)
	}
	return mount(t, cfg)
}

// diary is a tree that notes what happens to its file.
type diary struct {
	mu    sync.Mutex
	notes []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	notes := d.notes
	d.notes = nil
	return notes
}

type diaryHandle struct {
	tracefile.Handle
	d *diary
}

func (h diaryHandle) Write(_ context.Context, p []byte) (int, error) {
	h.d.note("write %q", p)
	switch string(p) {
	case "busy":
		return 0, syscall.EBUSY
	case "unsupported":
		return 0, syscall.Errno(524)
	case "short":
		return 2, nil
	}
	return len(p), nil
}
func (h diaryHandle) Flush() error { h.d.note("flush"); return nil }
func (h diaryHandle) Close() error { return nil }

func (d *diary) tree() *tracefsfs.FS {
	file := &tracefile.File{Name: "file", Mode: 0o640, Open: func(_ context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		d.note("open %b", flags)
		return diaryHandle{d: d}, nil
	}}
	return tracefsfs.New(&tracefile.Dir{Mode: 0o700, Children: func() []tracefile.Node { return []tracefile.Node{file} }})
}

// What a shell's redirections are, call by call: O_TRUNC comes with the open, a
// flush only ends what was written, and every errno passes.
func TestWriting(t *testing.T) {
	var d diary
	m := mount(t, fusefs.Config{FS: d.tree()})
	name := filepath.Join(m.Dir(), "file")
	for _, c := range []struct {
		flags int
		write string
		err   error
		notes []string
	}{
		{os.O_WRONLY | os.O_TRUNC, "on\n", nil, []string{"open 110", `write "on\n"`, "flush"}},
		{os.O_WRONLY | os.O_APPEND, "on\n", nil, []string{"open 1010", `write "on\n"`, "flush"}},
		{os.O_RDWR | syscall.O_NONBLOCK, "", nil, []string{"open 10011"}},
		{os.O_WRONLY, "busy", syscall.EBUSY, []string{"open 10", `write "busy"`, "flush"}},
		{os.O_WRONLY, "unsupported", syscall.EOPNOTSUPP, []string{"open 10", `write "unsupported"`, "flush"}},
	} {
		fd, err := unix.Open(name, c.flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		dup, err := unix.Dup(fd) // as a shell does: its close is a flush before any write
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(dup)
		if c.write != "" {
			if _, err := unix.Write(fd, []byte(c.write)); !errors.Is(err, c.err) && err != c.err {
				t.Errorf("write %q: %v, want %v", c.write, err, c.err)
			}
		}
		unix.Close(fd)
		if got := d.take(); !slices.Equal(got, c.notes) {
			t.Errorf("flags %#x, write %q: %q, want %q", c.flags, c.write, got, c.notes)
		}
	}
	fd, err := unix.Open(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if n, err := unix.Write(fd, []byte("short")); n != 2 || err != nil {
		t.Errorf("a write of which 2 bytes are taken: %d, %v", n, err)
	}
}

func onlyErr(_ int, err error) error { return err }

// What tracefs refuses, and what it takes.
func TestForbidden(t *testing.T) {
	m := mountLab(t)
	at := func(name string) string { return filepath.Join(m.Dir(), name) }
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"remove", unix.Unlink(at("README")), syscall.EPERM},
		{"create", os.WriteFile(at("new"), nil, 0o600), syscall.EACCES},
		{"mkdir", unix.Mkdir(at("new"), 0o700), syscall.EPERM},
		{"rmdir", unix.Rmdir(at("events/sched")), syscall.EPERM},
		{"rename", unix.Rename(at("README"), at("new")), syscall.EPERM},
		{"link", unix.Link(at("README"), at("new")), syscall.EPERM},
		{"symlink", unix.Symlink("README", at("new")), syscall.EPERM},
		{"mknod of a file", unix.Mknod(at("new"), unix.S_IFREG|0o600, 0), syscall.EACCES},
		{"mknod of a FIFO", unix.Mknod(at("new"), unix.S_IFIFO|0o600, 0), syscall.EPERM},
		{"listxattr", onlyErr(unix.Listxattr(at("README"), nil)), nil},
		{"listxattr with room", onlyErr(unix.Listxattr(at("events"), make([]byte, 64<<10))), nil},
		{"open of nothing", os.WriteFile(at("events/none/enable"), nil, 0), syscall.ENOENT},
		{"mkdir twice", errors.Join(unix.Mkdir(at("instances/a"), 0o700), unix.Mkdir(at("instances/a"), 0o700)), syscall.EEXIST},
		{"rmdir", unix.Rmdir(at("instances/a")), nil},
		{"rmdir twice", unix.Rmdir(at("instances/a")), syscall.ENOENT},
	} {
		if !errors.Is(c.err, c.want) && c.err != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.err, c.want)
		}
	}
}

// The mounted tree is the tree, name for name and mode for mode.
func TestSameTree(t *testing.T) {
	var d diary
	tree := d.tree()
	m := mount(t, fusefs.Config{FS: tree})
	var want strings.Builder
	if err := tree.List(&want, "."); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("find", m.Dir(), "-printf", "%y %m ./%P %s\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "d 700 ./ 0\nf 640 ./file 0\n"; got != want {
		t.Errorf("find says %q, want %q (the tree: %q)", got, want, want)
	}

	lab := mountLab(t)
	files, pipes := 0, 0
	err = filepath.WalkDir(lab.Dir(), func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() != 0 {
			t.Errorf("%s has size %d", p, info.Size())
		}
		if isPipe := info.Mode()&fs.ModeNamedPipe != 0; isPipe != (e.Name() == "trace_pipe_raw") {
			t.Errorf("%s: %v", p, info.Mode())
		} else if isPipe {
			pipes++
		}
		files++
		return nil
	})
	if err != nil || files < 1000 || pipes != 2 {
		t.Errorf("%d files, %d pipes, %v", files, pipes, err)
	}
}

// Going back in a file shows what it says now; going on goes on.
func TestSeek(t *testing.T) {
	m := mountLab(t)
	f, err := os.OpenFile(filepath.Join(m.Dir(), "tracing_on"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read := func(at int64) string {
		buf := make([]byte, 8)
		n, _ := f.ReadAt(buf, at)
		return string(buf[:n])
	}
	if got := read(0); got != "1\n" {
		t.Errorf("tracing_on: %q", got)
	}
	if _, err := f.WriteString("0"); err != nil {
		t.Fatal(err)
	}
	if got := read(0); got != "0\n" {
		t.Errorf("tracing_on after a write on the same descriptor: %q", got)
	}
	if got := read(1); got != "\n" {
		t.Errorf("tracing_on from byte 1: %q", got)
	}
}

func writeFile(t *testing.T, m *fusefs.Mount, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.Dir(), name), []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

func owner(t *testing.T, m *fusefs.Mount, name string) (uid, gid uint32, mode fs.FileMode) {
	t.Helper()
	info, err := os.Stat(filepath.Join(m.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid, info.Mode().Perm()
}

func TestOwnership(t *testing.T) {
	m := mountLab(t)
	gid := func(name string, want uint32) {
		t.Helper()
		if _, got, _ := owner(t, m, name); got != want {
			t.Errorf("%s belongs to group %d, want %d", name, got, want)
		}
	}
	at := func(name string) string { return filepath.Join(m.Dir(), name) }
	if err := errors.Join(os.Chown(at("events/sched"), 3, 4), os.Chmod(at("events/sched"), 0o711), os.Chown(at("instances"), -1, 5)); err != nil {
		t.Fatal(err)
	}
	if uid, gid, mode := owner(t, m, "events/sched"); uid != 3 || gid != 4 || mode != 0o711 {
		t.Errorf("events/sched: %d, %d, %o", uid, gid, mode)
	}
	gid("events/sched/sched_switch", 0)
	if err := os.Mkdir(at("instances/foo"), 0o700); err != nil {
		t.Fatal(err)
	}
	gid("instances/foo", 5)
	gid("instances/foo/events/sched/enable", 5)
	writeFile(t, m, ".ftracelab/remount", "rw,relatime,gid=7\n")
	for _, name := range []string{"", "events/sched", "instances", "instances/foo/events/sched/enable"} {
		gid(name, 7)
	}
	if uid, _, _ := owner(t, m, "events/sched"); uid != 3 {
		t.Errorf("remount of the group changed the owner to %d", uid)
	}
	if err := os.WriteFile(at(".ftracelab/remount"), []byte("gid=x"), 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("remount with gid=x: %v", err)
	}
}

// What a file does at the end of writing is done before the next command looks, also
// where nothing was written: ": > set_ftrace_filter".
func TestTruncated(t *testing.T) {
	m := mountLab(t)
	name := filepath.Join(m.Dir(), "set_ftrace_filter")
	times := 200
	if testing.Short() {
		times = 20
	}
	for range times {
		writeFile(t, m, "set_ftrace_filter", "vfs_read")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != "vfs_read\n" {
			t.Fatalf("opened with O_TRUNC: %q, %v; it takes effect when it is closed", text, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != "#### all functions enabled ####\n" {
			t.Fatalf("closed: %q, %v", text, err)
		}
	}
}
