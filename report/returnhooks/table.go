package returnhooks

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Comparison is a change from one design to another that was measured and published, in
// millions of hits a second, beside what is counted here.
type Comparison struct {
	From       string  `json:"from"`
	To         string  `json:"to"`
	Source     string  `json:"source"`
	Before     float64 `json:"before_mhits"`
	After      float64 `json:"after_mhits"`
	Percent    float64 `json:"percent"`
	CountsFrom PerHit  `json:"counts_from"`
	CountsTo   PerHit  `json:"counts_to"`
}

// published are the figures of the two series.
var published = []Comparison{
	{From: "fprobe-rethook-entry", To: "fprobe-fgraph-entry", Source: "kprobe-multi, cover letter of fprobe on fgraph (v11, 2024)", Before: 6.507, After: 6.183},
	{From: "fprobe-rethook", To: "fprobe-fgraph", Source: "kretprobe-multi, the same", Before: 3.518, After: 4.754},
	{From: "fprobe-fgraph-entry", To: "fprobe-2025-entry", Source: "kprobe-multi, entry-only fprobes (2025), another machine", Before: 54.663, After: 69.447},
}

// explains says what the counts explain of the published figures, and what they do not.
var explains = []string{
	"A call that is missed costs little and is in the average; the published figures are of calls that are not missed.",
	"Explained is the direction: a probe of entries writes a frame on the shadow stack and drops it, which 6.12's does not and that of 2025 no longer does; a probe of returns takes no node from a pool that all CPUs share.",
	"A frame without the time of the call is a word shorter; a user that keeps the time itself writes three words for it: the time, the word behind it and the top. So it pays where few users need the time.",
	"Not explained is the size: what saving registers, trampolines, indirect calls and a cache miss cost is not counted here, and a count of 0 beside a count of 4 is no percentage.",
}

func (t *Table) compare() {
	rows := map[string]PerHit{}
	for _, r := range t.Designs {
		rows[r.Name] = r.PerHit
	}
	for _, c := range published {
		c.Percent = 100 * (c.After/c.Before - 1)
		c.CountsFrom, c.CountsTo = rows[c.From], rows[c.To]
		t.Published = append(t.Published, c)
	}
	t.Explains = explains
}

// WriteJSON writes the table as one JSON object.
func (t *Table) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(t)
}

// WriteText writes the table for people.
func (t *Table) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, %.3g s of %d CPUs, seed %d, %d tasks at the end\n\n", strings.Join(t.Functions, ", "), t.Seconds, t.CPUs, t.Seed, t.Tasks)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "design\tcalls\tseen\tmissed\tin flight\tB/task\tB/function\tB once\tatomic\twords\tlines\tlook-ups\t")
	for _, r := range t.Designs {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t\n", r.Name, r.Calls, r.Seen, r.Missed, r.InFlight,
			r.PerTask, r.PerFunction, r.Fixed, r.PerHit.Atomic, r.PerHit.Words, r.PerHit.Lines, r.PerHit.Lookups)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nSeen are returns; of a design whose name ends with -entry, entries. Missed:")
	for _, r := range t.Designs {
		if r.Missed > 0 {
			fmt.Fprintf(w, "  %s: %s, %.0f %% of the calls\n", r.Name, r.Why, 100*float64(r.Missed)/float64(r.Calls))
		}
	}
	fmt.Fprintln(w, "\nThe last four columns are for a call and its return: atomic read-modify-writes on words that\nother CPUs write, 8-byte words written, cache lines touched, searches in hash tables.\n\nPublished, beside what is counted here:")
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range t.Published {
		a, b := c.CountsFrom, c.CountsTo
		fmt.Fprintf(tw, "  %s → %s\t%+.0f %%\tatomic %.2f → %.2f, words %.2f → %.2f, lines %.2f → %.2f, look-ups %.2f → %.2f\n",
			c.From, c.To, c.Percent, a.Atomic, b.Atomic, a.Words, b.Words, a.Lines, b.Lines, a.Lookups, b.Lookups)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, line := range t.Explains {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
