package tracer

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
)

func newReturnLab(t *testing.T, slots int) *dynLab {
	t.Helper()
	ft := newRunningKernel(t, machine.Config{CPUs: 2}, Config{ReturnSlots: slots})
	return &dynLab{t, ft, tracefsfs.New(ft.Root())}
}

// The tracer of 2008 is there if the kernel was built with it. Its lines name the place
// to which a function returned; with one slot only one call at a time is seen.
func TestReturnTracer(t *testing.T) {
	if got := newProbeLab(t).read("available_tracers"); strings.Contains(got, "return") {
		t.Errorf("6.12 has %q", got)
	}
	line := regexp.MustCompile(`^(\w+) Called: (\d+) Returned: (\d+)$`)
	seen := map[int]int{}
	for _, slots := range []int{1, 8, 32} {
		l := newReturnLab(t, slots)
		if got := l.read("available_tracers"); !strings.HasPrefix(got, "return ") {
			t.Fatalf("available_tracers: %q", got)
		}
		l.must("set_ftrace_filter", "vfs_read\nrw_verify_area\nschedule\n")
		l.must("current_tracer", "return\n")
		l.ft.Run(200 * machine.Millisecond)
		last := uint64(0)
		for _, text := range l.lines("Called") {
			m := line.FindStringSubmatch(text)
			var called, returned uint64
			if m == nil {
				t.Fatalf("%d slots: %q", slots, text)
			}
			if _, err := fmt.Sscan(m[2]+" "+m[3], &called, &returned); err != nil || called > returned {
				t.Fatalf("%d slots: %q", slots, text)
			}
			if slots == 1 && called < last {
				t.Fatalf("two calls at a time in one slot: %q began before %d", text, last)
			}
			last = returned
			if m[1] == "rw_verify_area" {
				t.Fatalf("%q names the function, not the caller", text)
			}
			seen[slots]++
		}
		table := l.ft.slots
		if slots == 1 && table.Overrun == 0 {
			t.Error("no call found the only slot taken")
		}
		l.must("current_tracer", "nop\n")
		l.ft.Run(200 * machine.Millisecond) // calls in flight return to their trampolines
		if text := l.lines("Called"); len(text) > 0 {
			t.Errorf("%q after the tracer was switched off", text[0])
		}
	}
	if seen[1] == 0 || seen[1] >= seen[8] || seen[8] > seen[32] {
		t.Errorf("seen with 1, 8, 32 slots: %v", seen)
	}
}

// What the function tracer and the tracer of 2008 see: the caller of a function is the
// place to which it returns.
func TestReturnTracerNamesTheCaller(t *testing.T) {
	l := newReturnLab(t, 32)
	l.must("set_ftrace_filter", "rw_verify_area\n")
	l.must("current_tracer", "return\n")
	l.must("options/sym-offset", "1\n")
	l.ft.Run(100 * machine.Millisecond)
	if all := l.lines("Called"); len(all) < 5 || len(l.lines(`^vfs_(read|write)\+0x[0-9a-f]+/0x[0-9a-f]+ Called: `)) != len(all) {
		t.Errorf("%d lines, the first %q", len(all), all[:min(1, len(all))])
	}
}

func TestReturnSlotsRefused(t *testing.T) {
	m, err := machine.New(machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, 33} {
		if _, err := New(m, Config{ReturnSlots: n}); err == nil || !strings.Contains(err.Error(), syscall.EINVAL.Error()) {
			t.Errorf("%d slots: %v", n, err)
		}
	}
}
