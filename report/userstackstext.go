package report

import (
	"cmp"
	"fmt"
)

// userStacks writes what each way to record the user stacks takes.
func (t *text) userStacks(u *UserStacks) {
	if u == nil {
		return
	}
	t.section("User stacks", "computed from the layout of the records; saving: against walk, of these records alone")
	tab := newTable("design", "bytes", "B/stack", "saving", "walks", "words read", "lost joins", "map")
	for _, exists := range []bool{true, false} {
		for _, d := range u.Designs {
			if d.Exists != exists {
				continue
			}
			memory := "-"
			if d.MapBytes > 0 {
				memory = binaryBytes(d.MapBytes)
			}
			tab.row(d.Name, Group(d.Bytes), fmt.Sprintf("%.1f", d.PerEvent), percent(cmp.Or(d.SavingPct, 0)), Group(d.Walks), Group(d.Read), Group(d.LostJoins), memory)
		}
	}
	t.table(tab)
	t.wrap("  ", "    ", u.Sentence)
	if u.Joined != "" {
		t.wrap("  ", "    ", u.Joined)
	}
}
