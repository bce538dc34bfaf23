package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ftracelab/report/userstacks/compare"
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
