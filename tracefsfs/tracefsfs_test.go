package tracefsfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"ftracelab/internal/testutil"
	"ftracelab/tracefsfs/tracefile"
)

// sample is a small tree whose instances folder can be written.
func sample() *FS {
	tracer := "nop\n"
	var instances []string
	text := func(name, s string) tracefile.Node {
		return tracefile.Seq(name, 0o440, func() ([]byte, error) { return []byte(s), nil })
	}
	dir := func(name string, nodes ...tracefile.Node) *tracefile.Dir {
		return &tracefile.Dir{Name: name, Mode: 0o750, Children: func() []tracefile.Node { return nodes }}
	}
	inst := dir("instances")
	inst.Children = func() []tracefile.Node {
		var nodes []tracefile.Node
		for _, name := range instances {
			nodes = append(nodes, dir(name, text("trace", "# tracer: nop\n")))
		}
		return nodes
	}
	inst.Mkdir = func(name string) error { instances = append(instances, name); return nil }
	inst.Rmdir = func(name string) error {
		if name == "busy" {
			return syscall.EBUSY
		}
		instances = slices.DeleteFunc(instances, func(s string) bool { return s == name })
		return nil
	}
	return New(dir("",
		tracefile.Value("current_tracer", 0o640, func() string { return tracer }, func(s string) error {
			if strings.TrimSpace(s) != "function" {
				return syscall.EINVAL
			}
			tracer = "function\n"
			return nil
		}),
		text("README", "tracing mini-HOWTO:\n"),
		dir("events", dir("sched", dir("sched_switch", text("id", "316\n"), text("format", "name: sched_switch\n")))),
		inst))
}

func TestIOFS(t *testing.T) {
	f := sample()
	if err := f.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(f, "README", "events/sched/sched_switch/id", "instances/foo/trace"); err != nil {
		t.Error(err)
	}
}

func TestErrnos(t *testing.T) {
	f := sample()
	handle := func(name string) error {
		_, err := f.OpenHandle(context.Background(), name, tracefile.Read)
		return err
	}
	for _, c := range []struct {
		what string
		err  error
		want syscall.Errno
	}{
		{"open of nothing", handle("trace"), syscall.ENOENT},
		{"open below a file", handle("README/x"), syscall.ENOTDIR},
		{"open of a file as a folder", handle("README/"), syscall.ENOTDIR},
		{"open of a folder", handle("events"), syscall.EISDIR},
		{"open through ..", handle("/events/../../README"), 0},
		{"create", f.Create("new"), syscall.EACCES},
		{"create in nothing", f.Create("no/new"), syscall.ENOENT},
		{"remove", f.Remove("README"), syscall.EPERM},
		{"remove of nothing", f.Remove("nothing"), syscall.ENOENT},
		{"remove of a folder", f.Remove("events"), syscall.EISDIR},
		{"mkdir outside instances", f.Mkdir("new"), syscall.EPERM},
		{"mkdir of a file", f.Mkdir("README"), syscall.EEXIST},
		{"mkdir", f.Mkdir("instances/a"), 0},
		{"mkdir again", f.Mkdir("instances/a"), syscall.EEXIST},
		{"rmdir", f.Rmdir("instances/a"), 0},
		{"rmdir again", f.Rmdir("instances/a"), syscall.ENOENT},
		{"rmdir of a busy one", errors.Join(f.Mkdir("instances/busy"), f.Rmdir("instances/busy")), syscall.EBUSY},
		{"rmdir outside", f.Rmdir("events/sched"), syscall.EPERM},
		{"rmdir of a file", f.Rmdir("README"), syscall.ENOTDIR},
		{"rmdir of the root", f.Rmdir("/"), syscall.EBUSY},
		{"write", WriteFile(f, "current_tracer", "function\n"), 0},
		{"bad write", WriteFile(f, "current_tracer", "bogus"), syscall.EINVAL},
		{"write of a read-only file", Append(f, "README", "x"), syscall.EINVAL},
		{"list of nothing", f.List(io.Discard, "nothing"), syscall.ENOENT},
	} {
		if got := tracefile.Errno(c.err); got != c.want {
			t.Errorf("%s: %v, want errno %v", c.what, c.err, c.want)
		}
	}
	if text, err := f.ReadFile("current_tracer"); string(text) != "function\n" || err != nil {
		t.Errorf("current_tracer reads %q, %v", text, err)
	}
}

// A short write is finished by another; one that takes nothing ends it.
func TestWriteAll(t *testing.T) {
	var got []string
	marker := tracefile.Marker("trace_marker", 0o220, func(_ context.Context, p []byte) (int, error) {
		n := min(len(p), 4)
		got = append(got, string(p[:n]))
		return n, nil
	})
	f := New(&tracefile.Dir{Children: func() []tracefile.Node {
		return []tracefile.Node{marker, tracefile.Marker("stuck", 0o220, func(context.Context, []byte) (int, error) { return 0, nil })}
	}})
	if err := WriteFile(f, "trace_marker", "hello world"); err != nil || fmt.Sprint(got) != "[hell o wo rld]" {
		t.Errorf("wrote %q, %v", got, err)
	}
	if err := WriteFile(f, "stuck", "x"); tracefile.Errno(err) != syscall.EIO {
		t.Errorf("a write that takes nothing: %v", err)
	}
}

// The listing is in the form of the kernel's capture: a tree built of a captured
// listing prints that listing.
func TestListLikeTheKernels(t *testing.T) {
	oracle := testutil.Oracle(t)
	text, err := os.ReadFile(filepath.Join(oracle, "debian/static/tree_find.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	root := &tracefile.Dir{Mode: 0o700}
	dirs, kids := map[string]*tracefile.Dir{".": root}, map[string][]tracefile.Node{}
	root.Children = func() []tracefile.Node { return kids["."] }
	for _, line := range want {
		var kind, name string
		var mode fs.FileMode
		if _, err := fmt.Sscanf(line, "%s %o %s", &kind, &mode, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if name == "." {
			continue
		}
		var node tracefile.Node = &tracefile.File{Name: filepath.Base(name), Mode: mode}
		if kind == "d" {
			d := &tracefile.Dir{Name: filepath.Base(name), Mode: mode, Children: func() []tracefile.Node { return kids[name] }}
			dirs[name], node = d, d
		}
		parent := filepath.Dir(name)
		if parent != "." {
			parent = "./" + parent
		}
		kids[parent] = append(kids[parent], node)
	}
	var got bytes.Buffer
	if err := New(root).List(&got, "."); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	slices.Sort(lines)
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		t.Errorf("%d lines, want the kernel's %d", len(lines), len(want))
	}
}
