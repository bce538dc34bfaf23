package fusefs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// Clients that do what no client should. Nothing may hang, leak, panic or answer
// EIO, which would be an error without an errno.

// settled waits until the kernel has released what was closed.
func settled(t *testing.T, m *fusefs.Mount) {
	t.Helper()
	waitFor(t, "all files to be released", func() bool { return m.OpenFiles() == 0 })
}

func TestThousandsOfOpens(t *testing.T) {
	m := mountLab(t)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n := min(4000, int(limit.Cur)-200)
	var open []*os.File
	for i := range n {
		name := []string{"trace", "tracing_on", "trace_options", "set_event", "README"}[i%5]
		f, err := os.OpenFile(filepath.Join(m.Dir(), name), os.O_RDONLY, 0)
		if err != nil {
			t.Fatalf("open %d of %s: %v", i, name, err)
		}
		open = append(open, f)
	}
	if got := m.OpenFiles(); got != n {
		t.Errorf("%d files are open, want %d", got, n)
	}
	for _, f := range open {
		if _, err := f.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		f.Close()
	}
	settled(t, m)
}

func TestRemoveAll(t *testing.T) {
	m := mountLab(t)
	if err := os.Mkdir(filepath.Join(m.Dir(), "instances/gone"), 0o700); err != nil {
		t.Fatal(err)
	}
	list := func() string {
		var names []string
		entries, err := os.ReadDir(m.Dir())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	before := list()
	for _, name := range []string{"options", "per_cpu", "instances/gone/options", "events/sched", "README", "trace"} {
		out, err := exec.Command("rm", "-rf", filepath.Join(m.Dir(), name)).CombinedOutput()
		if err == nil || strings.Contains(string(out), "Input/output error") {
			t.Errorf("rm -rf %s: %v\n%.500s", name, err, out)
		}
	}
	if after := list(); after != before {
		t.Errorf("rm -rf left %q of %q", after, before)
	}
	settled(t, m)
}

func TestTwoMounts(t *testing.T) {
	a, b := mountLab(t), mountLab(t)
	writeFile(t, a, "current_tracer", "function")
	if got, err := os.ReadFile(filepath.Join(b.Dir(), "current_tracer")); err != nil || string(got) != "nop\n" {
		t.Errorf("the other mount has %q, %v", got, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	writeFile(t, b, "tracing_on", "0")
}

// racers are what the kernel's instance tests do, five at a time.
const racer = `
cd "$1/instances" || exit 1
i=0
while [ $i -lt %d ]; do
	mkdir $2 2>/dev/null
	echo 1 > $2/events/sched/sched_switch/enable
	cat $2/trace > /dev/null
	cat $2/set_event > /dev/null
	ls $2 > /dev/null
	rmdir $2
	i=$((i + 1))
done 2>>"$3"
exit 0
`

func TestRacingShells(t *testing.T) {
	m := mountLab(t)
	messages := filepath.Join(t.TempDir(), "errors")
	script := fmt.Sprintf(racer, 20)
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			out, err := exec.Command("sh", "-c", script, "sh", m.Dir(), []string{"x", "y"}[i%2], messages).CombinedOutput()
			if err != nil {
				t.Errorf("shell %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(messages)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "Input/output error") || strings.Contains(string(text), "Transport endpoint") {
		t.Errorf("the shells were told:\n%.2000s", text)
	}
	for _, name := range []string{"x", "y"} {
		if err := unix.Rmdir(filepath.Join(m.Dir(), "instances", name)); err != nil && !errors.Is(err, unix.ENOENT) {
			t.Errorf("rmdir %s: %v", name, err)
		}
	}
	settled(t, m)
}
