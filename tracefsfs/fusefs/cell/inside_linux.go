package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// plan is what the server tells the first process of the cell.
type plan struct {
	Overlays            []string // by number, where they stand
	Programs            map[string]string
	Network, PerfEvents bool
	Syslog              bool   // syslog(2) is observed
	DebugSource         string // of the mount on Debug
}

// planFD is where the first process finds the plan.
const planFD = 3

// IsFirst says that this process is the first of a cell, started by Run, and is to call
// Main.
func IsFirst() bool {
	s := os.Getenv(stage)
	return s == furnishing || s == watching
}

// Main is the first process of a cell: it mounts what is to be there, gives up its rights,
// runs the program and returns its status. Whatever else runs in the cell ends with it.
func Main(argv []string) (status int, err error) {
	now := os.Getenv(stage)
	// Nobody in the cell is to look into this process, or to read its files by it.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 1, err
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return 1, err
	}
	if now == furnishing {
		return 1, prepare()
	}
	if err := os.Unsetenv(stage); err != nil {
		return 1, err
	}
	return watch(argv)
}

// prepare makes the cell and runs this program once more, as one that cannot change it.
func prepare() error {
	runtime.LockOSThread() // rights are a thread's; the one that executes goes on alone
	p, err := readPlan()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	binary, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", self, err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "/" // it was removed
	}
	if err := furnish(p); err != nil {
		return fmt.Errorf("cell: %w", err)
	}
	// By its name: the working folder that this process has from outside may lie in what
	// was taken out.
	if unix.Chdir(cwd) != nil {
		if err := unix.Chdir("/"); err != nil {
			return err
		}
	}
	if err := os.Setenv(stage, watching); err != nil {
		return err
	}
	if err := dropRights(); err != nil {
		return err
	}
	f, err := filter(p.PerfEvents, p.Network, p.Syslog)
	if err != nil {
		return err
	}
	if _, err := install(f, 0); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", self, syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", binary), os.Args, os.Environ()))
}

func readPlan() (p plan, err error) {
	f := os.NewFile(planFD, "plan")
	defer f.Close() // nothing was written
	text, err := io.ReadAll(f)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("cell: what to put into it: %w", err)
	}
	return p, nil
}

// watch runs the program and waits for it and for whoever has lost their parents. A
// signal that would end this process goes to the program, an interrupt to all processes.
func watch(argv []string) (status int, err error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 1, err
	}
	if err := closeOnExec(); err != nil {
		return 1, err
	}
	runtime.LockOSThread() // what this thread starts is observed, the other threads are not
	if err := letObserve(observerFD); err != nil {
		fmt.Fprintf(os.Stderr, "ftracelab: system calls beside the tracefs will not be shown: %v\n", err)
		if err := refuseSyslog(); err != nil { // which nobody answers
			return 1, err
		}
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTSTP)
	program, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 1, fmt.Errorf("%s: %w", path, err)
	}
	go func() {
		for s := range signals {
			switch s {
			case syscall.SIGTSTP: // who started us cannot see that it has stopped
				_ = unix.Kill(-1, unix.SIGCONT)
			case syscall.SIGTERM, syscall.SIGHUP:
				_ = unix.Kill(program, s.(syscall.Signal)) // it may just have ended
			default:
				_ = unix.Kill(-1, s.(syscall.Signal))
			}
		}
	}()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR) || err == nil && pid != program:
		case err != nil:
			return 1, err
		case ws.Signaled():
			return 128 + int(ws.Signal()), nil
		default:
			return ws.ExitStatus(), nil
		}
	}
}
