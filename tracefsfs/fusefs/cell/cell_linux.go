package cell

import (
	"encoding/json"
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

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/tracefile"
)

// Tracing is where the tree stands in a cell.
const Tracing = "/sys/kernel/tracing"

// Debug is where debugfs stands, and the tree a second time below it, as old clients
// look for it. Overlays below it need no place on the host.
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
	// PlainSource leaves the sources of the mounts ordinary words; without it clients are
	// told that they are tracefs and debugfs (fusefs.SpoofedSource).
	PlainSource bool
	// Network shares the host's network; without it there is a loopback of the cell's own.
	Network bool
	// PerfEvents leaves perf_event_open to the program: it is the host's.
	PerfEvents bool
	// Release and Version are what uname(2) says of the kernel. Where the program's calls
	// cannot be observed, or if Release is empty, it says what the host's kernel is.
	Release, Version string
	// Syslog is syslog(2): the text is written to the memory of who has called. nil: there is
	// no right to call it, which is so as well where calls cannot be observed. Nobody gets
	// the host's log.
	Syslog func(action, size int) (text []byte, n int, err error)
}

// Overlay is a file or folder in the place of the host's.
type Overlay struct {
	Path string
	Node tracefile.Node
	// NoWrite says that it is a file of /proc without a write operation: each write is
	// EIO.
	NoWrite bool
}

// Cell is the trees of a cell, mounted where only this process sees them.
type Cell struct {
	tracing *fusefs.Mount
	host    *fusefs.Mount // the overlays
	plan    plan

	release, version string
	plainSource      bool
	syslog           func(action, size int) (text []byte, n int, err error)
}

// A program comes into a cell by three runs of this program, told apart by the variable
// stage of the environment.
const stage = "FTRACELAB_CELL"

// The stages; none is that of the program that was started by the user.
const (
	serving    = "serve"   // in mounts of its own: it has the trees
	furnishing = "furnish" // in all namespaces of the cell: it mounts what is there
	watching   = "watch"   // the same process with no more rights than the program, its parent
)

// Inside says that this process was started by Reexec and is to call New.
func Inside() bool { return os.Getenv(stage) == serving }

// Available says why a cell cannot be made here, nil if it can or if only trying tells.
func Available() error {
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("FUSE is not available: open /dev/fuse: %w", err)
	}
	unix.Close(device)
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
// and returns its exit status. Signals that would end it go to the second run. Without
// the right to mount it tries to get it from a user namespace.
func Reexec() (status int, err error) {
	if err := Available(); err != nil {
		return 1, err
	}
	if err := closeOnExec(); err != nil {
		return 1, err
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), stage+"="+serving)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A process group of its own: signals reach it through us, and once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if !privileged() {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	defer keepTerminal()()
	status, err = fusefs.Supervise(cmd)
	if err != nil && !privileged() {
		err = fmt.Errorf("a cell needs root (CAP_SYS_ADMIN), or a user namespace, which this system does not give: %w", err)
	}
	return status, err
}

