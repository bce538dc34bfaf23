package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"ftracelab/report/experiment"
	"ftracelab/report/join"
	"ftracelab/report/userstacks"
)

// Table is the result.
type Table struct {
	Seeds  []uint32 `json:"seeds"`
	Blocks []Block  `json:"workloads"`
	Depths []Depth  `json:"law"`
	// Remember is the sentence to remember.
	Remember string `json:"remember"`
}

// Depth is the law for stacks of one depth: from how many events per stay on deferred
// stacks take fewer bytes than walking at every event.
type Depth struct {
	Addresses int `json:"addresses"`
	PaysFrom  int `json:"pays_from"`
}

// Block is a workload. Figures are means over the seeds with half of their 95 % confidence
// interval.
type Block struct {
	Workload
	Designs       []Design          `json:"designs"`
	EventsPerStay experiment.Figure `json:"events_per_stay"`
	Depth         experiment.Figure `json:"depth"`
	PaysFrom      experiment.Figure `json:"pays_from"`
	WalkError     experiment.Figure `json:"walk_error_pct"`
	DeferredError experiment.Figure `json:"deferred_error_pct"`
	FromWalk      experiment.Figure `json:"deferred_from_walk_error_pct"`
	// Unjoined counts the events without a stack by reason, over all seeds.
	Unjoined map[string]uint64 `json:"unjoined"`
	Trials   []Trial           `json:"trials"`
}

// Design is a design on a workload.
type Design struct {
	Name      string            `json:"name"`
	What      string            `json:"what"`
	Exists    bool              `json:"exists"`
	Bytes     experiment.Figure `json:"bytes"`
	PerEvent  experiment.Figure `json:"bytes_per_event"`
	SavingPct experiment.Figure `json:"saving_pct"` // against walk
	Walks     experiment.Figure `json:"walks"`
	Read      experiment.Figure `json:"words_read"`
	Written   experiment.Figure `json:"words_written"`
	Lookups   experiment.Figure `json:"map_lookups"`
	LostJoins experiment.Figure `json:"lost_joins"`
	MapBytes  experiment.Figure `json:"map_bytes"`
	WholePct  experiment.Figure `json:"whole_pct"`
}

func (b *Block) summarize() {
	for n, r := range b.Trials[0].Rows {
		of := func(get func(*userstacks.Row) float64) experiment.Figure {
			return b.figure(func(t *Trial) float64 { return get(&t.Rows[n]) })
		}
		b.Designs = append(b.Designs, Design{
			Name: r.Name, What: r.What, Exists: r.Exists,
			Bytes:     of(func(r *userstacks.Row) float64 { return float64(r.Bytes) }),
			PerEvent:  of(func(r *userstacks.Row) float64 { return r.PerEvent }),
			SavingPct: of(func(r *userstacks.Row) float64 { return r.SavingPct }),
			Walks:     of(func(r *userstacks.Row) float64 { return float64(r.Walks) }),
			Read:      of(func(r *userstacks.Row) float64 { return float64(r.Read) }),
			Written:   of(func(r *userstacks.Row) float64 { return float64(r.Written) }),
			Lookups:   of(func(r *userstacks.Row) float64 { return float64(r.Lookups) }),
			LostJoins: of(func(r *userstacks.Row) float64 { return float64(r.LostJoins) }),
			MapBytes:  of(func(r *userstacks.Row) float64 { return float64(r.MapBytes) }),
			WholePct:  of(func(r *userstacks.Row) float64 { return r.WholePct }),
		})
	}
	b.EventsPerStay = b.figure(func(t *Trial) float64 { return t.Law.EventsPerStay })
	b.Depth = b.figure(func(t *Trial) float64 { return t.Law.Depth })
	b.PaysFrom = b.figure(func(t *Trial) float64 { return t.Law.PaysFrom })
	b.WalkError = b.figure(func(t *Trial) float64 { return t.WalkErrorPct })
	b.DeferredError = b.figure(func(t *Trial) float64 { return t.DeferredErrorPct })
	b.FromWalk = b.figure(func(t *Trial) float64 { return t.FromWalkPct })
	b.Unjoined = map[string]uint64{}
	for i := range b.Trials {
		for r := join.Joined + 1; r < join.Reasons; r++ {
			if n := b.Trials[i].Join.Events[r]; n > 0 {
				b.Unjoined[r.String()] += n
			}
		}
	}
}

