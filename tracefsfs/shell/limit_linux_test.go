package shell

import (
	"context"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostile is the variable with the script that TestPeak's child is to run.
const hostile = "FTRACELAB_TEST_HOSTILE"

// A process that runs such a script stays near the limit: by its largest resident
// size, with Go's own, and however fast it grows. Of many variables and
// of what jobs hold only the watch knows.
func TestPeak(t *testing.T) {
	if script := os.Getenv(hostile); script != "" {
		child(t, script)
		return
	}
	if testing.Short() {
		t.Skip("the memory of a process is measured without the race detector, which takes some of its own")
	}
	const most = 750 << 10 // KB
	for name, script := range map[string]string{
		"doubling":       "s=aaaaaaaaaaaaaaaa; while :; do s=$s$s; done",
		"substitution":   "x=$(cat /dev/zero)",
		"seq":            "x=$(seq 1 100000000)",
		"sed":            "echo a | sed ':a;G;H;ba'; exit 2",
		"jobs":           "while :; do sleep 1000000 & done",
		"fork":           ":(){ :|:& };:; while :; do sleep 1; done",
		"variables":      "x=$(head -c 60000 /dev/zero | tr '\\0' a); i=0; while :; do eval \"v$i=$i\\$x\"; i=$((i+1)); done",
		"here-documents": "x=$(head -c 1000000 /dev/zero | tr '\\0' a); i=0; while :; do sleep 1000000 <<E &\n$x$i\nE\ni=$((i+1)); done",
	} {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPeak$", "-test.count=1")
		cmd.Env = append(os.Environ(), hostile+"="+script)
		out, err := cmd.CombinedOutput()
		stop()
		if err != nil {
			t.Errorf("%s: %v: %.500q", name, err, out)
			continue
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			t.Fatal("no resource usage")
		}
		t.Logf("%-14s %4d MB, %v", name, usage.Maxrss>>10, cmd.ProcessState.UserTime().Round(time.Millisecond))
		if usage.Maxrss > most {
			t.Errorf("%s took %d MB", name, usage.Maxrss>>10)
		}
	}
}

// child runs a script that is to be ended, so that a shell without a limit harms no one.
func child(t *testing.T, script string) {
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 6 << 30, Max: 6 << 30}); err != nil {
		t.Fatal(err)
	}
	debug.SetMemoryLimit(DefaultMemory / 4 * 5)
	l := newLab(t)
	l.sh.cfg.Sleep = endless
	status, err := l.sh.Run(context.Background(), strings.NewReader(script), "test")
	if status != 2 || err != nil || strings.Count(l.err.String(), "\n") != 1 {
		t.Errorf("status %d, %v, %.200q", status, err, l.err.String())
	}
}
