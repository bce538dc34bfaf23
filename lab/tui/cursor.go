//go:build !js

package tui

import (
	"fmt"

	"ftracelab/lab"
)

// A cursor is at a cell of the view that is shown. The cells of other views with the same
// Ref are marked as well.
type cursor struct {
	on   bool
	at   int      // number of the cell, of those that say what they are
	cell lab.Cell // the cell itself, as it was when the cursor came there
}

// chosen stands in front of the class of a cell that is marked.
const chosen = "chosen "

// cell is the cell at the cursor; the zero Cell if there is none.
func (m *Model) cell() lab.Cell {
	if m.cursor.on {
		return m.cursor.cell
	}
	return lab.Cell{}
}

// about says what is at the cursor.
func (m *Model) about() string {
	c := m.cell()
	text := fmt.Sprintf("%s: %s", c.Text, c.About)
	if c.At != "" {
		text += fmt.Sprintf(" (byte %s of page:offset; w: who wrote it?)", c.At)
	}
	return text
}

// each calls f for the cells of a picture that say what they are.
func each(p lab.Picture, f func(n int, c *lab.Cell)) {
	n := 0
	for _, section := range p.Sections {
		for _, row := range section.Rows {
			for i := range row {
				if row[i].About != "" {
					f(n, &row[i])
					n++
				}
			}
		}
	}
}

// move puts the cursor on a later or an earlier cell of the view that is shown.
func (m *Model) move(by int) {
	p, err := m.run.Moment.Picture(m.shown())
	if err != nil {
		return
	}
	var cells []lab.Cell
	each(p, func(_ int, c *lab.Cell) { cells = append(cells, *c) })
	switch {
	case len(cells) == 0:
		m.said = "no cell of this view says what it is"
		return
	case !m.cursor.on:
		m.cursor = cursor{on: true}
	default:
		m.cursor.at = (m.cursor.at + by + len(cells)) % len(cells)
	}
	m.cursor.at = min(m.cursor.at, len(cells)-1)
	m.cursor.cell = cells[m.cursor.at]
}

// turn shows another view. The cursor goes to the same thing there, if it is there.
func (m *Model) turn(by int) {
	n := len(m.views())
	m.view, m.top = (m.view+by+n)%n, 0
	if !m.cursor.on {
		return
	}
	p, err := m.run.Moment.Picture(m.shown())
	if err != nil {
		return
	}
	ref, on := m.cursor.cell.Ref, false
	each(p, func(n int, c *lab.Cell) {
		if ref != "" && c.Ref == ref && !on {
			on, m.cursor.at, m.cursor.cell = true, n, *c
		}
	})
	if !on {
		m.cursor.on = false
	}
}

// shown is the name of the view that is shown.
func (m *Model) shown() string { return m.views()[m.view%len(m.views())] }

// mark marks what is at the cursor, and whatever shows the same.
func (m *Model) mark(view string, p lab.Picture) {
	if !m.cursor.on {
		return
	}
	there := view != m.shown()
	each(p, func(n int, c *lab.Cell) {
		here := view == m.shown() && n == m.cursor.at
		if here {
			m.cursor.cell, there = *c, true
		}
		if here || c.Ref != "" && c.Ref == m.cursor.cell.Ref {
			c.Class = chosen + c.Class
		}
	})
	m.cursor.on = there // the view of another step may have fewer cells
}
