package lab

import (
	"bytes"
	"strings"
	"testing"
)

func played(t *testing.T, place string) *Run {
	t.Helper()
	p, err := ParsePlace(place)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Play(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func viewed(t *testing.T, r *Run, view string) string {
	t.Helper()
	p, err := r.Moment.Picture(view)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Text(&b, 0); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// One CPU after the other stores three stacks. If both see the same slot empty, the stack
// is there twice; then the third one finds no slot, and is dropped by both.
func TestRace(t *testing.T) {
	alone := played(t, "race?step=last")
	if n := len(alone.Moment.Map.Slots); n != 3 || len(alone.Moment.Map.duplicates()) != 0 {
		t.Errorf("without a race there are %d slots, %v twice", n, alone.Moment.Map.duplicates())
	}
	for _, slot := range alone.Moment.Map.Slots {
		if slot.Ref != 2 {
			t.Errorf("slot %d has %d events", slot.ID, slot.Ref)
		}
	}
	twice := played(t, "race?do=2c.5c.8c&step=last")
	if got := viewed(t, twice, "map"); !strings.Contains(got, "the same stack as in 420") {
		t.Errorf("no stack is there twice:\n%s", got)
	}
	for name, kind := range map[string]Kind{"duplicate": Duplicate, "retry": Retry} {
		start := twice.Place
		start.Step = 0
		r, err := Play(start)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Next(kind, false); !ok {
			t.Errorf("no step of the kind %s", name)
		}
	}
	// The map is emptied while cpu 0 is about to publish: its id leads nowhere.
	reset := played(t, "race?do=4z&step=6")
	if reset.Moment.Why != sayOld.why || len(reset.Moment.Map.Slots) != 0 {
		t.Errorf("%s; %d slots", reset.Moment.Why, len(reset.Moment.Map.Slots))
	}
	for _, place := range []string{"race?do=30c&step=last", "race?do=2i"} {
		p, err := ParsePlace(place)
		if err == nil {
			_, err = Play(p)
		}
		if err == nil || !strings.Contains(err.Error(), "there can be no") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// When the pool is used up, a stack that finds an empty slot claims it for nothing, as
// often as it may try; after a reset it gets an id again.
func TestPool(t *testing.T) {
	r := played(t, "pool?step=last")
	var kinds []Kind
	for _, s := range r.Steps {
		kinds = append(kinds, s.Kind)
	}
	graves := 0
	for _, k := range kinds {
		if k&Gravestone != 0 {
			graves++
		}
	}
	if graves < 2 || kinds[len(kinds)-1]&Miss == 0 || kinds[len(kinds)-2]&Reset == 0 || kinds[len(kinds)-3] != Drop {
		t.Errorf("kinds %v", kinds)
	}
	if got := viewed(t, played(t, "pool?step=3"), "map"); strings.Count(got, "a gravestone:") != 2 {
		t.Errorf("gravestones:\n%s", got)
	}
}
