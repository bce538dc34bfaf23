package lineedit

import (
	"unicode"
	"unicode/utf8"

	"ftracelab/internal/plain"
)

// A cell is what is drawn as one: a cluster, or a part of what stands for it.
type cell struct {
	text  string
	width int  // in columns
	sure  bool // every terminal takes it to be that wide
}

// A row is a line of the screen.
type row struct {
	cells []cell
	width int
	wraps bool // it is full, and the terminal goes on in the next row by itself
}

// A spot is a place on the screen: its row and column, both from 0.
type spot struct{ row, column int }

// A picture is a line as it looks on a screen, with the cursor.
type picture struct {
	rows   []row
	cursor spot
}

// layOut puts a prompt and a text on a screen of some width. The last row is never full,
// so that there is room for the cursor. The cursor is at the place pos of the text.
func layOut(prompt, text string, pos, width int) picture {
	l := layout{width: width}
	l.new()
	l.text(prompt, -1)
	l.text(text, pos)
	if l.row().width >= width {
		l.wrap()
	}
	if pos >= len(text) {
		l.mark()
	}
	return l.picture
}

// layout is a picture that is being made.
type layout struct {
	picture
	width int
}

func (l *layout) row() *row { return &l.rows[len(l.rows)-1] }
func (l *layout) new()      { l.rows = append(l.rows, row{}) }
func (l *layout) wrap() {
	r := l.row()
	r.wraps = r.width == l.width && r.cells[len(r.cells)-1].sure
	l.new()
}

func (l *layout) mark() { l.cursor = spot{len(l.rows) - 1, min(l.row().width, l.width-1)} }

// text puts clusters on the screen, and the cursor before the one at pos.
func (l *layout) text(text string, pos int) {
	clusters(text, func(at int, cluster string, width int) bool {
		if cluster == "\n" {
			if at == pos {
				l.mark()
			}
			l.new()
			return true
		}
		cells := l.cells(cluster, width)
		for i, c := range cells {
			if l.row().width > 0 && l.row().width+c.room() > l.width {
				l.wrap()
			}
			if at == pos && i == 0 {
				l.mark()
			}
			l.row().cells = append(l.row().cells, c)
			l.row().width += c.width
		}
		return true
	})
}

// room is how many columns a cell may take on some terminal: one that does not join code
// points shows each for itself.
func (c cell) room() int {
	if c.sure {
		return c.width
	}
	room := 0
	for _, r := range c.text {
		if part := string(r); certain(part) {
			room += Width(part)
		} else {
			room += 2
		}
	}
	return max(room, c.width)
}

// cells are what a cluster is drawn as. What a terminal would obey, or not show, is drawn
// as its escape.
func (l *layout) cells(cluster string, width int) []cell {
	if cluster == "\t" {
		spaces := make([]cell, 8-l.row().width%8)
		for i := range spaces {
			spaces[i] = cell{" ", 1, true}
		}
		return spaces
	}
	if !harmless(cluster) {
		var cells []cell
		for _, r := range plain.String(cluster) {
			if width := Width(string(r)); width > 0 && width <= l.width {
				cells = append(cells, cell{string(r), width, certain(string(r))})
			}
		}
		return cells
	}
	first, n := utf8.DecodeRuneInString(cluster)
	if unicode.Is(unicode.M, first) || width == 0 { // nothing to stand upon
		return []cell{{"◌" + cluster, 1, false}}
	}
	c := cell{cluster, width, n == len(cluster) && certain(cluster)}
	if c.width > l.width {
		return []cell{{"?", 1, true}}
	}
	return []cell{c}
}

// harmless: does a terminal show a cluster, and nothing else? What joins emoji is not
// shown alone, and is part of the picture between them.
func harmless(cluster string) bool {
	if plain.String(cluster) == cluster {
		return true
	}
	first, n := utf8.DecodeRuneInString(cluster)
	if first < 0x2000 || n == len(cluster) || plain.String(cluster[:n]) != cluster[:n] {
		return false
	}
	for _, r := range cluster[n:] {
		if r != zeroWidthJoiner && r != textStyle && r != emojiStyle && plain.String(string(r)) != string(r) {
			return false
		}
	}
	return true
}

// The code points that say how emoji are drawn.
const (
	zeroWidthJoiner = 0x200d
	textStyle       = 0xfe0e
	emojiStyle      = 0xfe0f
)

// certain: do all terminals agree on the width of a code point? They do not for emoji,
// which were narrow when older terminals were made, nor for the symbols among them.
func certain(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r < 0x2000 || r >= 0x2e80 && r < 0xfe00 || r >= 0xff00 && r < 0x10000 || r >= 0x20000
}
