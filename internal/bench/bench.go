// Package bench compares the ring buffer and the stack map with other things that one
// could use, on the user's machine, and the printing of a trace with trace-cmd's. It says
// which goals are met.
//
// Machines differ, and the same machine differs from one second to the next. So the two
// sides take turns in short slices, and a row gives the median of the ratios of all
// rounds. What slows both sides does not show.
//
// docs/performance.md explains the rows.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Row is one comparison. Times are medians, in nanoseconds per event.
type Row struct {
	ID     string  `json:"id"`
	What   string  `json:"what"`
	NS     float64 `json:"ns"`
	Peer   string  `json:"peer"`
	PeerNS float64 `json:"peer_ns"`
	Ratio  float64 `json:"ratio"` // our time divided by the peer's: the median of the rounds
	Goal   float64 `json:"goal"`  // the ratio should be at most this; 0: there is no goal
	// Counted is what a row has in place of times.
	Counted *Counted `json:"counted,omitempty"`
}

// Met reports whether the goal is met.
func (r Row) Met() bool { return r.Goal == 0 || r.Ratio <= r.Goal }

// Config chooses what [Run] measures.
type Config struct {
	Only   []string // ids of rows; "R7" also stands for R7/mutex and the like; empty: all
	Rounds int      // rounds per row; 0: as many as a steady median needs
	Events int      // events per slice; 0: as many as suit the row

	// Ftracelab is the program that makes and reads the traces of the X and E rows; "":
	// there are no such rows.
	Ftracelab string
	// Dir is the folder for these traces; "": a folder that Run makes and removes.
	Dir string
	// Notes gets a message about each row that is missing, with the reason; nil: nobody
	// is told.
	Notes io.Writer
}

// runner is one side of a comparison. It handles n events and returns the time that
// they took, and how many were really delivered.
type runner func(n int) (took time.Duration, delivered int, err error)

type comparison struct {
	id, what, peer string
	goal           float64
	rounds, events int // 0: the usual number
	ours, theirs   func() (runner, error)
	missing        string // why it cannot be measured here; "": it can be
	counted        func() (*Counted, error)
}

// Many short slices are steadier than few long ones: most are over before the
// scheduler gives the CPU to somebody else.
const (
	rounds = 101
	slice  = 25_000 // a third of a millisecond

	// Rows with two goroutines have longer slices, so that starting and waking them
	// counts for little, and fewer rounds.
	pairRounds = 15
	pairSlice  = 1_000_000
)

// ErrNoRow is wrapped by the error of Run for a name in Config.Only that is not a row.
// The text of that error lists the rows.
var ErrNoRow = errors.New("bench: no row")

// Run measures the rows, which takes some seconds, and writes them to w as they
// come (nil: nowhere). It ends early with the context's error.
func Run(ctx context.Context, w io.Writer, cfg Config) (rows []Row, err error) {
	if w == nil {
		w = io.Discard
	}
	traces := &traces{ctx: ctx, ftracelab: cfg.Ftracelab, dir: cfg.Dir}
	if cfg.Dir == "" {
		defer func() { err = errors.Join(err, traces.remove()) }()
	}
	maps := &cMaps{ctx: ctx}
	defer func() { err = errors.Join(err, maps.close()) }()
	list, err := chosen(comparisons(traces, maps), cfg.Only)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "%-13s %-29s %8s  %-29s %8s %6s  %s\n", "id", "what", "ns", "peer", "ns", "ratio", "goal")
	for _, c := range list {
		if c.missing != "" {
			if cfg.Notes != nil {
				fmt.Fprintf(cfg.Notes, "bench: no row %s: %s\n", c.id, c.missing)
			}
			continue
		}
		if c.counted != nil {
			n, err := c.counted()
			if err != nil {
				return rows, fmt.Errorf("bench: %s: %w", c.id, err)
			}
			rows = append(rows, Row{ID: c.id, What: c.what, Counted: n})
			fmt.Fprintf(w, "%-17s %v\n", c.id, n)
			continue
		}
		r, err := c.measure(ctx, cfg)
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
		fmt.Fprintf(w, "%-13s %-29s %8.1f  %-29s %8.1f %6.2f  %s\n", r.ID, r.What, r.NS, r.Peer, r.PeerNS, r.Ratio, goal)
	}
	return rows, nil
}

