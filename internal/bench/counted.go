package bench

import (
	"fmt"
	"sync"

	"ftracelab/machine"
	"ftracelab/report/returnhooks"
)

// Counted is a change between two ways to see functions, of which nanoseconds of this
// program say nothing: what was published of it, beside what a hit does to memory before
// and after. ftracelab experiment return-hooks has the whole table, and what it explains.
type Counted struct {
	From      string             `json:"from"`
	To        string             `json:"to"`
	Published float64            `json:"published_percent"` // of hits in a second
	Before    returnhooks.PerHit `json:"before"`
	After     returnhooks.PerHit `json:"after"`
}

// String is the row behind its name.
func (c *Counted) String() string {
	a, b := c.Before, c.After
	return fmt.Sprintf("%s → %s: published %+.0f %%; counted for a hit: atomic %.2f → %.2f, words %.2f → %.2f, lines %.2f → %.2f, look-ups %.2f → %.2f",
		c.From, c.To, c.Published, a.Atomic, b.Atomic, a.Words, b.Words, a.Lines, b.Lines, a.Lookups, b.Lookups)
}

// countedRows are the rows that are counted. Their workload runs once, when the first of
// them is wanted.
func countedRows() (list []comparison) {
	table := sync.OnceValues(func() (*returnhooks.Table, error) {
		return returnhooks.Run(returnhooks.Options{CPUs: 4, Seed: 1, Scenario: "mix", Duration: 200 * machine.Millisecond})
	})
	for n, id := range []string{"kprobe-multi", "kretprobe-multi", "kprobe-multi/2025"} {
		list = append(list, comparison{id: id, what: "a hit, counted", counted: func() (*Counted, error) {
			t, err := table()
			if err != nil {
				return nil, err
			}
			c := t.Published[n]
			return &Counted{From: c.From, To: c.To, Published: c.Percent, Before: c.CountsFrom, After: c.CountsTo}, nil
		}})
	}
	return list
}
