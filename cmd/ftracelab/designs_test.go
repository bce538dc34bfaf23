package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// tracedDesigns are the settings with which the simulated machine traces with a design.
// None traces with a map of user stacks.
var tracedDesigns = []struct {
	name     string
	stackmap string // the kernel's
	deferred bool   // the kernel has deferred unwinding
	set      []string
}{
	{name: "stackmap", stackmap: "documented", set: []string{"options/stackmap=1", "options/stacktrace=1", "options/userstacktrace=1"}},
	{name: "stackmap-v2", stackmap: "v2", set: []string{"options/stackmap=1", "options/stacktrace=1", "options/userstacktrace=1"}},
	{name: "stackmap-v4", stackmap: "v4", set: []string{"options/stackmap=1", "options/stacktrace=1", "options/userstacktrace=1"}},
	{name: "deferred", stackmap: "none", deferred: true, set: []string{"options/stacktrace=1", "options/userstacktrace_delay=1"}},
	{name: "stackmap+deferred", stackmap: "documented", deferred: true, set: []string{"options/stackmap=1", "options/stacktrace=1", "options/userstacktrace_delay=1"}},
	{name: "no-stacks", stackmap: "none"},
}

// TestEstimateIsTraced: what estimate says of a design from a trace with full stacks is
// what the same run traces with that design, within 2 % of the bytes per event. What
// the trace cannot tell about deferred stacks is within the bounds that it gives.
func TestEstimateIsTraced(t *testing.T) {
	for _, c := range []struct {
		scenario, events string
		seed             uint64
		entries          bool // the trace shows all entries into the kernel from user space
	}{
		{"mix", "sched", 1, false},
		{"mix", "sched", 2, false},
		{"mix", "sched", 3, false},
		{"mix", "raw_syscalls exceptions", 1, true},
		{"busy", "kmem", 1, false},
		{"busy", "raw_syscalls:sys_enter", 2, true},
		{"disk", "sched block", 1, false},
		{"quiet", "sched irq raw_syscalls", 1, false},
		{"idle", "sched timer", 1, true},
	} {
		t.Run(fmt.Sprintf("%s %s seed %d", c.scenario, c.events, c.seed), func(t *testing.T) {
			t.Parallel()
			trace := func(stackmap string, deferred bool, set ...string) *lab {
				f := labFlags{cpus: 2, seed: c.seed, preset: stackmap, bits: "12", deferred: deferred, console: io.Discard}
				if stackmap == "none" {
					f.bits = ""
				}
				f.set = append([]string{"buffer_size_kb=20000"}, set...)
				f.set = append(f.set, "set_event="+c.events)
				l, err := f.build(c.scenario)
				if err != nil {
					t.Fatal(err)
				}
				l.ft.Run(150e6)
				l.ft.Top().Stop()
				return l
			}
			var names []string
			for _, d := range tracedDesigns {
				names = append(names, d.name)
			}
			dir := captureOf(t, trace("none", false, "options/stacktrace=1", "options/userstacktrace=1"))
			r := estimate(t, "--bits", "12", "--designs", "full-stacks,"+strings.Join(names, ","), dir)
			if r.Input.Events == 0 {
				t.Fatal("no events")
			}
			for i, d := range tracedDesigns {
				got, traced := &r.Designs[i+1], addUp(t, trace(d.stackmap, d.deferred, d.set...))
				events := float64(r.Input.Events)
				want := float64(traced.bytes) / events
				t.Logf("%-18s %.2f, traced %.2f, %+v", d.name, got.BytesPerEvent, want, got.Deferred)
				u := got.Deferred
				if u != nil {
					// What a user_stack has no room for cannot be estimated from one.
					want -= float64(traced.deeper) / events
					if want < u.LeastBytesPerEvent || want > u.MostBytesPerEvent {
						t.Errorf("%s: traced %.2f bytes per event, not within %.2f to %.2f", d.name, want, u.LeastBytesPerEvent, u.MostBytesPerEvent)
					}
					if most := u.CutBytesPerEvent * float64(traced.deepest-userStackDepth); float64(traced.deeper)/events > max(0, most) {
						t.Errorf("%s: %d bytes of addresses that user_stack has no room for, said were up to %.2f per event", d.name, traced.deeper, most)
					}
				}
				said := slices.ContainsFunc(r.Caveats, func(s string) bool { return strings.HasPrefix(s, d.name+": the trace only tells") })
				if bound := u != nil && u.Tied > 0; said != bound {
					t.Errorf("%s: bounds %v, said %v: %q", d.name, bound, said, r.Caveats)
				} else if bound && c.entries {
					t.Errorf("%s: all entries are in the trace, but %d events have no stay", d.name, u.Tied)
				} else if bound {
					continue
				}
				if off := got.BytesPerEvent/want - 1; math.Abs(off) > 0.02 {
					t.Errorf("%s: %.2f bytes per event, traced %.2f (%+.1f %%)", d.name, got.BytesPerEvent, want, 100*off)
				}
			}
		})
	}
}

// captureOf writes the capture of a run to a folder.
func captureOf(t *testing.T, l *lab) string {
	t.Helper()
	files, err := l.captureFiles("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// written is what the pages of a run hold.
type written struct {
	bytes   int // all records
	deeper  int // the part of unwound user stacks for which user_stack has no room
	deepest int // the addresses of the deepest of them
}

// How a user_unwind_stack is laid out: the bytes before its addresses and for each, and
// how many addresses user_stack has instead.
const (
	unwindFixed    = 28
	unwindPerFrame = 20
	userStackDepth = 8
)

// addUp reads the pages that a run has written.
func addUp(t *testing.T, l *lab) (w written) {
	t.Helper()
	buf := l.ft.Top().Buffer()
	page := make([]byte, buf.SubbufSize())
	for cpu := range buf.CPUs() {
		if s := buf.Stats(cpu); s.Overrun+s.Dropped > 0 {
			t.Fatalf("cpu %d: the buffer is too small: %+v", cpu, s)
		}
		for buf.ReadPage(cpu, page, false) {
			var p ringbuf.PageReader
			if err := p.Reset(page); err != nil {
				t.Fatal(err)
			}
			w.bytes += p.Commit()
			for e, ok := p.Next(); ok; e, ok = p.Next() {
				if !e.IsData() || event.ParseCommon(e.Data).Type != uint16(events.UserUnwindStack.ID) {
					continue
				}
				n := (len(e.Data) - unwindFixed) / unwindPerFrame
				w.deepest = max(w.deepest, n)
				w.deeper += unwindPerFrame * max(0, n-userStackDepth)
			}
		}
	}
	return w
}