// chosen gives the comparisons that names ask for, in the order of the table.
func chosen(all []comparison, names []string) ([]comparison, error) {
	if len(names) == 0 {
		return all, nil
	}
	var ids []string
	for _, c := range all {
		ids = append(ids, c.id)
	}
	asked := func(id, name string) bool { return id == name || strings.HasPrefix(id, name+"/") }
	for _, name := range names {
		if !slices.ContainsFunc(ids, func(id string) bool { return asked(id, name) }) {
			return nil, fmt.Errorf("%w %q; there are %s", ErrNoRow, name, strings.Join(ids, ", "))
		}
	}
	return slices.DeleteFunc(all, func(c comparison) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return asked(c.id, name) })
	}), nil
}

func (c comparison) measure(ctx context.Context, cfg Config) (Row, error) {
	ours, err := c.ours()
	if err != nil {
		return Row{}, err
	}
	theirs, err := c.theirs()
	if err != nil {
		return Row{}, err
	}
	rounds, events := cmp.Or(cfg.Rounds, c.rounds, rounds), cmp.Or(cfg.Events, c.events, slice)
	var a, b, ratio []float64
	for round := range rounds + 2 {
		if err := ctx.Err(); err != nil {
			return Row{}, err
		}
		x, err := perEvent(ours, events)
		if err != nil {
			return Row{}, err
		}
		y, err := perEvent(theirs, events)
		if err != nil {
			return Row{}, err
		}
		if round < 2 {
			continue // the first round does not count: it allocates memory and trains branch prediction
		}
		a, b, ratio = append(a, x), append(b, y), append(ratio, x/y)
	}
	return Row{ID: c.id, What: c.what, NS: median(a), Peer: c.peer, PeerNS: median(b), Ratio: median(ratio), Goal: c.goal}, nil
}

func perEvent(run runner, n int) (float64, error) {
	took, delivered, err := run(n)
	return float64(max(took.Nanoseconds(), 1)) / float64(max(delivered, 1)), err
}

func median(list []float64) float64 {
	slices.Sort(list)
	return math.Round(list[len(list)/2]*1000) / 1000
}

// timed makes a runner with one goroutine, all of whose events count.
func timed(loop func(n int)) runner {
	return func(n int) (time.Duration, int, error) {
		start := time.Now()
		loop(n)
		return time.Since(start), n, nil
	}
}

func comparisons(t *traces, c *cMaps) []comparison {
	list := []comparison{
		{id: "R1", what: "write 32 B, virtual clock", peer: "bounded copy", goal: 2.2, ours: ring(32, virtual), theirs: floor(32, nil)},
		{id: "R1/16", what: "write 16 B, virtual clock", peer: "bounded copy", ours: ring(16, virtual), theirs: floor(16, nil)},
		{id: "R1/64", what: "write 64 B, virtual clock", peer: "bounded copy", ours: ring(64, virtual), theirs: floor(64, nil)},
		{id: "R3", what: "write 32 B, real clock", peer: "bounded copy, real clock", goal: 1.15, ours: ring(32, monotonic), theirs: floor(32, monotonic)},
		{id: "R5", what: "write 32 B, real clock", peer: "runtime/trace flight recorder", goal: 0.30, ours: ring(32, monotonic), theirs: flightRecorder},
		{id: "R6", what: "write 32 B, real clock", peer: "slog text, discarded", goal: 0.07, events: slice / 5, ours: ring(32, monotonic), theirs: slogText},
		{id: "R7/mutex", what: "write 32 B, virtual clock", peer: "mutex ring", goal: 0.6, ours: ring(32, virtual), theirs: mutexRing},
		{id: "R7/smallnest", what: "write 32 B, virtual clock", peer: "smallnest/ringbuffer", goal: 0.4, ours: ring(32, virtual), theirs: smallnest},
		{id: "R7/chan", what: "write 32 B, virtual clock", peer: "channel, drop oldest", ours: ring(32, virtual), theirs: dropOldest},
		{id: "T1", what: "delivered, writer and reader", peer: "buffered channel", goal: 0.25, rounds: pairRounds, events: pairSlice, ours: ringDelivered, theirs: channelDelivered},
		{id: "T2", what: "write beside a waiting reader", peer: "the same alone", goal: 1.2, rounds: pairRounds, events: pairSlice, ours: writerRead, theirs: ring(32, virtual)},
		{id: "T3", what: "two CPUs, per event", peer: "one CPU", goal: 0.513, rounds: pairRounds, events: pairSlice, ours: twoCPUs, theirs: ring(32, virtual)},
		t.comparison("X1", "text of a function trace, CPU time", 0.05, functions),
		t.comparison("X1/zstd", "the same, packed", 0, functions),
		t.comparison("X2", "text of all events, CPU time", 0.10, allEvents),
		t.comparison("X2/zstd", "the same, packed", 0, allEvents),
	}
	return slices.Concat(list, stackmapRows(c), machineRows(), t.estimates(), countedRows())
}
