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
