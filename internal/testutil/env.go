// Package testutil finds what tests need besides the files of the tree.
package testutil

import (
	"os"
	"os/exec"
	"testing"
)

// Oracle is the folder with the captures of real kernels.
func Oracle(tb testing.TB) string {
	tb.Helper()
	return FromEnv(tb, "FTRACELAB_ORACLE", "the folder with the captures of real kernels")
}

// FromEnv returns the path that an environment variable names; what describes it.
// Without the variable, the test is skipped. In CI, which provides everything, it fails
// instead.
func FromEnv(tb testing.TB, name, what string) string {
	tb.Helper()
	path := os.Getenv(name)
	switch {
	case path != "":
		return path
	case os.Getenv("CI") == "true":
		tb.Fatalf("%s is not set: CI has to name %s", name, what)
	}
	tb.Skipf("%s is not set: it names %s", name, what)
	return ""
}

// Program returns the path of a program that a test runs. Without the program, the test
// is skipped. In CI, which installs everything, it fails instead.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		tb.Fatalf("%s is not installed: CI has to install it", name)
	}
	tb.Skipf("%s is not installed", name)
	return ""
}

// Missing skips a test that lacks something. In CI, which provides everything, it fails
// the test instead.
func Missing(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("missing in CI: "+format, args...)
	}
	tb.Skipf("missing: "+format, args...)
}
