package lab

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ftracelab/internal/explore"
)

// text is everything that can be seen of a moment.
func text(t *testing.T, m *Moment) string {
	t.Helper()
	var b bytes.Buffer
	for _, view := range m.Views() {
		p, err := m.Picture(view)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Text(&b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// steps are the steps of a run that the tests look at: all of a short one.
func stepsOf(r *Run) []int {
	var at []int
	for n := 0; n <= len(r.Steps); n += 1 + len(r.Steps)/1000*50 {
		at = append(at, n)
	}
	return at
}

// A step back is a run to the step before: whatever was looked at in between, a place
// shows the same. Its text leads back to it.
func TestPlaces(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			last, err := Play(Place{Scenario: s.Name, Step: Last})
			if err != nil {
				t.Fatal(err)
			}
			if last.Moment.Total != len(last.Steps) || last.Place.Step != len(last.Steps) {
				t.Errorf("%d steps, the last is %d of %d", len(last.Steps), last.Place.Step, last.Moment.Total)
			}
			seen := map[int]string{}
			for _, n := range stepsOf(last) {
				r, err := Play(Place{Scenario: s.Name, Step: n})
				if err != nil {
					t.Fatal(err)
				}
				seen[n] = text(t, &r.Moment)
				if r.Moment.Why == "" {
					t.Errorf("step %d (%s) does not say why", n, r.Moment.Step.What)
				}
			}
			back := stepsOf(last)
			slices.Reverse(back)
			for _, n := range back {
				p, err := ParsePlace("https://example.org/lab#" + Place{Scenario: s.Name, Step: n}.String())
				if err != nil {
					t.Fatal(err)
				}
				r, err := Play(p)
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, &r.Moment); got != seen[n] {
					t.Fatalf("step %d shows\n%s\nand showed\n%s", n, got, seen[n])
				}
			}
		})
	}
}

// Whatever may be chosen can be: every one or two choices in a row lead to a run that
// ends, in which all committed events can be read.
func TestEveryChoice(t *testing.T) {
	for _, name := range []string{"nested", "crossing", "overwrite"} {
		result, err := explore.Run(100, func(tape *explore.Tape) error {
			p := Place{Scenario: name}
			for range 2 {
				r, err := Play(Place{Scenario: name, Choices: p.Choices, Step: Last})
				if err != nil {
					return err
				}
				from := 0
				if n := len(p.Choices); n > 0 {
					from = p.Choices[n-1].After + 1
				}
				if from >= len(r.Steps) {
					return nil
				}
				after := from + tape.Choose(len(r.Steps)-from)
				at, err := Play(Place{Scenario: name, Choices: p.Choices, Step: after})
				if err != nil {
					return err
				}
				if len(at.Moment.Can) == 0 {
					return nil
				}
				p.Choices = append(p.Choices, Choice{after, at.Moment.Can[tape.Choose(len(at.Moment.Can))]})
			}
			r, err := Play(Place{Scenario: name, Choices: p.Choices, Step: Last})
			if err != nil {
				return err
			}
			if len(r.Moment.Ring.Open) > 0 {
				return errors.New("an event is open at the end of " + r.Place.String())
			}
			if parsed, err := ParsePlace(r.Place.String()); err != nil || !reflect.DeepEqual(parsed, r.Place) {
				return errors.New("not read back: " + r.Place.String())
			}
			return nil
		})
		t.Log(name, result)
		if err != nil {
			t.Error(err)
		}
	}
}

