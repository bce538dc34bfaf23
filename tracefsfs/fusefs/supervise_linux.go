package fusefs

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// leashEnv is the descriptor of the leash: a socket whose other end has the process that
// supervises a server. It goes to the server's helper.
const leashEnv = "FTRACELAB_LEASH"

// How long the end of a supervised server may take, from the signal that asks for it.
const (
	gracePeriod = time.Second            // to end by itself
	mercyPeriod = 300 * time.Millisecond // to be gone when it was killed
)

// Supervised says that this process was started by Supervise.
func Supervised() bool { return os.Getenv(leashEnv) != "" }

// takeLeash is the leash, nil if there is none or it was taken before.
func takeLeash() *os.File {
	fd, err := strconv.Atoi(os.Getenv(leashEnv))
	if err != nil || os.Getenv(helperEnv) != "" {
		return nil
	}
	if err := os.Unsetenv(leashEnv); err != nil {
		return nil
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "leash")
}

// Supervise runs a program that serves mounts, for one that does nothing else, and
// returns its exit status as a shell gives it. SIGTERM and SIGHUP go to the program. One
// that has not ended a little later, because it is stopped or hangs, is killed and its
// mounts are taken away: two seconds after the signal, whatever happens, Supervise
// returns. The mounts go, too, if the program is killed, or the caller.
//
// SIGINT and SIGQUIT go to a program with a process group of its own, and tell one with a
// session of its own to end. Another one has got them from the terminal, as the caller.
func Supervise(cmd *exec.Cmd) (status int, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 1, err
	}
	leash, theirs := ends[0], os.NewFile(uintptr(ends[1]), "leash")
	defer unix.Close(leash)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, leashEnv+"="+strconv.Itoa(3+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	// The program may want to hear of the end of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return 1, err
	}
	done, helperDone := make(chan error, 1), make(chan struct{})
	go func() { done <- cmd.Wait() }()
	go func() { endOf(leash); close(helperDone) }()
	var tooLong <-chan time.Time
	ended := false
	for !ended {
		select {
		case s := <-signals:
			s = passed(s, cmd.SysProcAttr)
			if s == nil {
				continue
			}
			_ = cmd.Process.Signal(s) // it may just have ended
			if tooLong == nil && (s == syscall.SIGTERM || s == syscall.SIGHUP) {
				tooLong = time.After(gracePeriod)
			}
		case err = <-done:
			ended = true
		case <-tooLong:
			_ = unix.Shutdown(leash, unix.SHUT_WR)
			_ = cmd.Process.Kill()
			select {
			case err = <-done:
			case <-time.After(mercyPeriod): // it is left to the kernel
				return 128 + int(syscall.SIGKILL), nil
			}
			ended = true
		}
	}
	_ = unix.Shutdown(leash, unix.SHUT_WR)
	select {
	case <-helperDone: // the mounts are gone
	case <-time.After(mercyPeriod):
	}
	return exitStatus(err)
}

// passed is what a supervised program gets of a signal; nil: nothing.
func passed(s os.Signal, attr *syscall.SysProcAttr) os.Signal {
	switch {
	case s == syscall.SIGTERM || s == syscall.SIGHUP:
		return s
	case attr != nil && attr.Setsid:
		return syscall.SIGTERM
	case attr != nil && attr.Setpgid:
		return s
	}
	return nil
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