// closeOnExec keeps what was left open by whoever started this process from the programs
// that it starts.
func closeOnExec() error {
	if err := unix.CloseRange(3, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	return nil
}

// grace is how long a program may live on that was told to end.
const grace = 800 * time.Millisecond

// run runs a program until it ends, or is killed because it does not although it was told
// to, and passes signals on. started is called when it has begun.
func run(cmd *exec.Cmd, started func()) (status int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	// The program is told of the end of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	started()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may just have ended
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
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

// New mounts a cell's trees. It is to be called where Inside says true, and changes the
// mounts of this process for good.
func New(cfg Config) (*Cell, error) {
	if !Inside() {
		return nil, errors.New("cell: not in mounts of its own")
	}
	if err := os.Unsetenv(stage); err != nil {
		return nil, err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("mounts of its own: %w", err)
	}
	if err := unix.Mount("ftracelab", Tracing, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700"); err != nil {
		return nil, fmt.Errorf("a place for the trees: %w", err)
	}
	if cfg.Tracing.Helper == nil {
		return nil, errors.New("cell: no helper")
	}
	cfg.Tracing.Mappable = true  // see mmap
	cfg.Tracing.AskAccess = true // who is in the cell is one user, and chdir is told
	c := &Cell{plan: plan{Programs: cfg.Programs, Network: cfg.Network, PerfEvents: cfg.PerfEvents, DebugSource: "debugfs"}}
	c.release, c.version, c.plainSource = cfg.Release, cfg.Version, cfg.PlainSource
	c.syslog, c.plan.Syslog = cfg.Syslog, cfg.Syslog != nil
	if err := c.mount(cfg); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close takes the trees away. Programs that still run get ENOTCONN.
func (c *Cell) Close() error {
	var errs []error
	for _, m := range []*fusefs.Mount{c.host, c.tracing} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}

// Program is what runs in a cell.
type Program struct {
	Argv                  []string
	Stdin, Stdout, Stderr *os.File
	// Started is called with the first process of the cell, as this process sees it,
	// before that starts another.
	Started func(pid int)
	// Observe is called before each system call of the program, and of what it starts, that
	// is one of Calls. The calls wait until it returns, one behind the other. It is not
	// called where the kernel does not let this process observe them.
	Observe func(Call)
	Calls   []fusefs.Wanted
	// CatchUp is called after Observe while the program has a ring in its memory, where it can
	// see at once what the call does. If it is nil, it sees that a little later.
	CatchUp func()
}

// calls reports whether a system call is one of Calls.
func (p *Program) calls(nr uint32) bool {
	return slices.ContainsFunc(p.Calls, func(c fusefs.Wanted) bool { return c.NR == nr })
}

// Run runs a program in the cell and returns its status. It ends, and so does all that it
// has started, when this process does. It is to be called by a process whose command line
// leads to Main, too.
func (c *Cell) Run(p Program) (status int, err error) {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		if err := refuseFolder(f); err != nil {
			return 1, err
		}
	}
	if err := closeOnExec(); err != nil {
		return 1, err
	}
	paper, err := json.Marshal(c.plan)
	if err != nil {
		return 1, err
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), stage+"="+furnishing)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // kill(0) of the program reaches nobody else
	}
	if !c.plan.Network {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	if tty := foreground(unix.Getpgid(os.Getppid())); tty != nil {
		defer tty.Close() // nothing was written
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, int(tty.Fd())
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	observed, err := newObserved()
	if err != nil {
		return 1, errors.Join(err, r.Close(), w.Close())
	}
	calls := slices.Clone(p.Calls)
	for _, nr := range c.answered() {
		if !p.calls(nr) {
			calls = append(calls, fusefs.Wanted{NR: nr})
		}
	}
	theirs, err := observed.ask(calls)
	if err != nil {
		return 1, errors.Join(err, r.Close(), w.Close(), unix.Close(observed.ours))
	}
	cmd.ExtraFiles = []*os.File{r, theirs} // at planFD and observerFD
	go observed.follow(func(call Call) (answered bool, err error) {
		p.Observe(call)
		if p.CatchUp != nil && c.tracing.Mapped() {
			p.CatchUp()
			c.tracing.ShowMapped()
		}
		if p.calls(uint32(call.NR)) {
			switch call.NR {
			case unix.SYS_READ, unix.SYS_READV, unix.SYS_SPLICE:
				c.tracing.Reads(call.TID, fd(call.Args[0]))
			}
		}
		return c.answer(call)
	}, c.mmap)
	status, err = run(cmd, func() {
		r.Close()
		theirs.Close()
		if p.Started != nil {
			p.Started(cmd.Process.Pid)
		}
		_, _ = w.Write(paper) // if it has ended its status says so
		w.Close()
	})
	r.Close()
	w.Close()
	theirs.Close()
	if err != nil {
		err = fmt.Errorf("namespaces of the cell: %w", err)
	}
	return status, err
}

// refuseFolder refuses a folder as a standard file: it would be a way to the host's files.
func refuseFolder(f *os.File) error {
	if f == nil {
		return nil
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: %w", f.Name(), syscall.EISDIR)
	}
	return nil
}
