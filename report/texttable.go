package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ftracelab/internal/plain"
)

// table has rows of cells. The first column is aligned to the left, numbers to the
// right.
type table struct{ rows [][]string }

func newTable(head ...string) *table {
	tab := new(table)
	tab.row(head...)
	return tab
}

// row adds a row. A cell is as wide as the text that is printed for it.
func (tab *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = plain.String(c)
	}
	tab.rows = append(tab.rows, cells)
}

// heading adds a row of its own that names those after it.
func (tab *table) heading(name string) {
	tab.rows = append(tab.rows, []string{plain.String(name) + ":"})
}

// table writes tab. If it is wider than the page, it is written in several parts, each
// of which begins with the first column.
func (t *text) table(tab *table) {
	widths := make([]int, len(tab.rows[0]))
	for _, row := range tab.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for from := 1; from < len(widths); {
		to, room := from, t.width-2-widths[0]
		for to < len(widths) && (to == from || room >= widths[to]+2) {
			room -= widths[to] + 2
			to++
		}
		if from > 1 {
			t.line("")
		}
		for _, row := range tab.rows {
			t.tableRow(row, widths, from, to)
		}
		from = to
	}
}

func (t *text) tableRow(row []string, widths []int, from, to int) {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-*s", widths[0], row[0])
	for i := from; i < min(to, len(row)); i++ {
		fmt.Fprintf(&b, "  %*s", widths[i], row[i])
	}
	t.line("%s", strings.TrimRight(b.String(), " "))
}

// wrap writes words in lines of the page's width. The first line begins with first, the
// others with indent.
func (t *text) wrap(first, indent, s string) {
	line := first
	empty := true
	for word := range strings.FieldsSeq(plain.String(s)) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > t.width {
			t.line("%s", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	t.line("%s", line)
}
