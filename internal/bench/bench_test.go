package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ftracelab/internal/bench"
)

// A little of everything: the table is complete and has the form that is
// promised. What the ratios are is for the machine to say, not for a test.
func tiny(only ...string) bench.Config {
	return bench.Config{Only: only, Rounds: 1, Events: 300}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	rows, err := bench.Run(t.Context(), &out, tiny())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, r := range rows {
		if ids[r.ID] {
			t.Errorf("row %s twice", r.ID)
		}
		ids[r.ID] = true
		if c := r.Counted; c != nil {
			if r.NS != 0 || c.Published == 0 || c.Before == c.After || !strings.Contains(out.String(), c.String()) {
				t.Errorf("%+v", c)
			}
		} else if r.NS <= 0 || r.PeerNS <= 0 || r.Ratio <= 0 || r.Goal < 0 || r.What == "" || r.Peer == "" {
			t.Errorf("%+v", r)
		}
		if !strings.Contains(out.String(), "\n"+r.ID+" ") {
			t.Errorf("row %s is not printed", r.ID)
		}
	}
	for _, id := range []string{"R1", "R3", "R5", "T1", "T2", "T3", "S1/mutex", "S4", "S5", "kprobe-multi", "kretprobe-multi"} {
		if !ids[id] {
			t.Errorf("no row %s", id)
		}
	}
}

func TestSchema(t *testing.T) {
	rows, err := bench.Run(t.Context(), nil, tiny("R1"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(rows[0])
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "what", "ns", "peer", "peer_ns", "ratio", "goal"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %q in %s", name, text)
		}
		delete(fields, name)
	}
	if len(fields) != 0 {
		t.Errorf("more than is promised: %v", fields)
	}
}

func TestOnly(t *testing.T) {
	rows, err := bench.Run(t.Context(), nil, tiny("R7", "R3", "R1/16"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	if got, want := strings.Join(ids, " "), "R1/16 R3 R7/mutex R7/smallnest R7/chan"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	for _, name := range []string{"R99", "", "r1", "R1/", "R"} {
		if rows, err := bench.Run(t.Context(), nil, tiny("R1", name)); !errors.Is(err, bench.ErrNoRow) || !strings.Contains(err.Error(), "R1, R1/16") || rows != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rows, err := bench.Run(ctx, nil, bench.Config{}); !errors.Is(err, context.Canceled) || len(rows) != 0 {
		t.Errorf("%v, %d rows", err, len(rows))
	}
}
