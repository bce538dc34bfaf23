package cell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/internal/tracefile"
	"ftracelab/tracefsfs/fusefs"
)

// Tracing is where the tree stands in a cell.
const Tracing = "/sys/kernel/tracing"

// Debug is where debugfs stands, and the tree a second time below it, as old clients
// look for it.
const Debug = "/sys/kernel/debug"

// Config says what is in a cell.
type Config struct {
	Tracing fusefs.Config // Source is set by New; a Helper is needed, started in the cell
	// Overlays stand over files and folders of the host. One whose place the host
	// does not have is left out: a client cannot miss what its system never had.
	Overlays []Overlay
	// Before is fusefs.Config.Before of the overlays; a request's path is absolute.
	Before func(fusefs.Request)
	// Programs are shell scripts in the system's folder of them, /usr/sbin, by name.
	Programs map[string]string
	// PlainSource leaves the source of the mount an ordinary word; without it libtracefs
	// and perf are told that it is tracefs (fusefs.SpoofedSource).
	PlainSource bool
}

// Overlay is a file or folder in the place of the host's.
type Overlay struct {
	Path string
	Node tracefile.Node
	// NoWrite says that it is a file of /proc without a write operation: each write is
	// EIO.
	NoWrite bool
}

// Cell is a set of mounts with a tree in it.
type Cell struct {
	helper  *fusefs.Helper
	tracing *fusefs.Mount
	host    *fusefs.Mount // the overlays
	binds   []string      // where they stand
}

// inside is set in the environment of the second run.
const inside = "FTRACELAB_CELL"

// Inside says that this process has mounts of its own, made by Reexec.
func Inside() bool { return os.Getenv(inside) == "1" }

// Available says why a cell cannot be made here, nil if it can.
func Available() error {
	if err := fusefs.Available(); err != nil {
		return err
	}
	info, err := os.Stat(Tracing)
	switch {
	case err != nil:
		return fmt.Errorf("the tree has no place to stand: %w (this system's sysfs has no such folder)", err)
	case !info.IsDir():
		return fmt.Errorf("%s: %w", Tracing, syscall.ENOTDIR)
	}
	return nil
}

// Reexec runs this program again, with the same arguments and in mounts of its own,
// and returns its exit status. Signals that would end it go to the second run.
func Reexec() (status int, err error) {
	if err := Available(); err != nil {
		return 1, err
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	return fusefs.Supervise(cmd)
}

// grace is how long a program may live on that was told to end.
const grace = 800 * time.Millisecond

// run runs a program until it ends, or is killed because it does not although it was told
// to. An interrupt from the terminal reaches it without our help, so we only have to live
// through it.
func run(cmd *exec.Cmd) (status int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				_ = cmd.Process.Signal(s) // it may just have ended
				time.AfterFunc(grace, func() { _ = cmd.Process.Kill() })
			}
		case err := <-done:
			return exitStatus(err)
		}
	}
}

// exitStatus is a program's status as a shell gives it.
func exitStatus(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// New puts a cell's mounts in place. It is to be called where Inside says true,
// and changes the mounts of this process for good.
func New(cfg Config) (*Cell, error) {
	if !Inside() {
		return nil, errors.New("cell: not in mounts of its own")
	}
	if err := os.Unsetenv(inside); err != nil {
		return nil, err
	}
	if err := hide(); err != nil {
		return nil, err
	}
	c := &Cell{}
	if !cfg.PlainSource {
		cfg.Tracing.Source = fusefs.SpoofedSource(Tracing)
	}
	var err error
	if c.helper = cfg.Tracing.Helper; c.helper == nil {
		return nil, errors.New("cell: no helper")
	}
	cfg.Tracing.AskAccess = true // who is in the cell is one user, and chdir is told
	if c.tracing, err = fusefs.New(Tracing, cfg.Tracing); err != nil {
		return nil, err
	}
	if err := c.overlay(cfg.Overlays, cfg.Before); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.bindDebug(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := addPrograms(cfg.Programs); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.check(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close takes the trees away. Programs that still run get ENOTCONN.
func (c *Cell) Close() error {
	var errs []error
	for _, path := range slices.Backward(c.binds) {
		errs = append(errs, c.helper.Unmount(path, unix.MNT_FORCE|unix.MNT_DETACH))
	}
	for _, m := range []*fusefs.Mount{c.host, c.tracing} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}

// Run runs a program in the cell and returns its status.
func (c *Cell) Run(argv []string, stdin *os.File, stdout, stderr *os.File) (status int, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	result := make(chan struct{})
	go func() {
		defer close(result)
		// The thread gives rights away, which it cannot get back: it ends with us.
		if err = dropRights(); err == nil {
			status, err = run(cmd)
		}
	}()
	<-result
	return status, err
}

// rights are what a client must not have.
var rights = []struct {
	bit  int
	what string
}{
	{unix.CAP_SYS_ADMIN, "mount the host's tracefs"},
	{unix.CAP_SYS_MODULE, "load modules into the host's kernel"},
	{unix.CAP_BPF, "trace the host by BPF"},
}

// dropRights takes rights from the programs that the calling goroutine starts.
func dropRights() error {
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for _, r := range rights {
		// EINVAL: a kernel that does not know the right.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(r.bit), 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("cannot take the right to %s: %w", r.what, err)
		}
		data[r.bit/32].Inheritable &^= 1 << (r.bit % 32)
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("ambient rights: %w", err)
	}
	if left, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil || left != 0 {
		return fmt.Errorf("the right to mount is still there (%w)", err)
	}
	return nil
}
