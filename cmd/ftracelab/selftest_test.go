package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// driver does for one test what the kernel's ftracetest does: helpers sourced,
// tracing put into its initial state, the test sourced in the tracefs.
const driver = `
exit_fail() { exit 1; }
exit_pass() { exit 0; }
TRACING_DIR=/sys/kernel/tracing
. %s
initialize_ftrace >/dev/null 2>&1
. %s
`

// runSelftest runs one selftest in the shell and returns its transcript.
func runSelftest(t *testing.T, preset, test string) (status int, transcript string) {
	t.Helper()
	helpers := filepath.Join(testutil.FromEnv(t, "FTRACELAB_SELFTESTS", "tools/testing/selftests/ftrace of a Linux 6.12 source"), "test.d", "functions")
	script := filepath.Join(t.TempDir(), "driver.sh")
	if err := os.WriteFile(script, fmt.Appendf(nil, driver, helpers, test), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	status = run(context.Background(), []string{"shell", "--stackmap", preset, script}, strings.NewReader(""), &out, &out)
	return status, out.String()
}

// TestStackmapSelftest runs the stackmap's own selftest, unmodified. In the
// documented preset it passes, as its author promised; the two patched kernels
// failed it, and so do their presets, with the same words. With scheduler events
// in place of the function tracer it passed on both.
func TestStackmapSelftest(t *testing.T) {
	basic := testutil.FromEnv(t, "FTRACELAB_STACKMAP_TC", "the stackmap patches' stackmap-basic.tc")
	text, err := os.ReadFile(basic)
	if err != nil {
		t.Fatal(err)
	}
	sched := filepath.Join(t.TempDir(), "stackmap-sched.tc")
	const tracer, events = "echo function > current_tracer", "echo 1 > events/sched/enable"
	if strings.Count(string(text), tracer) != 1 {
		t.Fatalf("%s has changed: it should select the function tracer once", basic)
	}
	if err := os.WriteFile(sched, []byte(strings.Replace(string(text), tracer, events, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	const passed, noEntries = "stackmap basic test passed: ", "FAIL: stackmap has zero entries after tracing\n"
	for _, c := range []struct {
		preset, test string
		status       int
		want         string
	}{
		{"documented", basic, 0, passed},
		{"v2", basic, 1, noEntries},
		{"v4", basic, 1, noEntries},
		{"documented", sched, 0, passed},
		{"v2", sched, 0, passed},
		{"v4", sched, 0, passed},
	} {
		t.Run(c.preset+"/"+filepath.Base(c.test), func(t *testing.T) {
			status, transcript := runSelftest(t, c.preset, c.test)
			t.Logf("status %d: %s", status, transcript)
			if status != c.status || !strings.HasPrefix(transcript, c.want) {
				t.Errorf("status %d, want %d and %q", status, c.status, c.want)
			}
			_, again := runSelftest(t, c.preset, c.test)
			if again != transcript {
				t.Errorf("the same seed gave another transcript: %q", again)
			}
		})
	}
}
