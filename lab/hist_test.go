package lab

import (
	"strings"
	"testing"
)

// Two keys share a home; when the elements are used up, a new key is dropped and a known
// one still counted; a reader gets the keys sorted.
func TestHist(t *testing.T) {
	r := played(t, "hist?step=last")
	if n := len(r.Moment.Hist.Slots); n != 0 {
		t.Errorf("%d slots after :clear", n)
	}
	before := played(t, "hist?step=6").Moment.Hist
	if len(before.Slots) != 3 || before.Hits != 6 {
		t.Fatalf("%+v", before)
	}
	moved := 0
	for _, s := range before.Slots {
		if s.Number != s.Home {
			moved++
		}
	}
	if moved != 1 {
		t.Errorf("%d slots are not at home", moved)
	}
	full := played(t, "hist?step=10").Moment.Hist
	if full.Drops != 1 || len(full.Slots) != full.Elements {
		t.Errorf("%d drops, %d slots of %d elements", full.Drops, len(full.Slots), full.Elements)
	}
	if want := "pid 100: hitcount 4, runtime 160"; full.Sorted[0] != want {
		t.Errorf("first %q, want %q", full.Sorted[0], want)
	}
	if got := viewed(t, played(t, "hist?step=8"), "hist"); !strings.Contains(got, "drops 1") || !strings.Contains(got, "pid 5000, home") {
		t.Errorf("a drop:\n%s", got)
	}
}
