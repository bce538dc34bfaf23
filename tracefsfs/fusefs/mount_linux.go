package fusefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
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
	// Opens reports whether a thread that looks a name up is opening the file, if that is
	// known; nil: it never is.
	Opens func(thread int) (opens, known bool)
	// Source is the first column of /proc/mounts; empty means "tracefs".
	Source string
	// Control are more files of the hidden folder .ftracelab, which is for programs
	// that know what they mount.
	Control []tracefile.Node
	// Type is what follows "fuse." in the type; empty means "tracefs".
	Type string
	// AskAccess has the kernel ask this process what callers may do, in place of deciding
	// itself. It is less exact (see access_linux.go) and for mounts that only programs of one
	// user see: only so the kernel tells of chdir(2) to a folder where the caller is already.
	AskAccess bool
	// Helper does what may wait for the mount; nil: New starts one, and Close ends it.
	Helper *Helper
	// NotSelf refuses what threads of this process ask to read (EDEADLK). A server has no
	// business in its own mount, but a client can lead it there: by mapping a file of the
	// mount where /proc/PID/cmdline takes its text from.
	NotSelf bool
	// Mappable lets clients map files into memory. Who sets it has Map asked before each
	// shared mapping.
	Mappable bool
	// Polls lets clients wait with poll(2), select(2) and epoll(7) for trace_pipe and hist. A
	// Go program that uses files of its own mount through package os must not set it: the
	// runtime waits in epoll_ctl(2) for an answer that it then cannot give. Without it, poll
	// says of each file at once that it can be read and written.
	Polls bool
	// Closing are shared with other mounts of the machine; nil: with none.
	Closing *Closing
	// Changes are files of which the kernel is to be told; nil: there are none.
	Changes *Changes
}

// Mount is a mounted tree.
type Mount struct {
	fuse.RawFileSystem // what is not served answers ENOSYS

	cfg    Config
	dir    string
	device *device
	helper *Helper

	major, minor uint32 // of the device that its files are on

	ends  func(n *node, flags ...int) ([]int, error) // opens a FIFO, see aliasEnds
	born  time.Time
	clock *Clock

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

	pollers map[uint64]bool // files that somebody waits for, see wakePollers

	mapped map[*node]bool // rings that clients have in their memory

	aliases   map[string]*node // names by which the helper finds FIFOs, each once
	nextAlias uint64

	telling atomic.Bool // somebody tells the kernel of changes

	stale    bool // folders of dynamic events may have gone, see sweepPassing
	sweeping bool // somebody finds out

	ending chan struct{} // closed: Close has begun
	closed sync.Once
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
	m := newMount(dir, cfg)
	if m.helper = cfg.Helper; m.helper == nil {
		if m.helper, err = StartHelper(); err != nil {
			return nil, fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	if err := m.attach(); err != nil {
		return nil, errors.Join(fmt.Errorf("mount %s: %w", dir, err), m.dismiss())
	}
	if cfg.Run != nil {
		m.clock.Start(cfg.Run, m.pump)
	}
	go m.endWithHelper()
	return m, nil
}

// newMount makes what serves a tree, which is mounted nowhere.
func newMount(dir string, cfg Config) *Mount {
	if cfg.Clock == nil {
		cfg.Clock = new(Clock)
	}
	if cfg.Closing == nil {
		cfg.Closing = new(Closing)
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
		aliases: map[string]*node{}, pollers: map[uint64]bool{}, mapped: map[*node]bool{}, owners: newOwners(), ending: make(chan struct{}),
	}
	m.ends = m.aliasEnds
	m.addRoot()
	return m
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
func (m *Mount) Wait() { m.device.Wait() }

// Close unmounts the tree, however it is used: blocked readers are woken, and
// what clients hold open answers ENOTCONN from then on.
func (m *Mount) Close() error {
	var err error
	m.closed.Do(func() {
		close(m.ending)
		// Force cuts the connection: without it the last client would have to go first.
		if err = unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			err = nil // somebody unmounted it before
		}
		err = errors.Join(err, m.dismiss())
		m.closeFIFOs() // they are files of the mount, too
		m.device.Wait()
		m.clock.Stop()
		m.closeFiles()
	})
	return err
}

// dismiss ends what New began to have help.
func (m *Mount) dismiss() error {
	if m.cfg.Helper == nil {
		return m.helper.Close()
	}
	m.helper.wake()
	_, err := m.helper.do(nil, job{Op: opForget, Path: m.dir})
	if errors.Is(err, unix.ESHUTDOWN) || errors.Is(err, unix.EPIPE) {
		return nil // it has ended, and forgotten all
	}
	return err
}

// endWithHelper ends the mount if the helper is killed: nobody would take it away later.
func (m *Mount) endWithHelper() {
	select {
	case <-m.helper.Gone():
		_ = m.Close() // the helper is known to be dead
	case <-m.ending:
	}
}

// before is told of each request of a client; size is a read's or a write's.
func (m *Mount) before(h *fuse.InHeader, op Op, n *node, size int) {
	if m.cfg.Before != nil {
		m.cfg.Before(Request{PID: int(h.Pid), Op: op, Path: n.path, Size: size})
		return
	}
	m.clock.Request(op, op == OpOpen)
}
