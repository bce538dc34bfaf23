package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ftracelab/capture"
	"ftracelab/report/join"
	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"
)

// TestMigratedStays: a task that sleeps in a system call may be woken on another CPU. Its
// stay has one cookie, which names the CPU of its first event. The stack comes into the
// buffer of the CPU on which the task returns, and is joined to the events of both.
func TestMigratedStays(t *testing.T) {
	compat, err := filepath.Abs("../../workload/program/testdata/compat.elf")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, scenario string
		args           []string
		duration       string
		least          int // stays that migrate
	}{
		// Five processes on three CPUs, which sleep in nanosleep.
		{"programs", "idle", []string{"--program", compat, "--program", compat, "--program", compat, "--program", compat, "--program", compat, "--unwind", "compat=walk"}, "100ms", 100},
		// The processes that follow captured stacks are woken where a CPU is idle.
		{"mix", "mix", nil, "8s", 10},
	} {
		dir := filepath.Join(t.TempDir(), c.name)
		must(t, append([]string{
			"run", c.scenario, "--cpus", "3", "--unwind-deferred", "--set", "options/userstacktrace_delay=1", "--set", "set_event=raw_syscalls sched",
			"--set", "buffer_size_kb=65536", "--duration", c.duration, "--out", dir,
		}, c.args...)...)
		in, err := capture.OpenFS(os.DirFS(dir), ".", capture.Options{Context: t.Context()})
		if err != nil {
			t.Fatal(err)
		}
		type stay struct {
			task int32
			id   cookie.ID
		}
		table, cpus, delivered := join.NewTable(nil), map[stay][]int{}, map[stay]int{}
		var r record.Record
		for err = in.Next(&r); err == nil; err = in.Next(&r) {
			if err := table.See(&r); err != nil {
				t.Fatal(err)
			}
			if r.Kind != record.Event || !table.IsCookie(&r) && !table.IsStack(&r) {
				continue
			}
			s := stay{r.Common.PID, cookie.ID(r.Type.Field("cookie").Uint(r.Data))}
			switch {
			case table.IsStack(&r):
				delivered[s] = r.CPU
			case !slices.Contains(cpus[s], r.CPU):
				cpus[s] = append(cpus[s], r.CPU)
			}
		}
		if err = errors.Join(in.Close(), err); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		migrated := 0
		for s, list := range cpus {
			if s.id.CPU() != list[0] {
				t.Errorf("%s: cookie %x of task %d comes first on CPU %d", c.name, uint64(s.id), s.task, list[0])
			}
			if len(list) < 2 {
				continue
			}
			stack, why := table.Stack(s.task, s.id)
			if why == join.Inside {
				continue
			}
			migrated++
			// On its way out of the kernel, a task may be preempted after the stack was delivered.
			// Then the last events of the stay are on another CPU.
			if why != join.Joined || len(stack) == 0 || !slices.Contains(list, delivered[s]) {
				t.Errorf("%s: cookie %x of task %d, on CPUs %v: %v, %d addresses from CPU %d", c.name, uint64(s.id), s.task, list, why, len(stack), delivered[s])
			}
		}
		counts := table.Counts()
		t.Logf("%s: %d stays, %d of them on two CPUs or more, each joined; %v", c.name, len(cpus), migrated, &counts)
		if migrated < c.least {
			t.Errorf("%s: %d stays migrate", c.name, migrated)
		}
	}
}
