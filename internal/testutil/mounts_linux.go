package testutil

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// privateMounts marks a test binary that has mounts of its own.
const privateMounts = "FTRACELAB_TEST_MOUNTS"

// RunWithPrivateMounts calls m.Run in a process whose mounts nobody else sees, if that
// is possible: other programs must not find the FUSE mounts of a test. A TestMain
// passes the result to os.Exit.
func RunWithPrivateMounts(m *testing.M) int {
	if os.Getenv(privateMounts) != "" || os.Geteuid() != 0 {
		return m.Run()
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), privateMounts+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	case errors.Is(err, syscall.EPERM):
		return m.Run() // the tests then say what they lack
	}
	fmt.Fprintln(os.Stderr, "private mounts:", err)
	return 1
}

// NeedPrivateMounts skips a test, or fails it in CI, unless available is nil and
// the process has mounts of its own.
func NeedPrivateMounts(tb testing.TB, available error) {
	tb.Helper()
	if available == nil && os.Getenv(privateMounts) == "" {
		available = errors.New("no mounts of its own (unshare)")
	}
	switch {
	case available == nil:
	case os.Getenv("CI") == "true":
		tb.Fatalf("CI has to provide FUSE: %v", available)
	default:
		tb.Skipf("%v", available)
	}
}
