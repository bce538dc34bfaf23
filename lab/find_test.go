package lab

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/internal/explore"
)

func condition(t *testing.T, s string) Condition {
	t.Helper()
	c, err := ParseCondition(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What is found is a step of which the condition holds, always the same one.
func TestFind(t *testing.T) {
	for _, c := range []struct{ scenario, condition, place string }{
		{"beside", "swap-fails", "beside?do=0a.1a.2a.9a&step=10&v=1"},
		{"beside", "spin", "beside?do=0a.1a.8a&step=9&v=1"},
		{"nested", "irq and left", "nested?do=1i&step=12&v=1"},
		{"nested", "says point E", "nested?do=2s&step=16&v=1"},
		{"race", "drop", "race?do=2c.11c&step=31&v=1"},
		{"race", "duplicate", "race?do=2c&step=27&v=1"},
		{"cookies", "nested and cookie", "cookies?do=1n&step=2&v=1"},
		{"full", "lost", "full?step=83&v=1"},
		{"overwrite", "overrun >= 6", "overwrite?step=206&v=1"},
	} {
		for range 2 {
			f, err := Find(Place{Scenario: c.scenario}, condition(t, c.condition), Search{})
			if err != nil || f.Place.String() != c.place {
				t.Errorf("%s, %s: %v, %v; want %s", c.scenario, c.condition, f.Place, err, c.place)
				continue
			}
			before := f.Place
			before.Step--
			if at, err := Until(before, condition(t, c.condition), false); err != nil || !reflect.DeepEqual(at, f.Place) {
				t.Errorf("%v: the step after the one before is %v, %v", f.Place, at, err)
			}
		}
	}
	for _, c := range []struct{ scenario, condition, want string }{
		{"race", "swap", "through "},
		{"shadow", "swap", "every choice in every state was tried"},
		{"nested", "overrun > 100", "in 500 runs, through "},
		{"nested", "drops > 1", "no number \"drops\" in nested; there are commit-overrun, "},
		{"event", "gravestone", "in 500 runs"},
	} {
		f, err := Find(Place{Scenario: c.scenario}, condition(t, c.condition), Search{Runs: 500})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, %v; want %q", c.scenario, c.condition, f, err, c.want)
		}
	}
	if _, err := Find(Place{Scenario: "nested"}, condition(t, "nmi"), Search{Runs: 500, Acts: []Act{IRQ, Beside}}); !errors.Is(err, ErrNoStep) {
		t.Errorf("an nmi that may not come: %v", err)
	}
}

// A reader beside the writer, in every interleaving with it of a few operations: the
// pages are always the same ones, and no event is read twice or missing.
func TestBeside(t *testing.T) {
	result, err := explore.Run(1000, func(tape *explore.Tape) error {
		p := Place{Scenario: "beside"}
		for after := 0; len(p.Choices) < 7 && after < 40; after++ {
			p.Step = after
			at, err := Play(p)
			if err != nil {
				return err
			}
			if err := sound(&at.Moment); err != nil {
				return fmt.Errorf("%v: %w", p, err)
			}
			acts := []Act{0}
			for _, a := range at.Moment.Can {
				if a == Beside || a == BesidePage {
					acts = append(acts, a)
				}
			}
			if a := acts[tape.Choose(len(acts))]; a != 0 {
				p.Choices = append(p.Choices, Choice{after, a})
			}
		}
		p.Step = Last
		end, err := Play(p)
		if err != nil {
			return err
		}
		if s := end.Moment.Ring.Stats; s.Entries+s.Overrun+s.Read != 10 {
			return fmt.Errorf("%v: %+v", end.Place, s)
		}
		return sound(&end.Moment)
	})
	t.Log(result)
	if err != nil {
		t.Error(err)
	}
}

// sound checks that each page is there once, that one link or two lead to the head or to
// the page that is given up, and that the links close.
func sound(m *Moment) error {
	next, flags := map[int]int{}, 0
	for i, p := range m.Ring.Pages {
		if _, twice := next[p.ID]; twice {
			return fmt.Errorf("page %d is there twice: %v", p.ID, m.Ring)
		}
		next[p.ID] = p.Next
		if i > 0 && p.Link != "" {
			flags++
		}
	}
	at := m.Ring.Pages[1].ID
	for range m.Ring.Pages[1:] {
		at = next[at]
	}
	if at != m.Ring.Pages[1].ID || len(next) != 3 || flags == 0 {
		return fmt.Errorf("%d pages, %d flags, the ring leads to %d:\n%v", len(next), flags, at, m.Ring)
	}
	return nil
}

// Until is Next for conditions that are a kind, and finds the way back.
func TestUntil(t *testing.T) {
	for _, name := range []string{"overwrite", "race", "shadow", "probe", "cookies", "hist"} {
		r, err := Play(Place{Scenario: name, Step: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range KindNames() {
			for _, back := range []bool{false, true} {
				k, _ := ParseKind(kind)
				want, ok := r.Next(k, back)
				got, err := Until(r.Place, condition(t, kind), back)
				if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) || err != nil && !errors.Is(err, ErrNoStep) {
					t.Errorf("%s, %s, back %v: %v, %v; want %v, %v", name, kind, back, got, err, want, ok)
				}
			}
		}
	}
	for _, c := range [][3]string{
		{"overwrite?step=0", "overrun > 0", "overwrite?step=163&v=1"},
		{"overwrite?step=0", "reader and swap", "overwrite?step=116&v=1"},
		{"nested?do=9i&step=0", "irq and says point C", "nested?do=9i&step=13&v=1"},
		{"shadow?step=0", "depth = 3 and push", "shadow?step=3&v=1"},
		{"hist?step=0", "drops >= 1", "hist?step=8&v=1"},
		{"probe?step=0", "entries >= 3", "probe?step=4&v=1"},
		{"nested?do=9i&step=0", "writers = 2", "nested?do=9i&step=10&v=1"},
	} {
		p, err := ParsePlace(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if at, err := Until(p, condition(t, c[1]), false); err != nil || at.String() != c[2] {
			t.Errorf("%s, %s: %v, %v; want %s", c[0], c[1], at, err, c[2])
		}
	}
}

// A condition that cannot be read is refused with what there is.
func TestParseCondition(t *testing.T) {
	for s, want := range map[string]string{
		"":                       "kind of step",
		"nonsense":               `"nonsense": it is a kind of step (page-end, `,
		"overrun > x":            `"x" is not a number`,
		"overrun => 3":           `no comparison "=>"`,
		"overrun > -1":           `"-1" is not a number`,
		"swap and":               `"swap and"`,
		"says ":                  `"says"`,
		strings.Repeat("x", 300): "300 bytes",
	} {
		if _, err := ParseCondition(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", s, err, want)
		}
	}
	for name, k := range map[string]Kind{"spin": Spin, "left": Left, "page-end": PageEnd, "join": Join} {
		if got, err := ParseKind(name); err != nil || got != k || KindAbout(name) == "" {
			t.Errorf("%s is %b, %v", name, got, err)
		}
	}
}

// Whatever was looked at before, and however one came there, a place shows the same: a step
// back is a run from the beginning, also where it begins at a mark.
func TestStepBack(t *testing.T) {
	defer func(was int) { markEvery = was }(markEvery)
	resumed := 0
	rapid.Check(t, func(t *rapid.T) {
		p := Place{Scenario: rapid.SampledFrom(Names()).Draw(t, "scenario")}
		markEvery = rapid.IntRange(1, 4).Draw(t, "every")
		if p.Scenario == "storm" {
			markEvery = 500
		}
		for range rapid.IntRange(0, 4).Draw(t, "choices") {
			r, err := Play(Place{Scenario: p.Scenario, Choices: p.Choices})
			if err != nil {
				t.Fatal(err)
			}
			from := 0
			if n := len(p.Choices); n > 0 {
				from = p.Choices[n-1].After + 1
			}
			after := rapid.IntRange(from, max(from, min(len(r.Steps), from+60))).Draw(t, "after")
			if after > len(r.Steps) {
				break
			}
			at, err := Play(Place{Scenario: p.Scenario, Choices: p.Choices, Step: after})
			if err != nil {
				t.Fatal(err)
			}
			if len(at.Moment.Can) > 0 {
				p.Choices = append(p.Choices, Choice{after, rapid.SampledFrom(at.Moment.Can).Draw(t, "act")})
			}
		}
		r, err := Play(Place{Scenario: p.Scenario, Choices: p.Choices, Step: Last})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			p.Step = rapid.IntRange(0, len(r.Steps)).Draw(t, "step")
			quick, err := Play(p)
			if err != nil {
				t.Fatal(err)
			}
			if l, _ := recentLists.get(p); before(l.marks, p.Step) != nil {
				resumed++
			}
			recentLists.last[0].run, recentLists.last[1].run = "", ""
			slow, err := Play(p)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(quick, slow) {
				t.Fatalf("%v is\n%+v\nand from the beginning\n%+v", p, quick.Moment, slow.Moment)
			}
		}
	})
	if resumed < 20 {
		t.Errorf("only %d runs began at a mark", resumed)
	}
}

func FuzzParseCondition(f *testing.F) {
	for _, s := range []string{"swap", "irq and overrun >= 3", "says point E", "=", "a<=1 and ", "x<>1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCondition(s)
		if err != nil {
			return
		}
		if _, err := Until(Place{Scenario: "nested"}, c, false); err == nil {
			if again, err := ParseCondition(c.String()); err != nil || !reflect.DeepEqual(again, c) {
				t.Errorf("%q is read again as %v, %v", s, again, err)
			}
		}
	})
}

// A step back at the end of the longest scenario: 110,376 steps.
func BenchmarkStepBack(b *testing.B) {
	r, err := Play(Place{Scenario: "storm", Step: Last})
	if err != nil {
		b.Fatal(err)
	}
	p := r.Place
	for b.Loop() {
		if p.Step--; p.Step < 100_000 {
			p.Step = len(r.Steps)
		}
		if _, err := Play(p); err != nil {
			b.Fatal(err)
		}
	}
}

// Each byte of a page is in exactly one range.
func TestRanges(t *testing.T) {
	r, err := Play(Place{Scenario: "event", Step: Last})
	if err != nil {
		t.Fatal(err)
	}
	image := r.Moment.Ring.Pages[1].Bytes
	for _, image := range [][]byte{image, image[:100], image[:16], nil, make([]byte, 64)} {
		next := 0
		for _, s := range PagePicture("a page", image).Sections {
			if s.Title != "what each byte is" {
				continue
			}
			for _, row := range s.Rows {
				var from, to int
				if _, err := fmt.Sscanf(row[0].Text, "0x%x-0x%x", &from, &to); err != nil || from != next || to < from || row[2].Text == "" {
					t.Fatalf("%v after byte %d: %v", row, next, err)
				}
				next = to + 1
			}
		}
		if next != len(image) {
			t.Errorf("%d of %d bytes are explained", next, len(image))
		}
	}
}
