package capture

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/budget"
	"ftracelab/tracer/record"
)

// drainFolded counts how often each stack comes. A stack is named by the text of its
// first kernel frame.
func drainFolded(t *testing.T, c *Capture) (events uint64, byFrame map[string]uint64, err error) {
	t.Helper()
	byFrame = map[string]uint64{}
	var r record.Record
	for err = c.Next(&r); err == nil; err = c.Next(&r) {
		switch r.Kind {
		case record.Event:
			events++
		case record.KernelStack:
			byFrame[c.Symbol(r.Stack[0])]++
		}
	}
	if err == io.EOF {
		err = nil
	}
	return events, byFrame, err
}

// TestFoldedWeights: weights that are too large to be replayed keep their proportions,
// and no stack is lost.
func TestFoldedWeights(t *testing.T) {
	const million = maxSamples
	for name, tt := range map[string]struct {
		text    string
		want    map[string]uint64
		caveats []string // those about weights
	}{
		"as they are": {"r;a 3\nr;b 1048573\n", map[string]uint64{"a": 3, "b": million - 3}, nil},
		"one too many": {
			"r;a 3\nr;b 1048574\n",
			map[string]uint64{"a": 2, "b": million/2 - 1},
			[]string{"add up to 1048577", "a weight of 2"},
		},
		"microseconds": {
			"r;a 3000000000\nr;b 1000000000\nr;c 1\nr;d 0\n",
			map[string]uint64{"a": 786370, "b": 262123, "c": 1},
			[]string{"add up to 4000000001", "a weight of 3815", "1 of 3 stacks weigh less"},
		},
		"15 bytes":    {"r;a 1000000000\n", map[string]uint64{"a": 1048218}, []string{"a weight of 954"}},
		"beyond 2^64": {strings.Repeat("r;a 9999999999999999999\n", 4), map[string]uint64{"a": million}, []string{"more than 2^64"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "folded.txt")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, open := range []func() (*Capture, error){
				func() (*Capture, error) { return Open(file, Options{}) },
				func() (*Capture, error) { return OpenReader(strings.NewReader(tt.text), "pipe", Options{}) },
			} {
				c, err := open()
				if err != nil {
					t.Fatal(err)
				}
				events, got, err := drainFolded(t, c)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(got) != fmt.Sprint(tt.want) || events > million+4 {
					t.Errorf("%d events: %v, want %v", events, got, tt.want)
				}
				caveats := strings.Join(c.Caveats(), "\n")
				for _, want := range tt.caveats {
					if !strings.Contains(caveats, want) {
						t.Errorf("caveats lack %q:\n%s", want, caveats)
					}
				}
				if tt.caveats == nil && strings.Contains(caveats, "weights") {
					t.Errorf("nothing was divided:\n%s", caveats)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestFoldedDivisor: there are never more samples than maxSamples, not counting one for
// each line.
func TestFoldedDivisor(t *testing.T) {
	for _, weights := range [][]uint64{
		{1}, {maxSamples}, {maxSamples + 1}, {maxSamples, maxSamples}, {1<<64 - 1}, {1<<64 - 1, 1<<64 - 1, 5}, {7, math.MaxUint64},
	} {
		var s foldedScale
		for _, w := range weights {
			s.add(w)
		}
		s.settle()
		n := uint64(0)
		for _, w := range weights {
			n += s.samples(w)
		}
		if n > maxSamples+uint64(len(weights)) || n < uint64(len(weights)) {
			t.Errorf("%d: divided by %d: %d samples", weights, s.divisor, n)
		}
	}
}

// TestFoldedPipe: if a text comes through a pipe and is too large for the memory, it is
// refused, and the error says what to do. A damaged one is read up to the damage.
func TestFoldedPipe(t *testing.T) {
	endless := io.LimitReader(repeating("main;work;step 1\n"), 1<<40)
	_, err := OpenReader(endless, "pipe", Options{Memory: budget.New(budget.Least)})
	if err == nil || !strings.Contains(err.Error(), "give them as a file") || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("%v", err)
	}
	text := gzipped(strings.Repeat("main;work;step 1\n", 10000))
	c, err := OpenReader(bytes.NewReader(text[:len(text)-10]), "pipe", Options{KeepGoing: true})
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := drainFolded(t, c)
	if err != nil || events == 0 || c.Info().FirstSkipped == nil {
		t.Errorf("%d events, %v; skipped %v", events, err, c.Info().FirstSkipped)
	}
}

// repeating is an endless text.
type repeating string

func (r repeating) Read(b []byte) (int, error) {
	n := 0
	for len(b)-n >= len(r) {
		n += copy(b[n:], r)
	}
	if n == 0 {
		n = copy(b, r)
	}
	return n, nil
}
