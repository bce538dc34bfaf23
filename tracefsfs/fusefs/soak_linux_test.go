package fusefs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
)

// soakTime is how long TestSoak goes on. FTRACELAB_SOAK says it.
func soakTime(t *testing.T) time.Duration {
	text := os.Getenv("FTRACELAB_SOAK")
	switch {
	case text != "":
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal("FTRACELAB_SOAK: ", err)
		}
		return d
	case testing.Short():
		return 4 * time.Second
	}
	return 10 * time.Second
}

// memoryLimit is the GOMEMLIMIT of the server that is soaked.
const memoryLimit = "200MiB"

// footprint is what a server uses: resident KiB with its helper, descriptors of both,
// goroutines, bytes of the heap that are in use.
type footprint struct{ rss, files, goroutines, heap int }

func (s *served) footprint(t *testing.T) (f footprint) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, ".ftracelab/usage"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &f.goroutines, &f.heap); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for _, pid := range []int{s.server, s.helper} {
		f.rss += number(t, fmt.Sprintf("/proc/%d/status", pid), "VmRSS")
		f.files += descriptors(t, pid)
	}
	return f
}

// A server that instances, pipes, tracers, histograms and probes come to and go from for
// a long time needs no more in the end than after a while.
func TestSoak(t *testing.T) {
	scenario := "busy"
	if testutil.UnderRace {
		scenario = "quiet" // the goroutines of the server are looked at, not what its machine does
	}
	s := serve(t, "GOMEMLIMIT="+memoryLimit, scenarioEnv+"="+scenario)
	length := soakTime(t)
	begin := time.Now()
	round := 0
	soak := func(until time.Duration, rounds int) (most footprint) {
		for time.Since(begin) < until || round < rounds {
			for range 20 {
				round++
				s.soakRound(t, round)
			}
			f := s.footprint(t)
			most = footprint{max(most.rss, f.rss), max(most.files, f.files), max(most.goroutines, f.goroutines), max(most.heap, f.heap)}
		}
		return most
	}
	rounds := 60 // what the machine executes for the first time takes memory, too
	if testutil.UnderRace {
		rounds = 0 // a round takes seconds then, and memory is that of the race detector
	}
	warm := soak(length/4, rounds)
	middle := round
	hot := soak(length, 2*rounds)
	t.Logf("%d rounds, then %d: %+v, then %+v", middle, round-middle, warm, hot)
	if hot.rss*10 > warm.rss*12 {
		t.Errorf("resident memory grew from %d to %d KiB", warm.rss, hot.rss)
	}
	// What the kernel has not told yet to be closed or forgotten takes some.
	if hot.heap*10 > warm.heap*12 {
		t.Errorf("the heap grew from %d to %d bytes", warm.heap, hot.heap)
	}
	if hot.files > warm.files+8 {
		t.Errorf("descriptors: first %d, then %d", warm.files, hot.files)
	}
	if hot.goroutines > warm.goroutines+8 {
		t.Errorf("goroutines: first %d, then %d", warm.goroutines, hot.goroutines)
	}
}

// soakRound does once what clients do all day.
func (s *served) soakRound(t *testing.T, round int) {
	name := "r" + strconv.Itoa(round)
	dir := "instances/" + name + "/"
	steps := []struct{ file, text string }{
		{dir + "events/sched/sched_switch/enable", "1"},
		{dir + "events/sched/sched_switch/trigger", "hist:keys=prev_pid"},
		{dir + "current_tracer", "function"},
		{dir + "current_tracer", "nop"},
		{dir + "events/sched/sched_switch/trigger", "!hist:keys=prev_pid"},
		{dir + "events/enable", "0"},
		{"kprobe_events", "p:" + name + " vfs_read"},
		{"events/kprobes/" + name + "/enable", "1"},
		{"events/kprobes/" + name + "/enable", "0"},
		{"kprobe_events", "-:" + name},
		{"uprobe_events", "p:" + name + " /bin/sh:0x1000"},
		{"uprobe_events", "-:" + name},
		{"synthetic_events", name + " u64 lat; pid_t pid"},
		{"synthetic_events", "!" + name},
		{"current_tracer", []string{"function_graph", "nop", "wakeup", "nop"}[round%4]},
	}
	must := func(what string, err error) {
		if err != nil {
			t.Fatalf("round %d, %s: %v", round, what, err)
		}
	}
	must("mkdir", os.Mkdir(filepath.Join(s.dir, dir), 0o700))
	for _, step := range steps {
		f, err := os.OpenFile(filepath.Join(s.dir, step.file), os.O_WRONLY|os.O_APPEND, 0) // O_TRUNC would remove all probes
		must(step.file, err)
		_, err = f.WriteString(step.text + "\n")
		must(step.file, err)
		must(step.file, f.Close())
	}
	for cpu := range 2 {
		raw := filepath.Join(s.dir, dir, "per_cpu/cpu"+strconv.Itoa(cpu)+"/trace_pipe_raw")
		fd, err := unix.Open(raw, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		must(raw, err)
		if round%2 == 0 {
			if _, err := unix.Read(fd, make([]byte, 4096)); err != nil && !errors.Is(err, unix.EAGAIN) {
				must(raw, err)
			}
		}
		must(raw, unix.Close(fd))
	}
	_, err := os.ReadFile(filepath.Join(s.dir, dir, "trace"))
	must("trace", err)
	must("rmdir", unix.Rmdir(filepath.Join(s.dir, dir)))
}

// Nothing of an instance stays that was removed, also if its raw pipes were open.
func TestRemovedInstances(t *testing.T) {
	s := serve(t, "GOMEMLIMIT="+memoryLimit, scenarioEnv+"=busy")
	remove := func(times int) {
		for n := range times {
			dir := filepath.Join(s.dir, "instances/r"+strconv.Itoa(n))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for cpu := range 2 {
				raw, err := os.OpenFile(filepath.Join(dir, "per_cpu/cpu"+strconv.Itoa(cpu)+"/trace_pipe_raw"), os.O_RDONLY|unix.O_NONBLOCK, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := raw.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove(20)
	before := s.footprint(t)
	remove(300)
	after := s.footprint(t)
	if after.heap > before.heap+before.heap/5 || after.files > before.files+8 {
		t.Errorf("%+v before 300 instances, %+v after", before, after)
	}
}
