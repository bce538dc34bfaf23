package lineedit

import "strconv"

// Draw gives what to send to the terminal so that it shows the line as it is now.
func (e *Editor) Draw() []byte {
	if !e.done {
		e.draw(e.cursor())
	}
	out := e.out
	e.out = nil
	return out
}

// draw shows the line with the cursor at a place of its text.
func (e *Editor) draw(text string, pos int) {
	p := e.window(layOut(e.prompt(), text, pos, e.width))
	if from, found := difference(e.shown, p); found {
		e.moveTo(from)
		if len(e.shown.rows) > from.row+1 || len(e.shown.rows) > from.row && e.shown.rows[from.row].width > from.column {
			e.send("\x1b[J")
		}
		e.write(p.rows, from)
	}
	e.shown = p
	e.moveTo(p.cursor)
}

// window gives the rows that fit on the screen, with the cursor's among them.
func (e *Editor) window(p picture) picture {
	if len(p.rows) <= e.height {
		e.top = 0
		return p
	}
	e.top = min(max(e.top, p.cursor.row-e.height+1), p.cursor.row, len(p.rows)-e.height)
	p.rows = p.rows[e.top : e.top+e.height]
	p.cursor.row -= e.top
	return p
}

// difference is where a picture begins to differ from the one before. A row that goes on in
// the next one now, or does not any more, differs in its last cell, which the terminal has
// to see again for that.
func difference(before, now picture) (at spot, found bool) {
	for i, r := range now.rows {
		if i >= len(before.rows) {
			return spot{i, 0}, true
		}
		was, column, n := before.rows[i], 0, 0
		for n < len(r.cells) && n < len(was.cells) && r.cells[n] == was.cells[n] {
			column += r.cells[n].width
			n++
		}
		switch {
		case n < len(r.cells) || n < len(was.cells):
			return spot{i, column}, true
		case n > 0 && r.wraps != was.wraps:
			return spot{i, column - r.cells[n-1].width}, true
		}
	}
	return spot{len(now.rows) - 1, now.rows[len(now.rows)-1].width}, len(before.rows) > len(now.rows)
}

// write sends the cells of rows from a spot on, at which the cursor is.
func (e *Editor) write(rows []row, from spot) {
	for i := from.row; i < len(rows); i++ {
		if i > from.row {
			e.nextRow(rows, i)
		}
		column := 0
		for _, c := range rows[i].cells {
			if column >= from.column || i > from.row {
				e.send(c.text)
				if !c.sure && column+c.width < e.width {
					e.toColumn(column + c.width)
				}
			}
			column += c.width
		}
		e.at = spot{i, column}
	}
}

// nextRow goes to the beginning of a row. If the row before is full, the terminal wraps, as
// then it knows that both are one line when it is made wider or the line is copied.
func (e *Editor) nextRow(rows []row, i int) {
	switch {
	case !rows[i-1].wraps:
		e.send("\r\n")
	case len(rows[i].cells) == 0 || !rows[i].cells[0].sure:
		e.send(" \r\x1b[K")
	}
}

// moveTo moves the cursor to a spot that has been drawn, or to the next row.
func (e *Editor) moveTo(to spot) {
	if to == e.at {
		return
	}
	switch {
	case to.row < e.at.row:
		e.send("\x1b[" + strconv.Itoa(e.at.row-to.row) + "A")
	case to.row >= len(e.shown.rows) && to.row > e.at.row:
		e.moveTo(spot{len(e.shown.rows) - 1, 0})
		e.send("\r\n")
	case to.row > e.at.row:
		e.send("\x1b[" + strconv.Itoa(to.row-e.at.row) + "B")
	}
	e.toColumn(to.column)
	e.at = to
}

func (e *Editor) toColumn(column int) {
	if column == 0 {
		e.send("\r")
		return
	}
	e.send("\x1b[" + strconv.Itoa(column+1) + "G")
}

func (e *Editor) send(text string) { e.out = append(e.out, text...) }

// leave goes to the row below the line, which is drawn whole with a word behind it. The
// line stays on the screen.
func (e *Editor) leave(behind string) {
	text, _ := e.cursor()
	e.draw(text, len(text))
	e.send(behind + "\r\n")
	e.forget()
}

// forget begins on a row of which nothing is known.
func (e *Editor) forget() { e.shown, e.at, e.top = picture{}, spot{}, 0 }

// Resize says how large the terminal has become. Terminals wrap the lines that they show
// anew; the line is drawn where it began.
func (e *Editor) Resize(width, height int) {
	width, height = sized(width, height)
	if width == e.width && height == e.height {
		return
	}
	above := e.rewrapped(width)
	e.width, e.height = width, height
	if len(e.shown.rows) == 0 {
		return
	}
	if above = min(above, height-1); above > 0 {
		e.send("\x1b[" + strconv.Itoa(above) + "A")
	}
	e.send("\r\x1b[J")
	e.forget()
}

// rewrapped is how many rows of the line are above the cursor when a terminal has wrapped
// it at another width.
func (e *Editor) rewrapped(width int) (above int) {
	column := 0
	for i, r := range e.shown.rows {
		if i > 0 && !e.shown.rows[i-1].wraps {
			above, column = above+1, 0
		}
		at := 0
		for _, c := range r.cells {
			if column+c.width > width {
				above, column = above+1, 0
			}
			if i == e.at.row && at >= e.at.column {
				break
			}
			column, at = column+c.width, at+c.width
		}
		if i == e.at.row {
			if column >= width {
				above++
			}
			return above
		}
	}
	return above
}

// sized is a size that the editor can draw on. A terminal that does not tell its own has
// the usual one.
func sized(width, height int) (int, int) {
	if width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}
