package ringbuf_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ftracelab/internal/explore"
	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
)

// A scene is a bounded piece of concurrency, of which every interleaving is
// tried: a writer of some events, interrupted at any point by others up to a
// depth, a reader that makes some steps at any of these points, and changes of
// the ring there.
type scene struct {
	name       string
	pages      int // of 64 bytes: three events of 16 on each
	fill       int // events written beforehand
	events     int // by the writer
	interrupts int // in all
	depth      int // of interrupts in interrupts
	steps      int // of the reader, in all
	read       string
	changes    int  // of the ring, in all
	discard    bool // interrupts may discard
	noOver     bool
	more       func(*scene) // the long form
	runs       int          // how many interleavings there are
	states     int          // of the ring that they lead through
}

func step(s *scene)      { s.steps++ }
func interrupt(s *scene) { s.interrupts++ }

// The scenes: the kernels of a ring buffer where things go wrong if they do. The
// fill puts the writer where its event crosses to the next page: with two pages
// that is the one of the oldest events. By the letters of the kernel's design: (a)
// writer, interrupt and reader on two pages, the flags of the links: the first
// three; (b) the stamps, interrupts at every letter and at every letter of those:
// "interrupts of interrupts"; (c) the loop at the end of an event: the points
// commits, commit and lowered of them all; (d) a reader's page against overwriting:
// "swap against".
var scenes = []scene{
	{name: "writer, interrupt, consumer", pages: 2, fill: 6, events: 1, interrupts: 1, depth: 1, steps: 3, read: "consume", more: step, runs: 129018, states: 1059},
	{name: "writer, interrupt, page reader", pages: 2, fill: 6, events: 1, interrupts: 1, depth: 1, steps: 3, read: "page", more: step, runs: 129018, states: 1140},
	{name: "writer, interrupt, mapped reader", pages: 2, fill: 6, events: 1, interrupts: 1, depth: 1, steps: 3, read: "map", more: step, runs: 129018, states: 1059},
	{name: "interrupts, consumer", pages: 2, fill: 6, events: 1, interrupts: 2, depth: 2, steps: 1, read: "consume", more: step, runs: 20646, states: 3362},
	{name: "interrupts of interrupts", pages: 2, fill: 2, events: 2, interrupts: 3, depth: 3, more: interrupt, runs: 16923, states: 9747},
	{name: "interrupts at a full page", pages: 2, fill: 6, events: 2, interrupts: 3, depth: 3, more: interrupt, runs: 25514, states: 10714},
	{name: "interrupts with overwriting off", pages: 2, fill: 5, events: 3, interrupts: 3, depth: 3, noOver: true, more: interrupt, runs: 9183, states: 772},
	{name: "interrupt storm", pages: 3, fill: 8, events: 1, interrupts: 4, depth: 1, more: interrupt, runs: 4562, states: 2190},
	{name: "interrupts that discard", pages: 2, fill: 5, events: 2, interrupts: 2, depth: 2, discard: true, more: interrupt, runs: 2779, states: 2633},
	{name: "swap against overwriting", pages: 2, fill: 6, events: 4, steps: 3, read: "page", more: step, runs: 26874, states: 390},
	{name: "swap against refusing", pages: 2, fill: 5, events: 3, steps: 4, read: "page", noOver: true, more: step, runs: 46543, states: 131},
	{name: "iterator against overwriting", pages: 2, fill: 6, events: 4, steps: 3, read: "iterate", more: step, runs: 27720, states: 38},
	{name: "the whole ring read at a point", pages: 2, fill: 6, events: 1, steps: 5, read: "page", more: func(s *scene) { s.steps += 2 }, runs: 45734, states: 175},
	{name: "changes, page reader", pages: 3, fill: 8, events: 3, steps: 2, read: "page", changes: 1, more: step, runs: 36038, states: 141},
	{name: "changes, consumer, interrupt", pages: 2, fill: 5, events: 2, interrupts: 1, depth: 1, steps: 1, read: "consume", changes: 1, more: step, runs: 101977, states: 698},
	{name: "changes, iterator", pages: 2, fill: 6, events: 2, steps: 2, read: "iterate", changes: 1, more: step, runs: 18383, states: 27},
	{name: "changes one after the other", pages: 2, fill: 6, events: 3, changes: 2, more: func(s *scene) { s.changes++ }, runs: 12316, states: 38},
	{name: "changes while mapped", pages: 2, fill: 6, events: 2, steps: 2, read: "map", changes: 1, more: step, runs: 18383, states: 118},
}

// RINGBUF_SCENES=long tries them with one more step, interrupt or change each.
// RINGBUF_TAPE="scene: tape" runs one interleaving, as a failure has named it.
func TestEveryInterleaving(t *testing.T) {
	if scene, tape, ok := strings.Cut(os.Getenv("RINGBUF_TAPE"), ": "); ok {
		replayTape(t, scene, tape)
		return
	}
	total := explore.Result{}
	for _, s := range scenes {
		long := os.Getenv("RINGBUF_SCENES") == "long"
		if long {
			s.more(&s)
		}
		t.Run(s.name, func(t *testing.T) {
			limit := 0
			switch {
			case testutil.UnderRace:
				limit = 50
			case testing.Short():
				limit = 2000
			}
			r, err := explore.Run(limit, s.run)
			t.Log(r)
			if err != nil {
				t.Fatalf("%v\nRINGBUF_TAPE=%q go test -run TestEveryInterleaving", err, s.name+": "+tapeOf(err))
			}
			if r.All && !long && (r.Runs != s.runs || r.States != s.states) {
				t.Errorf("%v; there should be %d and %d", r, s.runs, s.states)
			}
			total.Runs += r.Runs
			total.Steps += r.Steps
			total.States += r.States
		})
	}
	t.Logf("in all %d scenes: %v", len(scenes), total)
}

func replayTape(t *testing.T, name, tape string) {
	for _, s := range scenes {
		if s.name != name {
			continue
		}
		if os.Getenv("RINGBUF_SCENES") == "long" {
			s.more(&s)
		}
		if err := explore.Replay(tape, s.run); err != nil {
			t.Error(err)
		}
		return
	}
	t.Errorf("no scene %q", name)
}

// tapeOf is the tape that an error of explore names.
func tapeOf(err error) string {
	tape, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "tape "), ": ")
	return tape
}

// Bugs that a writer could have, put into one that runs: each is found, and its
// tape fails again, the same way, but not without the bug.
func TestBugsAreFound(t *testing.T) {
	if testutil.UnderRace {
		t.Skip("one goroutine")
	}
	for bug, sabotage := range ringbuf.Bugs {
		t.Run(bug, func(t *testing.T) {
			for _, s := range scenes {
				spoilt := func(tape *explore.Tape) (err error) {
					defer func() {
						if r := recover(); r != nil {
							err = fmt.Errorf("panic: %v", r)
						}
					}()
					return newPlay(s, tape, sabotage).run()
				}
				_, err := explore.Run(20000, spoilt)
				if err == nil {
					continue
				}
				t.Logf("%s: %v", s.name, err)
				if again := explore.Replay(tapeOf(err), spoilt); again == nil || again.Error() != err.Error() {
					t.Errorf("replayed: %v", again)
				}
				if err := explore.Replay(tapeOf(err), s.run); err != nil {
					t.Errorf("without the bug: %v", err)
				}
				return
			}
			t.Error("not found")
		})
	}
}
