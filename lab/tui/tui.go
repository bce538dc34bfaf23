//go:build !js

// Package tui is the terminal's face of package lab: one step at a time, forwards and
// backwards, with keys, the mouse, and a window of any size.
//
// It shows the pictures that lab draws, and computes nothing of its own. Colours
// follow the classes of the cells; without colours the text says the same.
package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ftracelab/lab"
)

// Model is what the terminal shows. New makes one.
type Model struct {
	run           *lab.Run
	view          int // of the moment's views behind "step"
	top           int // the first line that is shown
	width, height int
	said          string         // an answer to the last key
	want          *lab.Condition // what ] and [ look for; nil: any step that is more than ordinary
	asks          *question      // what is being typed
	typed         string
	helps         bool // the keys are shown
	lists         bool // the steps are shown
	follows       bool // the step has changed, and what is marked may be elsewhere
	drawn         drawn
	noMouse       bool
	cursor        cursor
	searching     bool
}

// New shows the step of a place.
func New(place lab.Place) (*Model, error) {
	run, err := lab.Play(place)
	if err != nil {
		return nil, err
	}
	return &Model{run: run, width: 80, height: 24}, nil
}

// Place is the step that is shown.
func (m *Model) Place() lab.Place { return m.run.Place }

// Init is part of tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// keys is the last line of the screen.
const keys = "←→ step  ↑↓ scroll  [ ] kind  Tab view  , . cell  / until  f find  ? all keys"

// found is the end of a search.
type found struct {
	lab.Finding
	err error
}

// Update is part of tea.Model. A key that is not possible here says why.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		return m, m.click(msg)
	case found:
		m.searching = false
		if msg.err != nil {
			m.say(msg.err)
			return m, nil
		}
		m.play(msg.Place)
		m.said = fmt.Sprintf("found in %d runs, through %d states", msg.Runs, msg.States)
	case tea.PasteMsg:
		if m.asks != nil {
			m.typed += strings.Map(printable, msg.Content)
		}
	case tea.KeyPressMsg:
		m.said = ""
		switch {
		case m.asks != nil:
			return m, m.types(msg)
		case m.helps && !slices.Contains([]string{"down", "j", "up", "k", "q", "ctrl+c"}, msg.String()):
			m.helps, m.top = false, 0
			return m, nil
		case m.lists:
			return m, m.pressInList(msg.String())
		}
		return m, m.press(msg.String())
	}
	return m, nil
}

func (m *Model) say(err error) { m.said = strings.TrimPrefix(err.Error(), "lab: ") }

// views are those that are shown below the sentence.
func (m *Model) views() []string { return m.run.Moment.Views()[1:] }

// play goes to a place, and stays if there is none.
func (m *Model) play(p lab.Place) {
	run, err := lab.Play(p)
	if err != nil {
		m.say(err)
		return
	}
	m.run, m.follows = run, true
}

func (m *Model) by(n int) {
	p := m.run.Place
	p.Step = min(max(p.Step+n, 0), len(m.run.Steps))
	if p.Step != m.run.Place.Step {
		m.play(p)
	} else if n > 0 {
		m.said = "this is the last step"
	}
}

// kind goes to the next step of which the condition holds, or that is more than an
// ordinary one.
func (m *Model) kind(back bool) {
	if m.want != nil {
		p, err := lab.Until(m.run.Place, *m.want, back)
		if err != nil {
			m.say(err)
			return
		}
		m.play(p)
		return
	}
	all := lab.Kind(0)
	for _, name := range lab.KindNames() {
		if k, err := lab.ParseKind(name); err == nil && name != "commit" {
			all |= k
		}
	}
	p, ok := m.run.Next(all, back)
	if !ok {
		m.said = "there is no such step any more"
		return
	}
	m.play(p)
}

// choose lets something come after the step that is shown, and forgets what was chosen
// for later steps, since these will be others.
func (m *Model) choose(key string) tea.Cmd {
	a := lab.Act(key[0])
	p := m.run.Place
	if !slices.Contains(m.run.Moment.Can, a) {
		m.said = fmt.Sprintf("%v: not possible after this step", a)
		return nil
	}
	p.Choices = slices.DeleteFunc(slices.Clone(p.Choices), func(c lab.Choice) bool { return c.After > p.Step })
	p.Choices = append(p.Choices, lab.Choice{After: p.Step, Do: a})
	p.Step++
	m.play(p)
	return nil
}

func (m *Model) undo() {
	p := m.run.Place
	if len(p.Choices) == 0 {
		m.said = "nothing was chosen"
		return
	}
	last := p.Choices[len(p.Choices)-1]
	p.Choices = p.Choices[:len(p.Choices)-1]
	p.Step = min(p.Step, last.After)
	m.play(p)
}
