//go:build !js

package tui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ftracelab/lab"
)

// The smallest window in which a step can be read.
const (
	minWidth  = 20
	minHeight = 5
)

// View is part of tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	if !m.noMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle = "ftracelab step " + m.run.Place.Scenario
	return v
}

// screen is the text of the whole window: the sentence, the picture as far as there is
// room, and the keys.
func (m *Model) screen() string {
	if m.width < minWidth || m.height < minHeight {
		return strings.Join(fold("This window is too small for a picture. Make it larger, or press q.", m.width, m.height), "\n")
	}
	views := m.views()
	m.view %= len(views)
	var all []string
	switch {
	case m.helps:
		all = m.help()
	case m.lists:
		all = m.list()
	default:
		step := m.lines("step")
		all = append(append(fold(step[0], m.width, 3), step[1:]...), "")
		m.drawn.head = len(all)
		all = append(all, m.lines(views[m.view])[1:]...)
	}
	foot := []string{cut(m.bar(views), m.width)}
	switch {
	case m.asks != nil:
		foot = append(foot, tail(m.asks.prompt+m.typed+"_", m.width))
	case m.said != "":
		foot = append(foot, fold(m.said, m.width, max(1, m.height/3))...)
	case m.cell().About != "":
		foot = append(foot, fold(m.about(), m.width, max(1, m.height/3))...)
	default:
		foot = append(foot, cut(keys, m.width))
	}
	room := max(m.height-len(foot), 0)
	m.drawn.room = room
	m.follow()
	m.top = min(m.top, max(len(all)-room, 0))
	all = all[m.top:min(m.top+room, len(all))]
	for len(all) < room {
		all = append(all, "")
	}
	return strings.Join(append(all, foot...), "\n")
}

// help is what all keys do.
func (m *Model) help() []string {
	lines := []string{"The keys. ↓ and ↑ scroll, any other leads back:"}
	for _, b := range bindings() {
		text := fold(b.about, max(m.width-12, 8), 10)
		lines = append(lines, fmt.Sprintf("%-11s %s", b.shown, text[0]))
		for _, more := range text[1:] {
			lines = append(lines, strings.Repeat(" ", 12)+more)
		}
	}
	lines = append(lines, "")
	lines = append(lines, fold("A condition is a kind of step, who makes it (task, softirq, irq, nmi, reader, user, cpu0, cpu1), says WORD, or a number of the state as in overrun >= 3; the word and joins several. The kinds:", m.width, 20)...)
	for _, k := range lab.KindNames() {
		lines = append(lines, fmt.Sprintf("%-11s %s", k, lab.KindAbout(k)))
	}
	return lines
}

// bar names the views, the one that is shown in brackets.
func (m *Model) bar(views []string) string {
	var s strings.Builder
	m.drawn.names = nil
	for i, v := range views {
		if i == m.view {
			v = "[" + v + "]"
		}
		m.drawn.names = append(m.drawn.names, namedInterval{i, s.Len(), s.Len() + len(v)})
		s.WriteString(v + " ")
	}
	if m.want != nil {
		fmt.Fprintf(&s, " until: %s", m.want)
	}
	return strings.TrimRight(s.String(), " ")
}

// lines are a picture as lines of coloured text, with what is at the cursor marked.
func (m *Model) lines(view string) []string {
	p, err := m.run.Moment.Picture(view)
	if err != nil {
		return []string{err.Error()}
	}
	placed := p.Lines(m.width)
	if view != "step" {
		m.drawn.view, m.drawn.marked = placed, firstMark(placed)
	}
	m.mark(view, p)
	var s strings.Builder
	if err := p.Painted(&s, m.width, paint); err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimRight(s.String(), "\n"), "\n")
}

// cut is a line that is not wider than the window.
func cut(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

// tail is the end of a line, where somebody types.
func tail(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return "…" + string(r[len(r)-width+1:])
	}
	return s
}

// fold breaks a sentence into at most n lines.
func fold(s string, width, n int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(s) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	if len(lines) > n {
		lines = lines[:n]
		lines[n-1] += " …"
	}
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return lines
}

// colors are those of the classes that have one: numbers of the terminal's own palette.
// Bubble Tea leaves them out where NO_COLOR is set or the terminal has none.
var colors = map[lab.Class]int{lab.Header: 34, lab.Data: 32, lab.Open: 33, lab.Mark: 31}

func paint(c lab.Class, text string) string {
	if class, ok := strings.CutPrefix(string(c), chosen); ok {
		return "\x1b[7m" + paint(lab.Class(class), text) + "\x1b[27m"
	}
	if n, ok := colors[c]; ok {
		return fmt.Sprintf("\x1b[%dm%s\x1b[39m", n, text)
	}
	return text
}
