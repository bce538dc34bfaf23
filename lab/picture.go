package lab

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Picture is what there is to see of a moment: tables of cells. Text and SVG are
// made from it, so both show the same.
type Picture struct {
	Title    string    `json:"title"`
	Sections []Section `json:"sections"`
}

// A Section is a table of a picture.
type Section struct {
	Title string   `json:"title,omitempty"`
	Rows  [][]Cell `json:"rows"`
}

// A Cell is a piece of text. Cells with the same Ref show the same thing, in any
// picture of the moment.
type Cell struct {
	Text  string `json:"text"`
	Class Class  `json:"class,omitempty"`
	Ref   string `json:"ref,omitempty"`
	About string `json:"about,omitempty"` // what the cell is, in words
	At    string `json:"at,omitempty"`    // of a byte of the ring: the number of its page, a colon, and where it is on the page
}

// A Class says what a cell is, for its colour.
type Class string

// The classes.
const (
	Plain  Class = ""
	Label  Class = "label"  // says what stands beside it
	Header Class = "header" // of a page or an event
	Data   Class = "data"   // can be read
	Open   Class = "open"   // is written, and cannot be read yet
	Free   Class = "free"   // has no meaning
	Mark   Class = "mark"   // what to look at
)

// Text writes the picture as text, each column as wide as it has to be. A line that
// is longer than width is broken between cells; a width of 0 means that there is none.
func (p Picture) Text(w io.Writer, width int) error {
	return p.Painted(w, width, func(_ Class, text string) string { return text })
}

// Painted is Text with the text of each cell as paint returns it, which must be as wide.
func (p Picture) Painted(w io.Writer, width int, paint func(c Class, text string) string) error {
	var s strings.Builder
	for _, line := range p.Lines(width) {
		at := 0
		for _, c := range line {
			s.WriteString(strings.Repeat(" ", c.X-at))
			s.WriteString(paint(c.Cell.Class, c.Cell.Text))
			at = c.X + utf8.RuneCountInString(c.Cell.Text)
		}
		s.WriteByte('\n')
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// A Placed cell is a cell, or a word of it, in a line of text.
type Placed struct {
	X    int // the column in which it begins
	Cell Cell
	N    int // the number of the cell among those that have an About; -1: it has none
}

// Lines are the lines of Text, each with its cells from left to right.
func (p Picture) Lines(width int) [][]Placed {
	told := func(text string) []Placed { return []Placed{{Cell: Cell{Text: text}, N: -1}} }
	lines, numbered := [][]Placed{told(p.Title)}, 0
	for _, sec := range p.Sections {
		lines = append(lines, nil)
		if sec.Title != "" {
			lines = append(lines, told(sec.Title))
		}
		widths := sec.widths()
		for _, row := range sec.Rows {
			numbers := make([]int, len(row))
			for i, c := range row {
				if numbers[i] = -1; c.About != "" {
					numbers[i] = numbered
					numbered++
				}
			}
			lines = append(lines, placed(row, widths, numbers, width)...)
		}
	}
	return lines
}

// placed are the lines of a row.
func placed(row []Cell, widths, numbers []int, width int) [][]Placed {
	sentence := len(row) == 1
	if sentence {
		row, widths = words(row[0], width), nil
	}
	indent := 0
	if !sentence {
		indent = widths[0] + 1
	}
	var lines [][]Placed
	var line []Placed
	at, gap := 0, 0 // columns that are written, and those to leave free before the next cell
	for i, c := range row {
		n, column, number := utf8.RuneCountInString(c.Text), 0, numbers[0]
		if !sentence {
			column, number = widths[i], numbers[i]
		}
		if width > 0 && i > 0 && at+gap > indent && at+gap+n > width {
			lines, line = append(lines, line), nil
			at, gap = 0, indent
		}
		if n > 0 {
			line = append(line, Placed{at + gap, c, number})
			at, gap = at+gap+n, 0
		}
		gap += max(0, column-n) + 1
	}
	return append(lines, line)
}

// words are the words of a sentence that is wider than the width, and the sentence
// itself if it is not.
func words(s Cell, width int) []Cell {
	if width == 0 || utf8.RuneCountInString(s.Text) <= width {
		return []Cell{s}
	}
	var row []Cell
	for _, word := range strings.Fields(s.Text) {
		row = append(row, Cell{Text: word, Class: s.Class})
	}
	return row
}

// widths are those of the columns. A row with a single cell is a sentence, and
// makes no column wide.
func (s Section) widths() []int {
	var widths []int
	for _, row := range s.Rows {
		for i, c := range row {
			if len(widths) == i {
				widths = append(widths, 0)
			}
			if len(row) > 1 && i < len(row)-1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
			}
		}
	}
	return widths
}

// JSON writes the picture as JSON.
func (p Picture) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(p)
}

// Sizes of the drawing, in units of its view box.
const (
	charWidth  = 8
	lineHeight = 20
	cellPad    = 4
	margin     = 12
)

