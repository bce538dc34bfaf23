package fusefs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What programs do with any file ends as with one of tracefs. The errors are those of a real
// 6.12.
func TestPlainFileCalls(t *testing.T) {
	m := mountLab(t)
	at := func(name string) string { return filepath.Join(m.Dir(), name) }
	open := func(name string, flags int) int {
		fd, err := unix.Open(at(name), flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("open %s: %v", name, err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	long := strings.Repeat("a", unix.NAME_MAX+1)
	seek := func(fd int) error { _, err := unix.Seek(fd, 0, unix.SEEK_SET); return err }
	stat := func(name string) error { var st unix.Stat_t; return unix.Stat(at(name), &st) }
	direct := func(name string) error {
		fd, err := unix.Open(at(name), unix.O_RDONLY|unix.O_DIRECT, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	pwrite := func(fd int) error { _, err := unix.Pwrite(fd, []byte("x"), 1); return err }
	for _, c := range []struct {
		what string
		got  error
		want error
	}{
		{"fsync", unix.Fsync(open("tracing_on", unix.O_WRONLY)), unix.EINVAL},
		{"fdatasync", unix.Fdatasync(open("trace", unix.O_RDONLY)), unix.EINVAL},
		{"open of README with O_DIRECT", direct("README"), unix.EINVAL},
		{"lseek of trace_marker", seek(open("trace_marker", unix.O_WRONLY)), unix.ESPIPE},
		{"lseek of trace_marker_raw", seek(open("trace_marker_raw", unix.O_WRONLY)), unix.ESPIPE},
		{"pwrite to trace_marker", pwrite(open("trace_marker", unix.O_WRONLY)), unix.ESPIPE},
		{"lseek of tracing_on", seek(open("tracing_on", unix.O_WRONLY)), nil},
		{"a long name", stat(long), unix.ENAMETOOLONG},
		{"a long name in instances", stat("instances/" + long), unix.ENAMETOOLONG},
		{"a long name in events", stat("events/sched/" + long), unix.ENOENT},
		{"a long folder", unix.Mkdir(at(long), 0o700), unix.ENAMETOOLONG},
		{"a long folder in events", unix.Mkdir(at("events/"+long), 0o700), unix.EPERM},
		{"a folder with a name of 255", unix.Mkdir(at("instances/"+long[1:]), 0o700), nil},
		{"its end", unix.Rmdir(at("instances/" + long[1:])), nil},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// A folder of events has one link, others have more.
func TestLinks(t *testing.T) {
	m := mountLab(t)
	if err := os.Mkdir(filepath.Join(m.Dir(), "instances/one"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint64{
		"": 2, "instances/one": 2, "instances/one/events": 1, "events": 1, "events/sched": 1, "per_cpu/cpu0": 2, "trace": 1,
	} {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(m.Dir(), name), &st); err != nil || uint64(st.Nlink) != want {
			t.Errorf("%s has %d links (%v), want %d", name, st.Nlink, err, want)
		}
	}
}
