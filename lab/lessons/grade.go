package lessons

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ftracelab/internal/strictyaml"
)

// Answers are what a learner hands in: the id of a question, or exercise, and the answer.
type Answers map[string]string

// ParseAnswers reads answers: YAML, one id a line with its answer behind a colon. The
// commands of an exercise stand below "exercise: |", indented.
func ParseAnswers(text []byte) (Answers, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("lessons: answers: more than %d bytes", maxText)
	}
	var a Answers
	if err := strictyaml.Decode(text, &a); err != nil {
		return nil, fmt.Errorf("lessons: answers: %w", err)
	}
	return a, nil
}

// A Report is a lesson and the grades that were given in it.
type Report struct {
	Lesson int     `json:"lesson"`
	Title  string  `json:"title"`
	Grades []Grade `json:"grades"`
}

// A Grade is what one learner's answers are worth.
type Grade struct {
	Name    string   `json:"name"` // of whom or what was graded, as the caller says
	Right   int      `json:"right"`
	Of      int      `json:"of"`
	Answers []Graded `json:"answers"` // in the order of the lesson
}

// A Graded is an answer and its grade.
type Graded struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Answered bool   `json:"answered"`
	Given    string `json:"given,omitempty"`
	Right    bool   `json:"right"`
	Say      string `json:"say,omitempty"` // why it is right or wrong
}

func (g *Grade) add(a Graded) {
	g.Of++
	if a.Right {
		g.Right++
	}
	g.Answers = append(g.Answers, a)
}

// Grade grades the answers of a lesson. It is an error to answer what was not asked.
func (l *Lesson) Grade(ctx context.Context, boot Boot, name string, answers Answers) (Grade, error) {
	g := Grade{Name: name}
	known := []string{}
	for _, q := range l.questions() {
		known = append(known, q.ID)
		a := Graded{ID: q.ID, Kind: q.Kind}
		if a.Given, a.Answered = answers[q.ID]; a.Answered {
			a.Right, a.Say = q.judge(a.Given)
		}
		g.add(a)
	}
	e := l.exercise()
	a := Graded{ID: exerciseID, Kind: e.Kind}
	if a.Given, a.Answered = answers[exerciseID]; a.Answered {
		a.Right, a.Say = e.judge(ctx, boot, l.Boot, a.Given)
	}
	g.add(a)
	if err := ctx.Err(); err != nil {
		return g, err
	}
	known = append(known, exerciseID)
	var unknown []string
	for id := range answers {
		if !slices.Contains(known, id) {
			unknown = append(unknown, id)
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		return g, fmt.Errorf("lessons: lesson %d has no question %q; there are %s", l.Number, unknown[0], strings.Join(known, ", "))
	}
	return g, nil
}
