package fusefs_test

import (
	"errors"
	"flag"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

var seedFlag = flag.Uint64("garbage.seed", 0, "seed of TestGarbage's random bytes; 0: a new one each time")

const garbageSize = 128 << 10 // bytes; what FUSE brings in one write

// beginnings are what files take, for garbage to follow; elsewhere it follows what
// the file says.
var beginnings = map[string]string{
	"set_event": "sched:sched_switch ", "set_event_pid": "1 ", "set_event_notrace_pid": "1 ",
	"set_ftrace_pid": "1 ", "set_ftrace_notrace_pid": "1 ",
	"set_ftrace_filter": "vfs_read ", "set_ftrace_notrace": "vfs_read:traceoff:1 ",
	"set_graph_function": "vfs_read ", "set_graph_notrace": "vfs_write ", "stack_trace_filter": "vfs_read ",
	"kprobe_events": "p:a vfs_read\np:b ", "uprobe_events": "p:u /bin/sh:0 ", "dynamic_events": "f:c vfs_read\ne:",
	"synthetic_events": "made int x; ", "trace_options": "sym-addr ", "current_tracer": "function ",
	"trigger": "traceoff:1 if common_pid == 1 && ", "filter": "common_pid == 1 && ",
	"trace_marker": "hello\n", "trace_marker_raw": "\x01\x00\x00\x00raw",
}

// garbage is texts that no client should write, by what they are.
func garbage(seed uint64) map[string]string {
	all := map[string]string{
		"nothing": "", "minus one": "-1", "a number": "99999999999999999999999", "a good beginning": "",
	}
	for what, text := range map[string]string{
		"zeros": "\x00", "newlines": "\n", "blanks": " ", "one line": "a", "brackets": "(", "words": "a b:c ",
	} {
		all[what] = strings.Repeat(text, garbageSize/len(text))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	random := make([]byte, garbageSize)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	all["random bytes"] = string(random)
	return all
}

// beginning is something that a file takes: what it says, if nothing better is known.
func beginning(t *testing.T, name string) string {
	t.Helper()
	if text, ok := beginnings[filepath.Base(name)]; ok {
		return text
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	said := make([]byte, 64)
	n, err := f.Read(said)
	if errors.Is(err, unix.EIO) {
		t.Errorf("read of %s: %v", name, err)
	}
	line, _, _ := strings.Cut(string(said[:max(n, 0)]), "\n")
	return line
}

// writable lists the files that can be written.
func writable(t *testing.T, m *fusefs.Mount) (files []string) {
	t.Helper()
	err := filepath.WalkDir(m.Dir(), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o222 != 0 {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGarbage writes garbage into every file of the tree and of an instance that can
// be written: each kind of it into each file, but of the thousands of files of the
// events, which are of three sorts, each gets one kind, by turns. In short all files
// do so, and of the events only a tenth.
func TestGarbage(t *testing.T) {
	m := mountLab(t)
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-garbage.seed %d", seed)
	texts := garbage(seed)
	kinds := slices.Sorted(maps.Keys(texts))
	if err := os.Mkdir(filepath.Join(m.Dir(), "instances/messy"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := writable(t, m)
	before := runtime.NumGoroutine()
	turn := 0
	for _, name := range files {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, m.Dir()+"/"), "instances/messy/")
		these := kinds
		ofEvent := strings.Count(rel, "/") == 3 && strings.HasPrefix(rel, "events/")
		if ofEvent || testing.Short() {
			these = kinds[turn%len(kinds):][:1]
			turn++
		}
		if ofEvent && testing.Short() && turn%10 != 0 {
			continue
		}
		for _, what := range these {
			text := texts[what]
			if what == "a good beginning" {
				text = (beginning(t, name) + texts["random bytes"])[:garbageSize]
			}
			write(t, m, name, what, text)
		}
	}
	if len(files) < 9000 {
		t.Errorf("only %d files can be written", len(files))
	}
	settled(t, m)
	waitFor(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= before+8 })
	usable(t, m)
	settled(t, m)
}

// write writes garbage into a file; the server may refuse it, and has to answer.
func write(t *testing.T, m *fusefs.Mount, name, what, text string) {
	t.Helper()
	hung := time.AfterFunc(patience, func() {
		t.Errorf("%s into %s: no answer", what, name)
		m.Close()
	})
	defer hung.Stop()
	fd, err := unix.Open(name, unix.O_WRONLY, 0)
	if err == nil {
		rest := []byte(text)
		// Of zeros a parser of words takes one with each write, as the kernel's does.
		for writes, n := 0, 0; err == nil && (writes == 0 || n > 0 && len(rest) > 0) && writes < 20; writes++ {
			if n, err = unix.Write(fd, rest); err == nil {
				rest = rest[n:]
			}
		}
		err = errors.Join(err, unix.Close(fd))
	}
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ENOTCONN) {
		t.Fatalf("%s into %s: %v", what, name, err)
	}
}

// usable says that it still is a tracefs, in which the usual things work.
func usable(t *testing.T, m *fusefs.Mount) {
	t.Helper()
	for _, dir := range []string{"", "instances/messy/"} {
		writeFile(t, m, dir+"current_tracer", "nop")
		writeFile(t, m, dir+"events/enable", "0")
		writeFile(t, m, dir+"set_event", "")
		writeFile(t, m, dir+"set_event_pid", "")
		writeFile(t, m, dir+"events/sched/filter", "0")
		writeFile(t, m, dir+"trace_clock", "local")
		writeFile(t, m, dir+"buffer_size_kb", "1408")
		writeFile(t, m, dir+"tracing_cpumask", "3")
		writeFile(t, m, dir+"tracing_on", "1")
		writeFile(t, m, dir+"events/sched/sched_switch/enable", "1")
		writeFile(t, m, dir+"trace", "")
		waitFor(t, "an event in "+dir, func() bool {
			text, err := os.ReadFile(filepath.Join(m.Dir(), dir, "trace"))
			return err == nil && strings.Contains(string(text), " sched_switch: prev_comm=")
		})
		writeFile(t, m, dir+"events/enable", "0")
	}
	writeFile(t, m, "set_ftrace_pid", "")
	writeFile(t, m, "set_ftrace_filter", "vfs_read")
	writeFile(t, m, "current_tracer", "function")
	waitFor(t, "a function call", func() bool {
		text, err := os.ReadFile(filepath.Join(m.Dir(), "trace"))
		return err == nil && strings.Contains(string(text), " vfs_read <-")
	})
	writeFile(t, m, "current_tracer", "nop")
	if err := unix.Rmdir(filepath.Join(m.Dir(), "instances/messy")); err != nil {
		t.Error(err)
	}
}
