package lessons_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ftracelab/lab/lessons"
)

// TestPage: what a page gets of a lesson has its text, questions and pictures, and none of
// the answers. Lessons whose sessions need a machine are driven in a browser.
func TestPage(t *testing.T) {
	boot := func([]string) (lessons.Machine, error) { return silent{}, nil }
	for _, l := range lessons.All() {
		p, err := l.Page(t.Context(), boot)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		asked, pictures := 0, 0
		for i, b := range l.Blocks {
			if got := p.Blocks[i]; got.Show != nil && got.Show.SVG != "" {
				pictures++
			}
			if q := b.Question; q != nil {
				asked++
				for _, say := range append([]string{q.Right}, q.Otherwise) {
					if say != "" && strings.Contains(string(text), say) {
						t.Errorf("lesson %d gives away %q", l.Number, say)
					}
				}
			}
			if b.Exercise != nil && p.Blocks[i].Exercise.Ask != b.Exercise.Ask {
				t.Errorf("lesson %d has another exercise", l.Number)
			}
		}
		if asked == 0 || len(p.Blocks) != len(l.Blocks) || pictures == 0 && l.Number < 9 {
			t.Errorf("lesson %d: %d questions, %d blocks, %d pictures", l.Number, asked, len(p.Blocks), pictures)
		}
	}
	l, err := lessons.Find(2)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := l.Judge(t.Context(), boot, "exercise", "reserve-commit?step=18&v=1"); err != nil || !g.Right {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := l.Judge(t.Context(), boot, "nothing", "a"); err == nil {
		t.Error("an unknown question was judged")
	}
}

// silent is a machine whose commands print nothing.
type silent struct{}

func (silent) Run(context.Context, string) (string, error) { return "", nil }
