package fusefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ftracelab/internal/tracefile"
	"ftracelab/tracefsfs"
)

// Config says what to mount.
type Config struct {
	FS  *tracefsfs.FS
	Run func(ns uint64) // moves simulated time; nil: it stands still, and FIFOs too
	// Clock is the one whose Wait the tree's blocking files use; nil: a new one.
	Clock *Clock
	// Before is called at each request of a client, before it is served, in place
	// of Clock.Request.
	Before func(Request)
	// PID is the number by which the tree's machine knows a thread of a client; nil: as
	// this process sees it.
	PID func(thread int) int
	// Source is the first column of /proc/mounts; empty means "tracefs".
	Source string
	// Control are more files of the hidden folder .ftracelab, which is for programs
	// that know what they mount.
	Control []tracefile.Node
	// Type is what follows "fuse." in the type; empty means "tracefs".
	Type string
}

// Mount is a mounted tree.
type Mount struct {
	fuse.RawFileSystem // what is not served answers ENOSYS

	cfg    Config
	dir    string
	server *fuse.Server
	apart  *apart
	born   time.Time
	clock  *Clock

	mu     sync.Mutex
	nodes  map[uint64]*node
	paths  map[string]*node
	nextID uint64
	owners owners
	static map[string]bool // event systems there at the start, which do not go away
	files  map[uint64]*file
	nextFH uint64
	fifos  map[*node]*fifo
	ticks  int

	closing map[*file]bool // see awaitReleases
	closed  sync.Once
}

// New mounts cfg.FS on dir, an existing folder, and serves it until Close or
// until somebody unmounts it. It needs the right to mount (CAP_SYS_ADMIN) and
// /dev/fuse; Available tells what is missing.
func New(dir string, cfg Config) (*Mount, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if cfg.Clock == nil {
		cfg.Clock = new(Clock)
	}
	if cfg.Source == "" {
		cfg.Source = "tracefs"
	}
	if cfg.Type == "" {
		cfg.Type = "tracefs"
	}
	m := &Mount{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		cfg:           cfg, dir: dir, born: time.Now(), clock: cfg.Clock, nextID: fuse.FUSE_ROOT_ID + 1,
		nodes: map[uint64]*node{}, paths: map[string]*node{}, files: map[uint64]*file{}, fifos: map[*node]*fifo{},
		owners: newOwners(), closing: map[*file]bool{},
	}
	m.addRoot()
	if m.apart, err = startApart(); err != nil {
		return nil, fmt.Errorf("mount %s: %w", dir, err)
	}
	if err := m.attach(); err != nil {
		m.apart.stop()
		return nil, fmt.Errorf("mount %s: %w", dir, err)
	}
	if cfg.Run != nil {
		m.clock.Start(cfg.Run, m.pump)
	}
	return m, nil
}

// Available says why New cannot work here, nil if it can.
func Available() error {
	fuseDev, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("FUSE is not available: open /dev/fuse: %w", err)
	}
	unix.Close(fuseDev)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	if data[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return fmt.Errorf("mounting needs CAP_SYS_ADMIN (root; exec does without where user namespaces are allowed): %w", os.ErrPermission)
	}
	return nil
}

// Dir is where the tree is mounted.
func (m *Mount) Dir() string { return m.dir }

// Clock is the mount's clock.
func (m *Mount) Clock() *Clock { return m.clock }

// Wait returns when the tree is no longer mounted.
func (m *Mount) Wait() { m.server.Wait() }

// Close unmounts the tree, however it is used: blocked readers are woken, and
// what clients hold open answers ENOTCONN from then on.
func (m *Mount) Close() error {
	var err error
	m.closed.Do(func() {
		m.closeFIFOs() // they are files of the mount, too
		// Force cuts the connection: without it the last client would have to go first.
		if err = unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			err = nil // somebody unmounted it before
		}
		m.server.Wait()
		m.clock.Stop()
		m.closeFiles()
		m.apart.stop()
	})
	return err
}

// Apart calls f on a thread that may wait for the mount even if this process is
// killed meanwhile. f must not use package os.
func (m *Mount) Apart(f func() error) error { return m.apart.do(f) }

// before is told of each request of a client; size is a read's or a write's.
func (m *Mount) before(h *fuse.InHeader, op Op, n *node, size int) {
	if m.cfg.Before != nil {
		m.cfg.Before(Request{PID: int(h.Pid), Op: op, Path: n.path, Size: size})
		return
	}
	m.clock.Request(op)
}

// pid is the number by which the machine knows who asks.
func (m *Mount) pid(h *fuse.InHeader) int {
	if m.cfg.PID == nil {
		return int(h.Pid)
	}
	return m.cfg.PID(int(h.Pid))
}
