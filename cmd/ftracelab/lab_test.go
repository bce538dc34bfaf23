package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"ftracelab/machine"
)

// TestRunInSlices: a run that looks at its context now and then records the same bytes
// as one that does not.
func TestRunInSlices(t *testing.T) {
	const d = 37_654_321
	for _, set := range [][]string{
		{"current_tracer=function"},
		{"current_tracer=function_graph", "set_event=irq:* timer:*"},
		{"set_event=*:*", "options/stacktrace=1", "options/stackmap=1"},
		{"current_tracer=wakeup"},
		{"current_tracer=hwlat"},
	} {
		var first []captureFile
		for _, run := range []func(*lab){
			func(l *lab) { l.ft.Run(d) },
			func(l *lab) {
				if err := l.run(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			},
			func(l *lab) {
				for range 321 {
					l.ft.Run(1000)
				}
				if err := l.run(t.Context(), d-321_000); err != nil {
					t.Fatal(err)
				}
			},
		} {
			l, err := (&labFlags{cpus: 3, seed: 7, preset: "documented", set: set, console: io.Discard}).build("")
			if err != nil {
				t.Fatal(err)
			}
			run(l)
			l.ft.Top().Stop()
			files, err := l.captureFiles("")
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = files
			}
			for i, f := range files {
				if f.name != first[i].name || !bytes.Equal(f.data, first[i].data) {
					t.Errorf("%v: %s differs", set, f.name)
				}
			}
		}
	}
}

// TestRunEnds: what was told to end simulates at most one step more.
func TestRunEnds(t *testing.T) {
	l, err := (&labFlags{cpus: 1, seed: 1, preset: "documented", console: io.Discard}).build("")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := l.machine.Now()
	if err := l.run(ctx, 1000*machine.Second); !errors.Is(err, context.Canceled) || l.machine.Now() > before+runStep {
		t.Errorf("%v, at %d of %d", err, l.machine.Now(), before)
	}
}