// SVG writes the picture as an SVG image. It needs nothing from outside, follows the
// reader's choice of dark or light, and names each cell for a screen reader.
func (p Picture) SVG(w io.Writer) error {
	body := drawing{make([]byte, 0, 64<<10)}
	y, right := margin+lineHeight, utf8.RuneCountInString(p.Title)*charWidth
	body.text(margin, y-5, "title", p.Title)
	y += lineHeight / 2
	for _, sec := range p.Sections {
		y += lineHeight / 2
		if sec.Title != "" {
			y += lineHeight
			body.text(margin, y-5, "section", sec.Title)
			right = max(right, utf8.RuneCountInString(sec.Title)*charWidth)
		}
		rows := folded(sec.Rows)
		widths := Section{Rows: rows}.widths()
		lasts := lasts(rows)
		for _, row := range rows {
			x := margin
			for i, c := range row {
				n := utf8.RuneCountInString(c.Text)
				if len(row) > 1 {
					n = max(n, widths[i])
				}
				if i == len(row)-1 && c.Class != Plain && c.Class != Label {
					n = max(n, lasts[i])
				}
				wide := n*charWidth + 2*cellPad
				body.cell(c, x, y, wide)
				x += wide + 2
			}
			right = max(right, x)
			y += lineHeight
		}
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">
<style>%s</style>
%s</svg>
`, right+margin, y+margin, html.EscapeString(clean(p.Title)), style, body.xml)
	return err
}

// drawing is the inside of an SVG image. A picture may have thousands of cells, and is drawn
// for each step, so its text is put together without package fmt.
type drawing struct{ xml []byte }

func (d *drawing) str(parts ...string) {
	for _, s := range parts {
		d.xml = append(d.xml, s...)
	}
}

// attr writes an attribute that is a number.
func (d *drawing) attr(name string, n int) {
	d.str(name, `="`)
	d.xml = append(strconv.AppendInt(d.xml, int64(n), 10), '"')
}

// escaped writes text that anybody may have chosen.
func (d *drawing) escaped(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&' || c == '\'' || c == '"' {
			d.str(html.EscapeString(clean(s)))
			return
		}
	}
	d.str(s)
}

func (d *drawing) text(x, y int, class, s string) {
	d.str(`<text `)
	d.attr("x", x)
	d.attr(" y", y)
	d.str(` class="`, class, `">`)
	d.escaped(s)
	d.str(`</text>`)
}

func (d *drawing) cell(c Cell, x, y, wide int) {
	d.str(`<g class="c `, string(c.Class), `"`)
	if c.Ref != "" {
		d.str(` data-ref="`, html.EscapeString(c.Ref), `"`)
	}
	if c.At != "" {
		d.str(` data-at="`, html.EscapeString(c.At), `"`)
	}
	d.str(">")
	if c.About != "" {
		d.str("<title>")
		d.escaped(c.About)
		d.str("</title>")
	}
	d.str("<rect ")
	d.attr("x", x)
	d.attr(" y", y)
	d.attr(" width", wide)
	d.attr(" height", lineHeight-2)
	d.str("/>")
	d.text(x+cellPad, y+lineHeight-7, "t", c.Text)
	d.str("</g>\n")
}

// sentenceWidth is how many characters of a sentence a drawing has in a line.
const sentenceWidth = 100

// folded are the rows with long sentences broken into several.
func folded(rows [][]Cell) [][]Cell {
	var all [][]Cell
	for _, row := range rows {
		if len(row) != 1 || utf8.RuneCountInString(row[0].Text) <= sentenceWidth || strings.HasPrefix(row[0].Text, " ") {
			all = append(all, row)
			continue
		}
		for _, line := range placed(row, nil, []int{-1}, sentenceWidth) {
			c := row[0]
			var words []string
			for _, p := range line {
				words = append(words, p.Cell.Text)
			}
			c.Text = strings.Join(words, " ")
			all = append(all, []Cell{c})
		}
	}
	return all
}

// lasts are the widths of the columns as far as they are the last ones of rows and coloured.
func lasts(rows [][]Cell) map[int]int {
	widths := map[int]int{}
	for _, row := range rows {
		if i := len(row) - 1; i > 0 && row[i].Class != Plain && row[i].Class != Label {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].Text))
		}
	}
	return widths
}

// style is that of all drawings.
const style = `text{font:13px monospace;fill:#1b1f24;white-space:pre}.title{font-weight:bold}.section{fill:#57606a}
rect{fill:none}.header rect{fill:#cfe3ff}.data rect{fill:#cdeccf}.open rect{fill:#ffe3a8}.free rect{fill:#eef0f2}.mark rect{fill:#ffd0d0;stroke:#b3261e}
svg{background:#fff}@media(prefers-color-scheme:dark){svg{background:#14171a}text{fill:#e6e8ea}.section{fill:#a0a8b0}
.header rect{fill:#1f3b63}.data rect{fill:#1f4d27}.open rect{fill:#5c4409}.free rect{fill:#24282c}.mark rect{fill:#5c1f1c;stroke:#ff9a94}}`

// clean replaces what a picture must not hold: characters that XML forbids.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff || r == utf8.RuneError {
			return '·'
		}
		return r
	}, s)
}

// Views are the names of what Moment.Picture can draw of m.
func (m *Moment) Views() []string {
	names := []string{"step"}
	if m.Ring != nil {
		names = append(names, "ring", "page", "bits", "counters", "invariants", "algorithm")
	}
	if m.Map != nil {
		names = append(names, "map")
	}
	if m.Shadow != nil {
		names = append(names, "shadow")
	}
	if m.Stay != nil {
		names = append(names, "timeline")
	}
	if m.Hist != nil {
		names = append(names, "hist")
	}
	if m.Command != nil {
		names = append(names, "command", "files")
	}
	return names
}

// Picture draws a view of m. The error names the views there are.
func (m *Moment) Picture(view string) (Picture, error) {
	if !slices.Contains(m.Views(), view) {
		return Picture{}, fmt.Errorf("lab: no view %q of %s; there are %s", view, m.Place.Scenario, strings.Join(m.Views(), ", "))
	}
	draw := map[string]func() []Section{
		"step": m.step, "ring": m.ring, "page": m.pages, "bits": m.bits, "counters": m.counters, "invariants": m.invariants, "algorithm": m.algorithm, "map": m.slots, "shadow": m.words,
		"timeline": m.timeline, "hist": m.table, "command": m.command, "files": m.files,
	}
	return Picture{Title: m.title(view), Sections: draw[view]()}, nil
}
