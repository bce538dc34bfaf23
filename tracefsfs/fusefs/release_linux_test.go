package fusefs

import (
	"errors"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// A signal that comes while a folder's last file is being released does not make rmdir(2)
// fail: the kernel's has nothing to wait for there.
func TestRmdirIsNotInterrupted(t *testing.T) {
	tries := 0
	instances := &tracefile.Dir{Name: "instances", Mode: 0o750, Children: func() []tracefile.Node { return []tracefile.Node{&tracefile.Dir{Name: "a", Mode: 0o750}} }, Rmdir: func(string) error {
		if tries++; tries < 4 {
			return syscall.EBUSY
		}
		return nil
	}}
	root := &tracefile.Dir{Children: func() []tracefile.Node { return []tracefile.Node{instances} }}
	m := newMount(t.TempDir(), Config{FS: tracefsfs.New(root)})
	n := m.remember("instances", instances)
	interrupted := make(chan struct{})
	close(interrupted)
	if status := m.Rmdir(interrupted, &fuse.InHeader{NodeId: n.id}, "a"); !status.Ok() || tries != 4 {
		t.Errorf("%v after %d tries", errors.New(status.String()), tries)
	}
}

// Whoever opens a file of one mount waits until one of another mount is released that holds
// and whose last descriptor was closed, whether it was written or not.
func TestReleasesOfOtherMounts(t *testing.T) {
	for _, written := range []bool{false, true} {
		closing := new(Closing)
		empty := tracefsfs.New(&tracefile.Dir{Children: func() []tracefile.Node { return nil }})
		device := newMount(t.TempDir(), Config{FS: empty, Closing: closing})
		tree := newMount(t.TempDir(), Config{FS: empty, Closing: closing})
		entry := tracefile.Value("device", 0o600, nil, func(string) error { return nil })
		handle, err := entry.Open(t.Context(), tracefile.Write)
		if err != nil {
			t.Fatal(err)
		}
		f := &file{node: device.remember("device", entry), entry: entry, flags: tracefile.Write, handle: handle, holds: true}
		f.written.Store(written)
		fh := device.addFile(f)
		if !tree.cfg.Closing.done(false) {
			t.Error("an open file is waited for")
		}
		if status := device.Flush(nil, &fuse.FlushIn{Fh: fh}); !status.Ok() {
			t.Fatal(status)
		}
		if tree.cfg.Closing.done(false) {
			t.Errorf("written %t: nobody waits for the release", written)
		}
		device.dropFile(fh)
		if !tree.cfg.Closing.done(false) {
			t.Errorf("written %t: still waited for", written)
		}
	}
}