// A reader may come when an event has ended, and an irq when another irq has.
func TestBetweenEvents(t *testing.T) {
	for _, place := range []string{"swap?do=11p", "overwrite?do=11r.23p&step=last", "nested?do=6i.17i&step=last", "full?do=83p&step=last"} {
		p, err := ParsePlace(place)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Play(p); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// What is chosen is not possible everywhere.
func TestImpossible(t *testing.T) {
	for place, want := range map[string]string{
		"nested?do=3r":           "there can be no consume",
		"nested?do=3n.5i":        "there can be no irq",
		"nested?do=9999i&step=1": "the run ends after step",
		"nested?step=9999":       "has 22 steps",
		"nested?do=9i.3i":        "in the order of their steps",
		"nested?do=9x":           "choice \"9x\"",
		"nested?do=":             "choice \"\"",
		"nested?step=-1":         "step \"-1\"",
		"nested?v=2":             "version \"2\"",
		"nested?seed=1":          "unknown part",
		"nested?step=1&step=2":   "there 2 times",
		"nothing?step=1":         "no scenario \"nothing\"",
		"<script>?step=1":        "no scenario",
		"shadow?do=1i":           "there can be no irq",
		"nested?do=1i" + strings.Repeat(".1i", MaxChoices): "more than 1000 choices",
	} {
		p, err := ParsePlace(place)
		if err == nil {
			_, err = Play(p)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v; want %q", place, err, want)
		}
	}
}

// The irq's text was written by the irq, at the step that says so.
func TestWrote(t *testing.T) {
	end, err := ParsePlace("nested?do=14i&step=last")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Play(end)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, page := range r.Moment.Ring.Pages {
		at := bytes.Index(page.Bytes, []byte("irq!"))
		if at < 0 {
			continue
		}
		found = true
		p, err := Wrote(end, page.ID, at)
		if err != nil {
			t.Fatal(err)
		}
		by, err := Play(p)
		if err != nil {
			t.Fatal(err)
		}
		if s := by.Moment.Step; s.Who != "irq" || s.What != `has filled it with "irq!"` {
			t.Errorf("written at %v by %s: %s", p, s.Who, s.What)
		}
		if _, err := Wrote(end, page.ID, len(page.Bytes)); err == nil {
			t.Error("a byte behind the page was written")
		}
	}
	if !found {
		t.Fatal("there is no event of the irq")
	}
	if _, err := Wrote(Place{Scenario: "shadow"}, 0, 0); err == nil {
		t.Error("the shadow stack has bytes of a page")
	}
}

// The stories show what they are there for.
func TestStories(t *testing.T) {
	for name, kinds := range map[string][]string{
		"crossing": {"page-end", "commit"}, "overwrite": {"page-end", "overwrite", "swap"}, "swap": {"swap"},
		"full": {"page-end", "lost", "swap"}, "probe": {"miss", "hit", "drop"}, "shadow": {"push", "pop", "overrun"},
	} {
		r, err := Play(Place{Scenario: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			kind, err := ParseKind(k)
			if err != nil {
				t.Fatal(err)
			}
			p, ok := r.Next(kind, false)
			if !ok {
				t.Errorf("%s has no step of the kind %s", name, k)
				continue
			}
			at, err := Play(p)
			if err != nil || at.Moment.Step.Kind&kind == 0 {
				t.Errorf("%v: %v %v", p, at.Moment.Step, err)
			}
		}
	}
	r, err := Play(Place{Scenario: "nested", Choices: []Choice{{14, IRQ}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Next(Nested, false); !ok {
		t.Error("no step is nested in another writer's")
	}
	if _, err := ParseKind("nonsense"); err == nil {
		t.Error("nonsense is a kind")
	}
}

// Drawings are well-formed, and what a cell says cannot become part of the drawing.
func TestDrawings(t *testing.T) {
	check := func(p Picture) {
		t.Helper()
		var svg, js bytes.Buffer
		if err := errors.Join(p.SVG(&svg), p.JSON(&js)); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(&svg)
		for {
			if tok, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.Title, err)
			} else if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Fatal("a script")
			}
		}
		var again Picture
		if err := json.Unmarshal(js.Bytes(), &again); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%s: JSON does not hold the picture: %v", p.Title, err)
		}
	}
	for _, s := range Scenarios() {
		r, err := Play(Place{Scenario: s.Name, Step: 20 % (1 + len(s.Name)*2)})
		if err != nil {
			t.Fatal(err)
		}
		for _, view := range r.Moment.Views() {
			p, err := r.Moment.Picture(view)
			if err != nil {
				t.Fatal(err)
			}
			check(p)
		}
		if _, err := r.Moment.Picture("nonsense"); err == nil {
			t.Error("there is a view called nonsense")
		}
	}
	check(Picture{Title: "<script>alert(1)</script>", Sections: []Section{{
		Title: "\x1b[31m\x00", Rows: [][]Cell{{{Text: "</text><script>", Ref: `"><script>`, About: "]]>\u202e"}}},
	}}})
	check(PagePicture("torn", []byte("short")))
	check(PagePicture("damaged", bytes.Repeat([]byte{0xff}, 4096)))
}

// A narrow terminal breaks lines, and loses nothing.
func TestWidth(t *testing.T) {
	r, err := Play(Place{Scenario: "nested", Step: 12})
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range r.Moment.Views() {
		p, err := r.Moment.Picture(view)
		if err != nil {
			t.Fatal(err)
		}
		var wide, narrow bytes.Buffer
		if err := errors.Join(p.Text(&wide, 0), p.Text(&narrow, 40)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(strings.Fields(wide.String()), strings.Fields(narrow.String())) {
			t.Errorf("%s: the narrow text differs:\n%s", view, narrow.String())
		}
	}
}

func FuzzParsePlace(f *testing.F) {
	for _, s := range []string{"nested?do=9i.12n&step=31&v=1", "shadow?step=last", "event", "x#probe?step=3", "nested?do=%31i", "?", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePlace(s)
		if err != nil {
			return
		}
		if again, err := ParsePlace(p.String()); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%q is %v, and that is %v, %v", s, p, again, err)
		}
		if p.Scenario != "storm" {
			_, _ = Play(p)
		}
	})
}

func FuzzPagePicture(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0x41}, 64))
	f.Fuzz(func(t *testing.T, image []byte) {
		if len(image) > 1<<16 {
			return
		}
		if err := PagePicture("a page", image).Text(io.Discard, 80); err != nil {
			t.Error(err)
		}
	})
}
