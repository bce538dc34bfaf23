package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// remaining is a line of testdata/remaining.txt.
type remaining struct {
	most       int
	what       string
	fn, says   string // patterns of path.Match
	seen, line int
}

func readRemaining(t *testing.T) (list []remaining) {
	t.Helper()
	text, err := os.ReadFile("testdata/remaining.txt")
	if err != nil {
		t.Fatal(err)
	}
	line := 0
	for l := range strings.Lines(string(text)) {
		line++
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		f := strings.Split(l, " | ")
		most, err := strconv.Atoi(f[0])
		if err != nil || len(f) != 5 || f[4] == "" {
			t.Fatalf("remaining.txt line %d: want NUMBER | KIND | FUNCTION | SAYS | REASON", line)
		}
		list = append(list, remaining{most, f[1], f[2], f[3], 0, line})
	}
	return list
}

// TestMachineDoesWhatCapturesShow: whatever our machine's traces say of a function that
// real captures show often, a real capture says too, or the code of the kernel has it (who calls
// whom); or remaining.txt has the reason.
func TestMachineDoesWhatCapturesShow(t *testing.T) {
	real, err := realFacts(testutil.Oracle(t), testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "the folder with the captures of subsystems"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := ourFacts()
	if err != nil {
		t.Fatal(err)
	}
	if len(real.count) < 20_000 || len(ours.count) < 10_000 {
		t.Errorf("%d facts of real kernels, %d of ours", len(real.count), len(ours.count))
	}
	list := readRemaining(t)
	diffs, _ := ours.compare(real)
	dir := kernel(t)
	if dir == "" {
		diffs = slices.DeleteFunc(diffs, func(d difference) bool { return d.What == functionParent })
		list = slices.DeleteFunc(list, func(r remaining) bool { return r.what == functionParent })
	} else if diffs, err = withoutCoded(diffs, dir); err != nil {
		t.Fatal(err)
	}
next:
	for _, d := range diffs {
		for i := range list {
			r := &list[i]
			fn, _ := path.Match(r.fn, d.Func)
			says, _ := path.Match(r.says, d.Says)
			if d.What == r.what && fn && says {
				r.seen++
				continue next
			}
		}
		t.Errorf("%s: %s: %s, %d of %d times, and in no capture", d.What, d.Func, d.Says, d.Times, d.Of)
	}
	for _, r := range list {
		if r.seen == 0 || r.seen > r.most {
			t.Errorf("%s:%d: %d facts, want 1 to %d", filepath.Join("testdata", "remaining.txt"), r.line, r.seen, r.most)
		}
	}
	if n := ours.count[fact{graphLeaves, "__traceiter_sched_switch", "enters, last before a switch"}]; n > 0 {
		t.Errorf("%d switches inside __traceiter_sched_switch", n)
	}
	for _, fn := range []string{"finish_task_switch.isra.0", "ret_from_fork"} {
		if ours.count[fact{graphArrives, fn, "enters, first after a switch"}] == 0 {
			t.Errorf("no task begins with %s after a switch", fn)
		}
	}
}
