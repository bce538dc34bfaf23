package experiment

import "fmt"

// Verdict is what came out, in a sentence: the Answer, or for a spec that has none which
// design takes the fewest bytes for an event and how many fewer than the first one. A
// design that loses the stacks is not meant.
func (t *Table) Verdict() string {
	if t.Answer != "" {
		return t.Answer
	}
	base, design := t.Spec.Designs[0], ""
	least, most, n := 0.0, 0.0, 0
	for _, block := range t.Blocks() {
		best := block.Best()
		if best == nil {
			return fmt.Sprintf("On %s no design takes fewer bytes for an event than %s.", block.Rows[0].Workload, base)
		}
		if design != "" && design != best.Design {
			return "Which design takes the fewest bytes for an event depends on the workload."
		}
		saving := best.Figures["saving_pct"].Mean
		if n == 0 {
			least, most = saving, saving
		}
		design, least, most, n = best.Design, min(least, saving), max(most, saving), n+1
	}
	saving := fmt.Sprintf("%.1f %%", least)
	if most-least >= 0.1 {
		saving = fmt.Sprintf("%.1f to %.1f %%", least, most)
	}
	where := ""
	if n > 1 {
		where = ", on each workload and with each size"
	}
	return fmt.Sprintf("Of the designs that keep stacks, %s takes the fewest bytes for an event: %s fewer than %s%s.", design, saving, base, where)
}

// Best is the row with the fewest bytes for an event, of those whose designs keep stacks;
// it is nil if none of them has fewer than the first row.
func (b *Block) Best() (best *Row) {
	for i := range b.Rows {
		r := &b.Rows[i]
		if r.Figures["whole_pct"].Mean > 0 && r.Figures["saving_pct"].Mean > 0 &&
			(best == nil || r.Figures["bytes_per_event"].Mean < best.Figures["bytes_per_event"].Mean) {
			best = r
		}
	}
	return best
}
