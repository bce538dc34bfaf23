//go:build !js

// Package tui is the terminal's face of package lab: one step at a time, forwards and
// backwards, with keys, the mouse wheel, and a window of any size.
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
	said          string // an answer to the last key
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

// keys is the last line of the screen, which goes on with what may be chosen.
const keys = "←→ step  ↑↓ scroll  [ ] kind  Home End  Tab view  u undo  q quit"

// Update is part of tea.Model. A key that is not possible here says why.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			m.by(-1)
		} else {
			m.by(1)
		}
	case tea.KeyPressMsg:
		m.said = ""
		switch key := msg.String(); key {
		case "q", "ctrl+c", "esc":
			return m, tea.Quit
		case "right", "l", "space", "enter":
			m.by(1)
		case "left", "h", "backspace":
			m.by(-1)
		case "pgdown":
			m.by(10)
		case "pgup":
			m.by(-10)
		case "home":
			m.by(-m.run.Place.Step)
		case "end":
			m.by(len(m.run.Steps) - m.run.Place.Step)
		case "down", "j":
			m.top++
		case "up", "k":
			m.top = max(0, m.top-1)
		case "tab":
			m.view, m.top = m.view+1, 0
		case "shift+tab":
			m.view, m.top = m.view+len(m.views())-1, 0
		case "]", "[":
			m.kind(key == "[")
		case "u":
			m.undo()
		case "s", "i", "n", "r", "p", "c", "z", "m":
			m.choose(lab.Act(key[0]))
		}
	}
	return m, nil
}

// views are those that are shown below the sentence.
func (m *Model) views() []string { return m.run.Moment.Views()[1:] }

// play goes to a place, and stays if there is none.
func (m *Model) play(p lab.Place) {
	run, err := lab.Play(p)
	if err != nil {
		m.said = strings.TrimPrefix(err.Error(), "lab: ")
		return
	}
	m.run = run
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

// kind goes to the next step that is more than an ordinary one.
func (m *Model) kind(back bool) {
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
func (m *Model) choose(a lab.Act) {
	p := m.run.Place
	if !slices.Contains(m.run.Moment.Can, a) {
		m.said = fmt.Sprintf("%v: not possible after this step", a)
		return
	}
	p.Choices = slices.DeleteFunc(slices.Clone(p.Choices), func(c lab.Choice) bool { return c.After > p.Step })
	p.Choices = append(p.Choices, lab.Choice{After: p.Step, Do: a})
	p.Step++
	m.play(p)
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

// View is part of tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "ftracelab step " + m.run.Place.Scenario
	return v
}

// screen is the text of the whole window: the sentence, the picture as far as there is
// room, and the keys.
func (m *Model) screen() string {
	views := m.views()
	m.view %= len(views)
	lines := m.lines("step")
	lines = append(lines, "")
	body := m.lines(views[m.view])[1:]
	foot := []string{m.bar(views)}
	if m.said != "" {
		foot = append(foot, m.said)
	} else {
		foot = append(foot, keys)
	}
	all := append(lines, body...)
	room := max(m.height-len(foot), 0)
	m.top = min(m.top, max(len(all)-room, 0))
	all = all[m.top:min(m.top+room, len(all))]
	for len(all) < room {
		all = append(all, "")
	}
	return strings.Join(append(all, foot...), "\n")
}

// bar names the views, the one that is shown in brackets.
func (m *Model) bar(views []string) string {
	var s strings.Builder
	for i, v := range views {
		if i == m.view {
			v = "[" + v + "]"
		}
		s.WriteString(v + " ")
	}
	return s.String()
}

// lines are a picture as lines of coloured text.
func (m *Model) lines(view string) []string {
	p, err := m.run.Moment.Picture(view)
	if err != nil {
		return []string{err.Error()}
	}
	var s strings.Builder
	if err := p.Painted(&s, m.width, paint); err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimRight(s.String(), "\n"), "\n")
}

// colors are those of the classes that have one: numbers of the terminal's own palette.
// Bubble Tea leaves them out where NO_COLOR is set or the terminal has none.
var colors = map[lab.Class]int{lab.Header: 34, lab.Data: 32, lab.Open: 33, lab.Mark: 31}

func paint(c lab.Class, text string) string {
	if n, ok := colors[c]; ok {
		return fmt.Sprintf("\x1b[%dm%s\x1b[39m", n, text)
	}
	return text
}
