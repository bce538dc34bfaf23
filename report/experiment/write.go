package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"ftracelab/internal/plain"
)

// WriteText writes the table for a terminal: a block for each workload and size.
func (t *Table) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", plain.String(t.Spec.Title))
	if t.Spec.Question != "" {
		fmt.Fprintf(&b, "%s\n", plain.String(t.Spec.Question))
	}
	if t.Answer != "" {
		fmt.Fprintf(&b, "\n%s\n", plain.String(t.Answer))
	}
	for _, block := range t.Blocks() {
		fmt.Fprintf(&b, "\n%s\n", plain.String(block.Caption))
		cells := [][]string{append([]string{"design"}, t.Spec.Metrics...)}
		for i := range block.Rows {
			r := &block.Rows[i]
			cells = append(cells, append([]string{plain.String(r.Design)}, t.Cells(r)...))
		}
		writeColumns(&b, cells)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", plain.String(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func seeds(n int) string {
	if n == 1 {
		return "1 seed"
	}
	return fmt.Sprintf("%d seeds: mean ± half of the 95 %% confidence interval", n)
}

// writeColumns writes cells in columns: the first to the left, the others to the right.
func writeColumns(b *strings.Builder, cells [][]string) {
	width := make([]int, len(cells[0]))
	for _, row := range cells {
		for c, cell := range row {
			width[c] = max(width[c], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range cells {
		for c, cell := range row {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
			switch {
			case c == 0:
				b.WriteString(cell + pad)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteString("\n")
	}
}

// WriteCSV writes a line for each row and metric.
func (t *Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"workload", "buffer_size_kb", "subbuf_size", "design", "metric", "unit", "n", "mean", "half_95"}) // Flush keeps the error
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
	for _, r := range t.Rows {
		for _, m := range metrics {
			if f, ok := r.Figures[m.Name]; ok {
				_ = c.Write([]string{r.Workload, strconv.Itoa(r.BufferSizeKB), strconv.Itoa(r.SubbufSize), r.Design, m.Name, m.Unit, strconv.Itoa(f.N), number(f.Mean), number(f.Half)})
			}
		}
	}
	c.Flush()
	return c.Error()
}

// WriteJSON writes the table as one object. Characters that a terminal would obey are
// written as \uXXXX.
func (t *Table) WriteJSON(w io.Writer) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(t); err != nil {
		return err
	}
	_, err := w.Write(plain.JSON(b.Bytes()))
	return err
}
