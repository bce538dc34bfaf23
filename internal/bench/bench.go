// Package bench measures the ring buffer beside what else one could use, in one
// process on the user's machine, and says which aims are met.
//
// Machines differ, and a machine differs from one second to the next. So what is
// compared takes turns, slice by slice of a few milliseconds, and a row tells
// the median of the ratios of each round: what slows both does not show.
//
// docs/performance.md explains the rows.
package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"
)

// Row is one comparison. Times are nanoseconds per event, medians.
type Row struct {
	ID     string  `json:"id"`
	What   string  `json:"what"`
	NS     float64 `json:"ns"`
	Peer   string  `json:"peer"`
	PeerNS float64 `json:"peer_ns"`
	Ratio  float64 `json:"ratio"` // of ours to the peer's, the median over the rounds
	Goal   float64 `json:"goal"`  // the ratio aimed at: at most this; 0: none
}

// Met reports whether the aim is met.
func (r Row) Met() bool { return r.Goal == 0 || r.Ratio <= r.Goal }

// A runner is one side of a comparison: it handles n events and returns the time
// that they took and how many were really delivered.
type runner func(n int) (took time.Duration, delivered int)

type comparison struct {
	id, what, peer string
	goal           float64
	events         int // per slice
	ours, theirs   func() (runner, error)
}

const rounds = 15

// Run measures all rows, which takes some seconds, and writes them to w as they
// come (nil: nowhere). It ends early with the context's error.
func Run(ctx context.Context, w io.Writer) ([]Row, error) {
	if w == nil {
		w = io.Discard
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "id\twhat\tns\tpeer\tns\tratio\tgoal\t")
	var rows []Row
	for _, c := range comparisons() {
		r, err := c.measure(ctx)
		if err != nil {
			return rows, fmt.Errorf("bench: %s: %w", c.id, err)
		}
		rows = append(rows, r)
		goal := "-"
		if r.Goal != 0 {
			goal = fmt.Sprintf("≤ %.2f", r.Goal)
			if !r.Met() {
				goal += " missed"
			}
		}
		fmt.Fprintf(tab, "%s\t%s\t%.1f\t%s\t%.1f\t%.2f\t%s\t\n", r.ID, r.What, r.NS, r.Peer, r.PeerNS, r.Ratio, goal)
	}
	return rows, tab.Flush()
}

func (c comparison) measure(ctx context.Context) (Row, error) {
	ours, err := c.ours()
	if err != nil {
		return Row{}, err
	}
	theirs, err := c.theirs()
	if err != nil {
		return Row{}, err
	}
	var a, b, ratio []float64
	for round := range rounds + 2 {
		if err := ctx.Err(); err != nil {
			return Row{}, err
		}
		x, y := slice(ours, c.events), slice(theirs, c.events)
		if round < 2 {
			continue // memory is taken, branches are learnt
		}
		a, b, ratio = append(a, x), append(b, y), append(ratio, x/y)
	}
	return Row{ID: c.id, What: c.what, NS: median(a), Peer: c.peer, PeerNS: median(b), Ratio: median(ratio), Goal: c.goal}, nil
}

func slice(run runner, n int) float64 {
	took, delivered := run(n)
	return float64(took.Nanoseconds()) / float64(max(delivered, 1))
}

func median(list []float64) float64 {
	slices.Sort(list)
	return math.Round(list[len(list)/2]*1000) / 1000
}

// timed is a runner of one goroutine, all of whose events count.
func timed(loop func(n int)) runner {
	return func(n int) (time.Duration, int) {
		start := time.Now()
		loop(n)
		return time.Since(start), n
	}
}

func comparisons() []comparison {
	const n = 200_000
	list := []comparison{
		{id: "R1", what: "write 32 B, virtual clock", peer: "bounded copy", goal: 2.2, events: n, ours: ring(32, virtual), theirs: floor(32, nil)},
		{id: "R1/16", what: "write 16 B, virtual clock", peer: "bounded copy", events: n, ours: ring(16, virtual), theirs: floor(16, nil)},
		{id: "R1/64", what: "write 64 B, virtual clock", peer: "bounded copy", events: n, ours: ring(64, virtual), theirs: floor(64, nil)},
		{id: "R3", what: "write 32 B, real clock", peer: "bounded copy, real clock", goal: 1.15, events: n / 4, ours: ring(32, monotonic), theirs: floor(32, monotonic)},
		{id: "R5", what: "write 32 B, real clock", peer: "runtime/trace flight recorder", goal: 0.30, events: n / 10, ours: ring(32, monotonic), theirs: flightRecorder},
		{id: "R6", what: "write 32 B, real clock", peer: "slog text, discarded", goal: 0.07, events: n / 40, ours: ring(32, monotonic), theirs: slogText},
		{id: "R7/mutex", what: "write 32 B, virtual clock", peer: "mutex ring", goal: 0.6, events: n, ours: ring(32, virtual), theirs: mutexRing},
		{id: "R7/smallnest", what: "write 32 B, virtual clock", peer: "smallnest/ringbuffer", goal: 0.4, events: n, ours: ring(32, virtual), theirs: smallnest},
		{id: "R7/chan", what: "write 32 B, virtual clock", peer: "channel, drop oldest", events: n, ours: ring(32, virtual), theirs: dropOldest},
		{id: "T1", what: "delivered, writer and reader", peer: "buffered channel", goal: 0.25, events: n, ours: ringDelivered, theirs: channelDelivered},
		{id: "T2", what: "write beside a waiting reader", peer: "the same alone", goal: 1.2, events: n, ours: writerRead, theirs: ring(32, virtual)},
		{id: "T3", what: "two CPUs, per event", peer: "one CPU", goal: 0.513, events: n, ours: twoCPUs, theirs: ring(32, virtual)},
	}
	return list
}
