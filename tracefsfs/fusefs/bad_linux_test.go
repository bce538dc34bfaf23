package fusefs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
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

// writable calls visit with every file that can be written; of the events only
// those of two systems.
func writable(t *testing.T, m *fusefs.Mount, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(m.Dir(), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(m.Dir(), name)
		if err != nil {
			return err
		}
		if d.IsDir() && filepath.Dir(rel) == "events" && rel != "events/sched" && rel != "events/ftrace" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o222 != 0 {
			visit(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGarbage(t *testing.T) {
	m := mountLab(t)
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 128<<10)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	garbage := map[string][]byte{
		"random bytes": random,
		"letters":      []byte(strings.Repeat("a", 128<<10)),
		"blanks":       []byte(strings.Repeat(" ", 128<<10)),
		"newlines":     []byte(strings.Repeat("\n", 4096)),
		"a number":     []byte("99999999999999999999999"),
		"minus one":    []byte("-1"),
		"nothing":      {},
		"brackets":     []byte(strings.Repeat("(", 128<<10)),
	}
	files := 0
	writable(t, m, func(name string) {
		files++
		for what, text := range garbage {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				if errors.Is(err, syscall.EIO) {
					t.Errorf("open of %s: %v", name, err)
				}
				continue
			}
			_, err = f.Write(text)
			if cerr := f.Close(); errors.Is(err, syscall.EIO) || errors.Is(cerr, syscall.EIO) {
				t.Errorf("%s into %s: %v, %v", what, name, err, cerr)
			}
		}
	})
	if files < 100 {
		t.Errorf("only %d writable files", files)
	}
	// It still is a tracefs.
	if got, err := os.ReadFile(filepath.Join(m.Dir(), "current_tracer")); err != nil || string(got) != "nop\n" {
		t.Errorf("current_tracer: %q, %v", got, err)
	}
	writeFile(t, m, "current_tracer", "function")
	writeFile(t, m, "current_tracer", "nop")
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
