// Package testutil finds what tests need and the tree does not hold.
package testutil

import (
	"os"
	"testing"
)

// Oracle is the folder with the captures of real kernels.
func Oracle(tb testing.TB) string {
	tb.Helper()
	return FromEnv(tb, "FTRACELAB_ORACLE", "the folder with the captures of real kernels")
}

// FromEnv returns the path that an environment variable names; what says what it
// is. Without the variable the test is skipped, but in CI, which provides all, it
// fails.
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
