package testutil

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Screen is a terminal with as much of a VT100 as lines of text need. It knows wide
// characters, wraps as terminals do, late, and wraps its lines anew when it is resized.
type Screen struct {
	Width, Height int
	// Older says that it is a terminal from before emoji: each code point stands for itself,
	// and those of emoji are narrow.
	Older bool
	// Pasting says that what is pasted is to be marked.
	Pasting bool

	rows    []screenRow
	x, y    int
	pending bool // the last column was written, and what follows goes to the next row
	rest    string
}

type screenRow struct {
	cells   []string // "" is the right half of the wide one before, nothing a cell never written
	wrapped bool     // the row below goes on with the line
}

// nothing is what a cell is before it is written: it looks like a space, and is none when
// a line is wrapped anew.
const nothing = "\x00"

// NewScreen makes an empty screen.
func NewScreen(width, height int) *Screen {
	s := &Screen{Width: width, Height: height}
	for range height {
		s.rows = append(s.rows, s.blank())
	}
	return s
}

func (s *Screen) blank() screenRow {
	cells := make([]string, s.Width)
	for i := range cells {
		cells[i] = nothing
	}
	return screenRow{cells: cells}
}

// Row is the text of a row, without the spaces at its end.
func (s *Screen) Row(i int) string {
	return strings.TrimRight(strings.ReplaceAll(strings.Join(s.rows[i].cells, ""), nothing, " "), " ")
}

