package answer

import (
	"encoding/json"
	"strings"
	"testing"

	"ftracelab/lab"
)

// TestSameAsLab: each view of a step has the text and the drawing of package lab.
func TestSameAsLab(t *testing.T) {
	for _, name := range lab.Names() {
		p := lab.Place{Scenario: name, Step: lab.Last}
		run, err := lab.Play(p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Calls()["step"]([]string{p.String(), strings.Join(run.Moment.Views(), ",")})
		if err != nil {
			t.Fatal(err)
		}
		s := v.(*Step)
		if s.Place != run.Place.String() || s.Step != s.Total || len(s.Views) != len(run.Moment.Views()) {
			t.Errorf("%s: %s, step %d of %d, %d views", name, s.Place, s.Step, s.Total, len(s.Views))
		}
		for _, view := range s.Views {
			pic, err := run.Moment.Picture(view.Name)
			if err != nil {
				t.Fatal(err)
			}
			var svg, text strings.Builder
			if err := pic.SVG(&svg); err != nil {
				t.Fatal(err)
			}
			if err := pic.Text(&text, 0); err != nil {
				t.Fatal(err)
			}
			cells := 0
			for _, section := range pic.Sections {
				for _, row := range section.Rows {
					cells += len(row)
				}
			}
			large := cells > MaxCells
			if (view.SVG == "") != large || !large && view.SVG != svg.String() || view.Text != text.String() || !view.Drawn {
				t.Errorf("%s %s is another picture", name, view.Name)
			}
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	}
}

// TestCalls asks each question, and some that have no answer.
func TestCalls(t *testing.T) {
	place := func(v any, err error) string {
		if err != nil {
			return err.Error()
		}
		return v.(*Step).Place
	}
	calls := Calls()
	if got := place(calls["next"]([]string{"overwrite?step=0", "", "overwrite", ""})); !strings.HasPrefix(got, "overwrite?step=") {
		t.Error(got)
	}
	if got := place(calls["next"]([]string{"overwrite?step=0", "", "overwrite", "back"})); !strings.HasSuffix(got, `"overwrite" holds at no step before 0`) {
		t.Error(got)
	}
	if got := place(calls["next"]([]string{"overwrite?step=0", "", "overrun >= 6", ""})); got != "overwrite?step=206&v=1" {
		t.Error(got)
	}
	if got := place(calls["find"]([]string{"beside?step=0", "", "swap-fails"})); got != "beside?do=0a.1a.2a.9a&step=10&v=1" {
		t.Error(got)
	}
	if got := place(calls["find"]([]string{"beside?step=0", "", "nonsense"})); !strings.Contains(got, "it is a kind of step") {
		t.Error(got)
	}
	if got, want := place(calls["wrote"]([]string{"event?step=last", "ring", "1", "16"})), "event?step="; !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	if v, err := calls["step"]([]string{"event?step=3", "bits"}); err != nil || v.(*Step).Views[1].Drawn || !v.(*Step).Views[3].Drawn {
		t.Errorf("%+v, %v", v, err)
	}
	v, err := calls["steps"]([]string{"storm?step=5000"})
	if err != nil || v.(*List).First != 4801 || len(v.(*List).Lines) != maxListed {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := calls["scenarios"](nil); err != nil || len(v.([]Scenario)) != len(lab.Names()) {
		t.Error(v, err)
	}
	for name, args := range map[string][]string{"step": {"nowhere", ""}, "next": {"event", "", "nothing", ""}, "wrote": {"event", "", "x", "y"}, "steps": {"event", "event"}} {
		if _, err := calls[name](args); err == nil {
			t.Errorf("%s %q has an answer", name, args)
		}
	}
}
