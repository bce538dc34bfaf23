package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ftracelab/report/join"
	"ftracelab/report/userstacks/compare"
	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"
)

// TestUserStacksPrediction compares, over seeds and scenarios, what is computed from a trace
// with cookies with what the simulated kernel writes: the same trace with stacks unwound
// later, and another one with stacks walked at every event.
func TestUserStacksPrediction(t *testing.T) {
	opt := compare.Options{Seeds: []uint32{1, 2, 3}}
	for _, scenario := range []string{"mix", "busy", "deep", "tools"} {
		for _, set := range []string{"raw_syscalls", "sched kmem raw_syscalls"} {
			opt.Workloads = append(opt.Workloads, compare.Workload{Name: scenario + " " + set, Scenario: scenario, Set: []string{"set_event=" + set}})
		}
	}
	memory := &memoryFlag{bytes: 1 << 30}
	opt.Open = func(ctx context.Context, w compare.Workload, seed uint32, set ...string) (*compare.Trace, error) {
		return openUserStacks(ctx, memory, w, 4, 60*time.Millisecond, seed, set)
	}
	table, err := compare.Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range table.Blocks {
		for _, trial := range b.Trials {
			if trial.TracedDeferred == 0 || trial.TracedWalk == 0 {
				t.Errorf("%s, seed %d: nothing was traced", b.Name, trial.Seed)
			}
			if math.Abs(trial.WalkErrorPct) > 2 || math.Abs(trial.DeferredErrorPct) > 2 {
				t.Errorf("%s, seed %d: predicted walk %+.2f %%, deferred %+.2f %%", b.Name, trial.Seed, trial.WalkErrorPct, trial.DeferredErrorPct)
			}
		}
	}
}

// TestUserStacksCommand runs experiment user-stacks in both forms.
func TestUserStacksCommand(t *testing.T) {
	run := func(args ...string) string {
		cmd := rootCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append([]string{"experiment", "user-stacks", "--seeds", "2", "--duration", "40ms"}, args...))
		if err := cmd.Execute(); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		return out.String()
	}
	var table compare.Table
	if err := json.Unmarshal([]byte(run("--json")), &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Blocks) < 2 {
		t.Errorf("%d workloads", len(table.Blocks))
	}
	text := run()
	for _, b := range table.Blocks {
		for _, kind := range []string{"copy", "walk", "deferred", "stackmap"} {
			if !slices.ContainsFunc(b.Designs, func(d compare.Design) bool { return strings.Contains(d.Name, kind) }) {
				t.Errorf("%s: no design is called %s", b.Name, kind)
			}
		}
		for _, d := range b.Designs {
			if d.Bytes.N != 2 || !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%s +%.0f `, d.Name, d.Bytes.Mean)).MatchString(text) {
				t.Errorf("%s, %s: %v bytes are not in the text", b.Name, d.Name, d.Bytes)
			}
		}
	}
	if !strings.Contains(text, table.Remember) {
		t.Error("the sentence is not in the text")
	}
}

// TestJoinAcrossLosses traces the same seeds with buffers that hold everything, with buffers
// whose oldest events are overwritten, and with buffers that drop the newest. Each stack that
// is joined in a trace with losses is that of the same cookie in the whole trace, whose events
// all find theirs; and what is not joined has a reason.
func TestJoinAcrossLosses(t *testing.T) {
	type stay struct {
		task int32
		id   cookie.ID
	}
	var sum join.Counts
	whole, joined := map[stay][]join.Frame{}, 0
	for seed := range uint32(6) {
		clear(whole)
		for n, buffer := range [][]string{{"buffer_size_kb=4096"}, {"buffer_size_kb=12"}, {"buffer_size_kb=12", "options/overwrite=0"}} {
			w := compare.Workload{Name: strings.Join(buffer, " "), Scenario: "mix"}
			set := append(slices.Clone(buffer), "options/userstacktrace_delay=1", "set_event=raw_syscalls sched kmem")
			trace, err := openUserStacks(t.Context(), &memoryFlag{bytes: 1 << 30}, w, 3, 40*time.Millisecond, seed+1, set)
			if err != nil {
				t.Fatal(err)
			}
			table := join.NewTable(nil)
			for _, cpu := range trace.Lossy {
				table.Overrun(cpu, false)
			}
			if n == 2 {
				table.Overrun(0, true)
			}
			stays := map[stay]bool{}
			in, err := trace.Open()
			if err != nil {
				t.Fatal(err)
			}
			var r record.Record
			for err = in.Next(&r); err == nil; err = in.Next(&r) {
				if err := table.See(&r); err != nil {
					t.Fatal(err)
				}
				if r.Kind == record.Event && table.IsCookie(&r) {
					stays[stay{r.Common.PID, cookie.ID(r.Type.Field("cookie").Uint(r.Data))}] = true
				}
			}
			if err = errors.Join(in.Close(), err); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			for s := range stays {
				stack, why := table.Stack(s.task, s.id)
				switch {
				case n == 0 && why == join.Joined:
					whole[s] = slices.Clone(stack)
				case n == 0 && why != join.Inside && why != join.NoFrames:
					t.Errorf("seed %d: nothing is lost, and cookie %x of task %d: %v", seed+1, uint64(s.id), s.task, why)
				case n > 0 && why == join.Joined:
					if !slices.Equal(stack, whole[s]) {
						t.Fatalf("seed %d, %s: cookie %x of task %d has the stack %x, in the whole trace %x", seed+1, w.Name, uint64(s.id), s.task, stack, whole[s])
					}
					joined++
				case why == join.Missing || why == join.NoCookie:
					t.Errorf("seed %d, %s: cookie %x of task %d: %v", seed+1, w.Name, uint64(s.id), s.task, why)
				}
			}
			if counts := table.Counts(); n > 0 {
				for why := range join.Reasons {
					sum.Events[why] += counts.Events[why]
				}
				sum.Cookies += counts.Cookies
				sum.Stacks += counts.Stacks
			}
		}
	}
	t.Logf("%v; %d stays joined", &sum, joined)
	if joined < 300 || sum.Events[join.Lost] < 10 {
		t.Errorf("%d stays joined, %d events lost", joined, sum.Events[join.Lost])
	}
}

// TestDeferredProgram: --user-stacks also says how stacks are walked later. A program without
// frame pointers has deeper stacks by SFrame, and its frames are in its file.
func TestDeferredProgram(t *testing.T) {
	program, err := filepath.Abs("../../workload/program/testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	frames := func(method string) int {
		dir := filepath.Join(t.TempDir(), method)
		must(t, "run", "--program", program, "--user-stacks", method, "--unwind-deferred", "--set", "options/userstacktrace_delay=1",
			"--set", "set_event=exceptions:page_fault_user inode_cache", "--duration", "20ms", "--out", dir)
		return strings.Count(must(t, "report", "--join", dir), " => "+program+"[+0x")
	}
	if fp, table := frames("fp"), frames("sframe"); fp == 0 || table < 2*fp {
		t.Errorf("%d frames by frame pointers, %d by SFrame", fp, table)
	}
}