// remember makes the sentence from the figures.
func (t *Table) remember() {
	for _, n := range []int{2, 4, 8, 16, 32, 64} {
		t.Depths = append(t.Depths, Depth{n, userstacks.PaysFrom(n)})
	}
	t.Remember = fmt.Sprintf("Walking the user's stack later saves walks, and bytes only where a stay in the kernel has several events: "+
		"as a stack takes 20 bytes for each address, with its inode and device, stacks of 8 addresses pay from %d events per stay on, of 16 from %d, of 32 from %d.",
		userstacks.PaysFrom(8), userstacks.PaysFrom(16), userstacks.PaysFrom(32))
	for i := range t.Blocks {
		b := &t.Blocks[i]
		for _, d := range b.Designs {
			if d.Name != "deferred" {
				continue
			}
			verb, pct := "saves", d.SavingPct.Mean
			if pct < 0 {
				verb, pct = "costs", -pct
			}
			t.Remember += fmt.Sprintf(" With %s, %.2f events per stay, it %s %.1f %%.", b.Name, b.EventsPerStay.Mean, verb, pct)
		}
	}
}

// WriteJSON writes the table as one JSON object.
func (t *Table) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(t)
}

// WriteText writes the table for people.
func (t *Table) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "User stacks, %d seeds; ± is half of the 95 %% confidence interval of the mean.\n", len(t.Seeds))
	for i := range t.Blocks {
		b := &t.Blocks[i]
		fmt.Fprintf(w, "\n%s: %s events per stay, %s addresses per stack\n\n", b.Name, plusMinus(b.EventsPerStay, 2), plusMinus(b.Depth, 1))
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "design\tbytes\tB/event\tsaving %\twalks\twords read\twords written\tlook-ups\tlost joins\tmap bytes\twhole %\t")
		for _, d := range b.Designs {
			fmt.Fprintf(tw, "%s\t%.0f\t%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f\t%.1f\t\n", d.Name, d.Bytes.Mean, plusMinus(d.PerEvent, 1),
				plusMinus(d.SavingPct, 1), d.Walks.Mean, d.Read.Mean, d.Written.Mean, d.Lookups.Mean, d.LostJoins.Mean, d.MapBytes.Mean, d.WholePct.Mean)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n  deferred takes less than walk from %s events per stay on.\n", plusMinus(b.PaysFrom, 2))
		fmt.Fprintf(w, "  predicted against traced: walk %+.2f %%, deferred %+.2f %%; deferred from a trace with user_stack %+.1f %%\n",
			b.WalkError.Mean, b.DeferredError.Mean, b.FromWalk.Mean)
		fmt.Fprint(w, "  events without a stack:")
		for r := join.Joined + 1; r < join.Reasons; r++ {
			if n := b.Unjoined[r.String()]; n > 0 {
				fmt.Fprintf(w, " %d %v;", n, r)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nAn event takes 84 bytes if its stack is walked at once (user_stack, the innermost 8 addresses). Later it\n"+
		"takes 20 + S/k: a cookie, and its part of the stack of a stay with k events. S is 36 + 20 n for n addresses,\n"+
		"from 5 on 40 + 20 n. So later is less from k = S/64 on:\n\n  addresses  ")
	for _, d := range t.Depths {
		fmt.Fprintf(w, "%5d", d.Addresses)
	}
	fmt.Fprint(w, "\n  events     ")
	for _, d := range t.Depths {
		fmt.Fprintf(w, "%5d", d.PaysFrom)
	}
	_, err := fmt.Fprintf(w, "\n\n%s\n", t.Remember)
	return err
}

// plusMinus prints a figure.
func plusMinus(f experiment.Figure, digits int) string {
	if f.Half == 0 {
		return fmt.Sprintf("%.*f", digits, f.Mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, f.Mean, digits, f.Half)
}