// String is all rows down to the last one with text, each with a line feed.
func (s *Screen) String() string {
	var b strings.Builder
	for i := range s.rows {
		b.WriteString(s.Row(i) + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// WithCursor is String with a mark where the cursor is.
func (s *Screen) WithCursor(mark string) string {
	var b strings.Builder
	for i, r := range s.rows {
		cells := r.cells
		if i == s.y {
			cells = slices.Insert(slices.Clone(cells), s.x, mark)
		}
		b.WriteString(strings.TrimRight(strings.ReplaceAll(strings.Join(cells, ""), nothing, " "), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Cursor is the column and row of the cursor, from 0.
func (s *Screen) Cursor() (x, y int) { return s.x, s.y }

// Write is what a program sends. A sequence may come in parts.
func (s *Screen) Write(p []byte) (int, error) {
	text := s.rest + string(p)
	for text != "" {
		n := s.obey(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	s.rest = text
	return len(p), nil
}

// obey does what the beginning of a text says and gives its length; 0 if it is not whole.
func (s *Screen) obey(text string) int {
	switch c := text[0]; {
	case strings.HasPrefix(text, "\x1b["):
		for i := 2; i < len(text); i++ {
			if text[i] >= '@' {
				s.sequence(text[2:i], text[i])
				return i + 1
			}
		}
		return 0
	case c == '\x1b':
		if len(text) < 2 {
			return 0
		}
		return 2
	case c < ' ':
		s.control(c)
		return 1
	case !utf8.FullRuneInString(text):
		return 0
	}
	r, n := utf8.DecodeRuneInString(text)
	s.put(r)
	return n
}

func (s *Screen) control(c byte) {
	switch c {
	case '\r':
		s.x, s.pending = 0, false
	case '\n':
		s.down()
	case '\b':
		s.x, s.pending = max(0, s.x-1), false
	case '\t':
		s.x = min(s.Width-1, s.x/8*8+8)
	}
}

// down goes to the next row, and scrolls at the end of the screen.
func (s *Screen) down() {
	s.pending = false
	if s.y++; s.y == s.Height {
		s.y--
		s.rows = append(s.rows[1:], s.blank())
	}
}

// width is how many columns a text takes.
func (s *Screen) width(text string) int {
	if r, _ := utf8.DecodeRuneInString(text); s.Older && r >= 0x1f000 && r < 0x20000 {
		return 1
	}
	return displaywidth.String(text)
}

func (s *Screen) put(r rune) {
	if at, ok := s.before(); ok {
		joined := s.rows[s.y].cells[at] + string(r)
		g := displaywidth.StringGraphemes(joined)
		g.Next()
		if s.Older && s.width(string(r)) == 0 || !s.Older && g.Value() == joined {
			s.join(at, joined)
			return
		}
	}
	text, width := string(r), s.width(string(r))
	if width == 0 || width > s.Width {
		return
	}
	if s.pending || s.x+width > s.Width {
		s.rows[s.y].wrapped = true
		s.down()
		s.x = 0
	}
	s.erase(s.y, s.x, s.x+width)
	s.rows[s.y].cells[s.x] = text
	for i := 1; i < width; i++ {
		s.rows[s.y].cells[s.x+i] = ""
	}
	s.advance(s.x + width)
}

func (s *Screen) advance(to int) { s.x, s.pending = min(to, s.Width-1), to >= s.Width }

// before is the cell that a mark would be put on.
func (s *Screen) before() (at int, ok bool) {
	at = s.x - 1
	if s.pending {
		at = s.x
	}
	for at > 0 && s.rows[s.y].cells[at] == "" {
		at--
	}
	return at, at >= 0 && s.rows[s.y].cells[at] != nothing
}

// join makes more of a cell, which may become wide by that.
func (s *Screen) join(at int, text string) {
	cells := s.rows[s.y].cells
	was := 1
	for at+was < s.Width && cells[at+was] == "" {
		was++
	}
	cells[at] = text
	if s.Older {
		return
	}
	if now := s.width(text); now > was && at+now <= s.Width {
		s.erase(s.y, at+was, at+now)
		for i := was; i < now; i++ {
			cells[at+i] = ""
		}
		s.advance(at + now)
	}
}

// erase makes spaces of columns. A wide character loses both halves.
func (s *Screen) erase(y, from, to int) {
	cells := s.rows[y].cells
	for from > 0 && from < s.Width && cells[from] == "" {
		from--
	}
	for to < s.Width && cells[to] == "" {
		to++
	}
	for i := from; i < to; i++ {
		cells[i] = nothing
	}
}

func (s *Screen) sequence(params string, final byte) {
	n, err := strconv.Atoi(params)
	count := max(n, 1)
	switch final {
	case 'A':
		s.y, s.pending = max(0, s.y-count), false
	case 'B':
		s.y, s.pending = min(s.Height-1, s.y+count), false
	case 'C':
		s.x, s.pending = min(s.Width-1, s.x+count), false
	case 'D':
		s.x, s.pending = max(0, s.x-count), false
	case 'G':
		s.x, s.pending = min(s.Width, count)-1, false
	case 'H':
		s.x, s.y, s.pending = 0, 0, false
	case 'K':
		s.erase(s.y, s.x, s.Width)
	case 'J':
		from := 0
		if err != nil || n == 0 {
			s.erase(s.y, s.x, s.Width)
			s.rows[s.y].wrapped = false
			from = s.y + 1
		}
		for i := from; i < s.Height; i++ {
			s.rows[i] = s.blank()
		}
	case 'h', 'l':
		if params == "?2004" {
			s.Pasting = final == 'h'
		}
	}
}

// Resize gives the screen another size. Lines that were wrapped are wrapped anew, and what
// no longer fits goes at the top.
func (s *Screen) Resize(width, height int) {
	last := s.y
	for i := range s.rows {
		if s.Row(i) != "" {
			last = max(last, i)
		}
	}
	old, x, y := s.rows[:last+1], s.x, s.y
	if s.pending {
		x++
	}
	s.Width, s.rows = width, nil
	column := 0
	for i, r := range old {
		if i == 0 || !old[i-1].wrapped {
			s.rows, column = append(s.rows, s.blank()), 0
		}
		cells := r.cells
		if !r.wrapped {
			end := len(cells)
			for end > 0 && cells[end-1] == nothing && (i != y || end > x) {
				end--
			}
			cells = cells[:end]
		}
		for at := 0; at < len(cells); {
			wide := 1
			for at+wide < len(cells) && cells[at+wide] == "" {
				wide++
			}
			if i == y && at <= x {
				s.y, s.x = len(s.rows)-1, column+x-at
			}
			if column+wide > width {
				s.rows[len(s.rows)-1].wrapped = true
				s.rows, column = append(s.rows, s.blank()), 0
				if i == y && at <= x {
					s.y, s.x = len(s.rows)-1, x-at
				}
			}
			copy(s.rows[len(s.rows)-1].cells[column:], cells[at:at+min(wide, width)])
			at, column = at+wide, column+wide
		}
		if i == y && x >= len(cells) {
			s.y, s.x = len(s.rows)-1, column+x-len(cells)
		}
	}
	if s.x >= width {
		s.rows[s.y].wrapped = true
		s.y, s.x = s.y+1, 0
		if s.y == len(s.rows) {
			s.rows = append(s.rows, s.blank())
		}
	}
	s.pending, s.Height = false, height
	if drop := len(s.rows) - height; drop > 0 {
		s.rows, s.y = s.rows[drop:], max(0, s.y-drop)
	}
	for len(s.rows) < height {
		s.rows = append(s.rows, s.blank())
	}
}
