package bench_test

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"ftracelab/internal/bench"
)

// The table is complete and sane. What the ratios are depends on the machine, so
// they are only looked at when asked for.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	out := io.Discard
	if testing.Verbose() {
		out = os.Stdout
	}
	rows, err := bench.Run(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, r := range rows {
		ids[r.ID] = true
		if r.NS <= 0 || r.PeerNS <= 0 || r.Ratio <= 0 || r.What == "" || r.Peer == "" {
			t.Errorf("%+v", r)
		}
	}
	for _, id := range []string{"R1", "R3", "R5", "T1", "T2", "T3"} {
		if !ids[id] {
			t.Errorf("no row %s", id)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rows, err := bench.Run(ctx, nil); !errors.Is(err, context.Canceled) || len(rows) != 0 {
		t.Errorf("%v, %d rows", err, len(rows))
	}
}
