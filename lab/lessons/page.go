package lessons

import (
	"context"
	"strings"
)

// A Page is a lesson as a page can show it, with what its commands have printed and
// without its answers.
type Page struct {
	Number  int         `json:"number"`
	Title   string      `json:"title"`
	Minutes int         `json:"minutes"`
	Goal    string      `json:"goal"`
	Next    string      `json:"next"`
	Blocks  []PageBlock `json:"blocks"`
}

// A PageBlock is a part of a Page. One of its fields is set.
type PageBlock struct {
	Text     string        `json:"text,omitempty"` // Markdown
	Run      []PageCommand `json:"run,omitempty"`
	Show     *PageSight    `json:"show,omitempty"`
	Question *PageQuestion `json:"question,omitempty"`
	Exercise *PageExercise `json:"exercise,omitempty"`
}

// A PageCommand is a command of the session and what it has printed.
type PageCommand struct {
	Command string `json:"command"`
	Output  string `json:"output"`
}

// A PageSight is a picture. SVG is "" where there is only text: a list of steps, and
// what the session has printed.
type PageSight struct {
	Place string `json:"place"`
	View  string `json:"view"`
	SVG   string `json:"svg"`
	Text  string `json:"text"`
}

// A PageQuestion is what is asked. Choices are empty for a number and a word.
type PageQuestion struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Ask     string   `json:"ask"`
	Choices []string `json:"choices"`
}

// A PageExercise is what has to be reached, by commands or by a place.
type PageExercise struct {
	Kind  string   `json:"kind"`
	Ask   string   `json:"ask"`
	Hint  string   `json:"hint"`
	Setup []string `json:"setup"`
}

// Page runs the session of the lesson on a fresh machine and draws its pictures.
func (l *Lesson) Page(ctx context.Context, boot Boot) (*Page, error) {
	p := &Page{Number: l.Number, Title: l.Title, Minutes: l.Minutes, Goal: l.Goal, Next: l.Next}
	var m Machine
	if l.commands() != nil {
		var err error
		if m, err = boot(l.Boot); err != nil {
			return nil, err
		}
	}
	session := ""
	for _, b := range l.Blocks {
		out := PageBlock{Text: b.Text}
		for _, c := range b.Run {
			text, err := m.Run(ctx, c+"\n")
			if err != nil {
				return nil, err
			}
			session += text
			out.Run = append(out.Run, PageCommand{c, text})
		}
		var err error
		if b.Show != nil {
			if out.Show, err = b.Show.page(session); err != nil {
				return nil, err
			}
		}
		if q := b.Question; q != nil {
			out.Question = &PageQuestion{ID: q.ID, Kind: q.Kind, Ask: q.Ask, Choices: []string{}}
			for _, c := range q.Choices {
				out.Question.Choices = append(out.Question.Choices, c.Text)
			}
		}
		if e := b.Exercise; e != nil {
			out.Exercise = &PageExercise{e.Kind, e.Ask, e.Hint, e.Setup}
		}
		p.Blocks = append(p.Blocks, out)
	}
	return p, nil
}

// page is the picture of what can be seen there.
func (s *Sight) page(session string) (*PageSight, error) {
	text, err := s.text(session, 0)
	if err != nil {
		return nil, err
	}
	p := &PageSight{Place: s.Place, View: s.View, Text: text}
	if s.Place == "" || s.View == "steps" || s.View == "place" {
		return p, nil
	}
	r, err := play(s.Place)
	if err != nil {
		return nil, err
	}
	pic, err := r.Moment.Picture(s.View)
	if err != nil {
		return nil, err
	}
	var svg strings.Builder
	err = pic.SVG(&svg)
	p.SVG = svg.String()
	return p, err
}

// Judge grades one answer: to a question, by its id, or "exercise".
func (l *Lesson) Judge(ctx context.Context, boot Boot, id, given string) (Graded, error) {
	g, err := l.Grade(ctx, boot, "", Answers{id: given})
	if err != nil {
		return Graded{}, err
	}
	for _, a := range g.Answers {
		if a.ID == id {
			return a, nil
		}
	}
	panic("lessons: invariant: an answer that was graded is not there")
}
