//go:build !js

package tui

import (
	"fmt"
	"slices"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ftracelab/lab"
)

// drawn is where things are on the screen that was drawn last, for the mouse.
type drawn struct {
	head, room int             // lines of the step above the view; lines of the window above the foot
	view       [][]lab.Placed  // the cells of the view, as at the last step
	first      int             // the number of the step in the first line of the list
	names      []namedInterval // the names of the views in the bar
	marked     int             // the first line of what is marked in the view, -1: none
}

// namedInterval is where the name of a view stands in the bar.
type namedInterval struct{ view, from, to int }

// click does what a click on a cell, on the name of a view or on a line of the list means.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	m.said = ""
	d := &m.drawn
	line := m.top + msg.Y
	switch {
	case m.asks != nil || msg.Button != tea.MouseLeft:
	case m.helps:
		m.helps, m.top = false, 0
	case msg.Y == d.room:
		for _, n := range d.names {
			if msg.X >= n.from && msg.X < n.to {
				m.lists = false
				m.turn(n.view - m.view)
			}
		}
	case msg.Y > d.room:
	case m.lists:
		if n := d.first + line - 1; line > 0 && n <= len(m.run.Steps) {
			m.lists = false
			m.by(n - m.run.Place.Step)
		}
	case line >= d.head:
		m.clickCell(cellAt(d.view, line-d.head+1, msg.X))
	}
	return nil
}

// clickCell puts the cursor on a cell. A second click on a byte asks who wrote it.
func (m *Model) clickCell(c lab.Placed) {
	switch {
	case c.N < 0:
		m.cursor.on = false
	case m.cursor.on && m.cursor.at == c.N && c.Cell.At != "":
		m.wrote(c.Cell.At)
	default:
		m.cursor = cursor{on: true, at: c.N, cell: c.Cell}
	}
}

// cellAt is the cell in a column of a line; its N is -1 if there is none.
func cellAt(lines [][]lab.Placed, line, x int) lab.Placed {
	if line >= 0 && line < len(lines) {
		for _, c := range lines[line] {
			if x >= c.X && x < c.X+utf8.RuneCountInString(c.Cell.Text) {
				return c
			}
		}
	}
	return lab.Placed{N: -1}
}

// wheel scrolls. With a key held down it walks.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	m.said = ""
	by := 1
	if msg.Button == tea.MouseWheelUp {
		by = -1
	}
	if msg.Mod != 0 {
		m.by(by)
		return
	}
	m.top = max(0, m.top+3*by)
}

// listed is how many steps the list shows before and behind the present one.
const listed = 200

// list are the steps around the present one, a line each.
func (m *Model) list() []string {
	at := m.run.Place.Step
	m.drawn.first = max(1, at-listed)
	lines := []string{"The steps. Enter or a click goes to one, ↓ and ↑ walk, v leads back:"}
	for n := m.drawn.first; n <= min(len(m.run.Steps), at+listed); n++ {
		s := m.run.Steps[n-1]
		text := cut(fmt.Sprintf("%6d  %-8s %s", n, s.Who, s.What), m.width)
		if n == at {
			text, m.drawn.marked = paint(chosen+lab.Plain, text), len(lines)
		}
		lines = append(lines, text)
	}
	return lines
}

// follow moves the window to what is marked, if the step has changed since.
func (m *Model) follow() {
	at := m.drawn.marked
	if !m.lists && at >= 0 {
		at += m.drawn.head - 1
	}
	if m.follows && at >= 0 && (m.lists || m.shown() == "algorithm") && (at < m.top || at >= m.top+m.drawn.room) {
		m.top = max(0, at-m.drawn.room/3)
	}
	m.follows = false
}

// firstMark is the first line in which something is marked; -1 if there is none.
func firstMark(lines [][]lab.Placed) int {
	return slices.IndexFunc(lines, func(line []lab.Placed) bool {
		return slices.ContainsFunc(line, func(c lab.Placed) bool { return c.Cell.Class == lab.Mark })
	})
}
