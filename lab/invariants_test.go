package lab

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ftracelab/ringbuf"
)

// ringScenarios are those of which every step is looked at.
func ringScenarios(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, name := range Names() {
		r, err := Play(Place{Scenario: name})
		if err != nil {
			t.Fatal(err)
		}
		if r.Moment.Ring != nil && name != "storm" {
			names = append(names, name)
		}
	}
	if len(names) < 8 {
		t.Fatalf("only %q have a ring", names)
	}
	return names
}

// everyStep calls f with each moment of a run.
func everyStep(t *testing.T, p Place, f func(m *Moment)) {
	t.Helper()
	p.Step = Last
	r, err := Play(p)
	if err != nil {
		t.Fatal(p, err)
	}
	for p.Step = range r.Place.Step + 1 {
		at, err := Play(p)
		if err != nil {
			t.Fatal(p, err)
		}
		f(&at.Moment)
	}
}

// TestInvariants looks at each step of each ring, alone and with an interrupt or a reader
// after each step: no invariant is broken, and each that is not yet true comes true.
func TestInvariants(t *testing.T) {
	later := map[string]bool{}
	look := func(m *Moment) {
		for n, i := range invariants {
			f := i.find(m)
			if f.verdict == notYet {
				later[i.text] = true
			}
			if f.verdict == broken {
				t.Errorf("%v, %s: invariant %d (%s): %s\n%v", m.Place, m.Step.What, n+1, i.text, f.because, m.Ring)
			}
			if f.because == "" {
				t.Errorf("%v: invariant %d has no reason", m.Place, n+1)
			}
		}
	}
	for _, name := range ringScenarios(t) {
		everyStep(t, Place{Scenario: name}, look)
		if t.Failed() {
			return
		}
		r, err := Play(Place{Scenario: name, Step: Last})
		if err != nil {
			t.Fatal(err)
		}
		for _, act := range []string{"i", "n", "a", "b", "r", "p"} {
			for n := 0; n < len(r.Steps); n += 3 {
				p, err := ParsePlace(fmt.Sprintf("%s?do=%d%s&step=0", name, n, act))
				if err != nil {
					t.Fatal(err)
				}
				at, err := Play(Place{Scenario: name, Step: n})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(at.Moment.Can, p.Choices[0].Do) {
					continue
				}
				for by := range 12 { // the steps that the choice has made, and what comes of them
					p.Step = n + by
					if at, err := Play(p); err == nil {
						look(&at.Moment)
					}
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	if len(later) < 4 {
		t.Errorf("only %d invariants are ever not yet true: %v", len(later), later)
	}
}

// TestInvariantsNotice spoils a snapshot in one way at a time. The invariant that is about
// that is broken then, and the view says so.
func TestInvariantsNotice(t *testing.T) {
	pages := func(m *Moment) []pageState { return m.Ring.Pages }
	spoilt := map[int]bool{}
	for _, c := range []struct {
		place string
		n     int
		spoil func(m *Moment)
		says  string
	}{
		{"overwrite?step=last", 1, func(m *Moment) { pages(m)[1].Link, pages(m)[2].Link, pages(m)[3].Link = "head", "head", "" }, "2 links say head"},
		{"overwrite?step=last", 1, func(m *Moment) { pages(m)[1].Link, pages(m)[2].Link, pages(m)[3].Link = "", "", "" }, "0 links say head"},
		{"overwrite?step=last", 1, func(m *Moment) { pages(m)[1].Link = "update" }, "says update"},
		{"overwrite?step=last", 2, func(m *Moment) { pages(m)[2].Next = pages(m)[0].ID }, "leads to"},
		{"overwrite?step=last", 2, func(m *Moment) { pages(m)[2].ID = pages(m)[0].ID }, "is there twice"},
		{"crossing?step=last", 3, func(m *Moment) { pages(m)[1].Write = pages(m)[1].Committed - 4 }, "commit"},
		{"crossing?step=last", 3, func(m *Moment) { pages(m)[1].Write = 4096 }, "is written up to 4096 of 48"},
		{"overwrite?step=last", 4, func(m *Moment) { pages(m)[0].Read = 100 }, "read 100"},
		{"crossing?step=last", 5, func(m *Moment) { pages(m)[1].Tail, pages(m)[2].Tail = true, false }, "the tail is in front"},
		{"crossing?step=last", 6, func(m *Moment) { pages(m)[2].Committed -= 16 }, "16 bytes wait"},
		{"reserve-commit?step=7", 7, func(m *Moment) { pages(m)[1].Committed = 48 }, "where a reader may look"},
		{"nested?do=7i&step=10", 8, func(m *Moment) { slices.Reverse(m.Writers) }, "task has interrupted irq"},
		{"crossing?step=last", 9, func(m *Moment) { m.Ring.Stats.Overrun++ }, "6 + 1 + 0, and 6 were committed"},
		{"crossing?step=last", 9, func(m *Moment) { m.Written++ }, "7 were committed"},
		{"crossing?step=last", 10, func(m *Moment) { pages(m)[1].Entries-- }, "entries is 6, the pages hold 5"},
		{"crossing?step=last", 11, func(m *Moment) { m.Ring.WriteStamp-- }, "before_stamp"},
		{"crossing?step=last", 12, func(m *Moment) { pages(m)[1].Events[1].Time = 1 }, "comes behind one of"},
	} {
		p, err := ParsePlace(c.place)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Play(p)
		if err != nil {
			t.Fatal(err)
		}
		m := &r.Moment
		find := invariants[c.n-1].find
		if f := find(m); f.verdict == broken {
			t.Errorf("%s: invariant %d is broken before anything was spoilt: %s", c.place, c.n, f.because)
		}
		c.spoil(m)
		spoilt[c.n] = true
		if f := find(m); f.verdict != broken || !strings.Contains(f.because, c.says) {
			t.Errorf("%s: invariant %d: %d, %q, want broken and %q\n%v", c.place, c.n, f.verdict, f.because, c.says, m.Ring)
		}
		var text strings.Builder
		pic, err := m.Picture("invariants")
		if err != nil {
			t.Fatal(err)
		}
		if err := pic.Text(&text, 0); err != nil || !strings.Contains(text.String(), "BROKEN") {
			t.Errorf("%s: the view of invariant %d, spoilt, shows\n%s", c.place, c.n, &text)
		}
	}
	if len(spoilt) != len(invariants) {
		t.Errorf("only %d of %d invariants are spoilt", len(spoilt), len(invariants))
	}
}

// TestAlgorithm: whoever is in the middle of something stands at exactly one line, each line
// that can be marked is, and the lines name each other by their right numbers.
func TestAlgorithm(t *testing.T) {
	marked := map[string]bool{}
	look := func(m *Moment) {
		p, err := m.Picture("algorithm")
		if err != nil {
			t.Fatal(err)
		}
		stand := 0
		for _, s := range p.Sections {
			for _, row := range s.Rows {
				if strings.TrimSpace(row[0].Text) != "" {
					stand += len(strings.Fields(strings.TrimSuffix(row[0].Text, " >")))
					marked[strings.TrimSpace(row[1].Text)] = true
				}
			}
		}
		want := len(m.Writers)
		if m.Left.Who != "" {
			want++
		}
		if m.Reading != "" {
			want++
		}
		if stand != want {
			t.Errorf("%v: %d stand at a line, want %d: %v %v %q", m.Place, stand, want, m.Writers, m.Left, m.Reading)
		}
		if m.Step.Who != "" && want == 0 {
			t.Errorf("%v: %s has made the step, and nobody stands anywhere", m.Place, m.Step.Who)
		}
	}
	for _, name := range ringScenarios(t) {
		everyStep(t, Place{Scenario: name}, look)
	}
	for _, place := range []string{"nested?do=2i&step=0", "nested?do=3i&step=0", "beside?do=0a.1a.2a.9a&step=0", "beside?do=0a.0a.0a.0a.0a&step=0"} {
		p, err := ParsePlace(place)
		if err != nil {
			t.Fatal(err)
		}
		everyStep(t, p, look)
	}
	n, unseen := 0, []string{}
	numbers := map[string]int{}
	for _, p := range procedures {
		for _, l := range p.lines {
			n++
			numbers[l.text] = n
			if len(l.stages) > 0 && !marked[fmt.Sprint(n)] {
				unseen = append(unseen, fmt.Sprintf("%d %s", n, l.text))
			}
		}
	}
	if len(unseen) > 0 {
		t.Errorf("no step leads to %q", unseen)
	}
	for n, begins := range map[int]string{
		lineRead: "w = the write index", lineClaim: "take the room", lineLink: "read the link", lineEnd: "remember how many",
		lineLoop: "if somebody came inside", lineLookUp: "find the page",
	} {
		for text, at := range numbers {
			if strings.HasPrefix(text, begins) && at != n {
				t.Errorf("%q is line %d, and others say %d", text, at, n)
			}
		}
	}
	for _, at := range []ringbuf.Point{ringbuf.PointA, ringbuf.PointLowered} {
		if points[at].kernel == "" {
			t.Errorf("point %v has no function", at)
		}
	}
}
