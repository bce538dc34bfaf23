package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"ftracelab/report"
)

// Schema names the version of a table's JSON. Fields may be added within a version.
const Schema = "ftracelab/experiment/1"

// Table is the result of an experiment.
type Table struct {
	Schema string   `json:"schema"`
	Spec   Spec     `json:"spec"`
	Answer string   `json:"answer,omitempty"` // the spec's question, answered in words
	Rows   []Row    `json:"rows"`
	Notes  []string `json:"notes"`
}

// Row is a design on a workload with one size of buffer.
type Row struct {
	Workload     string            `json:"workload"`
	BufferSizeKB int               `json:"buffer_size_kb"`
	SubbufSize   int               `json:"subbuf_size"`
	Design       string            `json:"design"`
	Figures      map[string]Figure `json:"figures"` // by metric; one that no trial has is missing
}

// newTable puts outcomes, which are in the order of the spec's trials, into rows.
func newTable(s Spec, outcomes []Outcome) *Table {
	t := &Table{Schema: Schema, Spec: s, Rows: []Row{}, Notes: []string{}}
	for group := range slices.Chunk(outcomes, len(s.Seeds)) {
		of := group[0].Trial
		for d, design := range s.Designs {
			row := Row{of.Workload.Name, of.BufferSizeKB, of.SubbufSize, design, map[string]Figure{}}
			for _, m := range metrics {
				var values []float64
				for i := range group {
					if v, ok := group[i].Figures[d][m.Name]; ok {
						values = append(values, v)
					}
				}
				if len(values) > 0 {
					row.Figures[m.Name] = Summarize(values)
				}
			}
			t.Rows = append(t.Rows, row)
		}
		for i := range group {
			for _, note := range group[i].Notes {
				if !slices.Contains(t.Notes, note) {
					t.Notes = append(t.Notes, note)
				}
			}
		}
	}
	return t
}

// find returns the figures of a row. An empty name of a workload, or a size of 0, stands
// for the first row that has the rest.
func (t *Table) find(workload, design string, kb, subbuf int) (*Row, error) {
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Design == design && (workload == "" || r.Workload == workload) && (kb == 0 || r.BufferSizeKB == kb) && (subbuf == 0 || r.SubbufSize == subbuf) {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no row of workload %q, design %q, %d KB, sub-buffers of %d", workload, design, kb, subbuf)
}

// Explain fills in the answer from the template of the spec. In it
//
//	{{get WORKLOAD DESIGN METRIC}}              is a figure as the table shows it
//	{{at WORKLOAD DESIGN KB SUBBUF METRIC}}     the same of one size; 0 is any
//
// An error says that the template asks for what the table does not have.
func (t *Table) Explain() error {
	show := func(workload, design string, kb, subbuf int, metric string) (string, error) {
		r, err := t.find(workload, design, kb, subbuf)
		if err != nil {
			return "", err
		}
		m, ok := metricByName(metric)
		if !ok {
			return "", fmt.Errorf("no metric %q", metric)
		}
		f, ok := r.Figures[metric]
		if !ok {
			return "", fmt.Errorf("%s on %s has no %s", design, workload, metric)
		}
		return m.show(f), nil
	}
	tmpl, err := template.New("answer").Funcs(template.FuncMap{
		"get": func(workload, design, metric string) (string, error) { return show(workload, design, 0, 0, metric) },
		"at":  show,
	}).Parse(t.Spec.Answer)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, nil); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	t.Answer = strings.Join(strings.Fields(b.String()), " ")
	return nil
}

// Block is the rows of one workload and size, a row for each design.
type Block struct {
	Caption string
	Rows    []Row
}

// Blocks are the rows of each workload and size.
func (t *Table) Blocks() (blocks []Block) {
	n := len(t.Spec.Designs)
	for at := 0; at+n <= len(t.Rows); at += n {
		r := &t.Rows[at]
		blocks = append(blocks, Block{
			Caption: fmt.Sprintf("%s, %d KB per CPU, sub-buffers of %d bytes, %s", r.Workload, r.BufferSizeKB, r.SubbufSize, seeds(len(t.Spec.Seeds))),
			Rows:    t.Rows[at : at+n],
		})
	}
	return blocks
}

// Columns are the metrics of the spec, in its order.
func (t *Table) Columns() (ms []Metric) {
	for _, name := range t.Spec.Metrics {
		m, _ := metricByName(name) // the spec was complete
		ms = append(ms, m)
	}
	return ms
}

// Cells are the figures of a row as they are printed, one for each of the Columns.
func (t *Table) Cells(r *Row) (cells []string) {
	for _, m := range t.Columns() {
		if f, ok := r.Figures[m.Name]; ok {
			cells = append(cells, m.show(f))
		} else {
			cells = append(cells, "–")
		}
	}
	return cells
}

// show prints a figure with its unit and, if there is one, its interval.
func (m *Metric) show(f Figure) string {
	digits := 2
	if f.Half == 0 && f.Mean == math.Trunc(f.Mean) || math.Abs(f.Mean) >= 10_000 {
		digits = 0
	}
	text := number(f.Mean, digits)
	if f.Half > 0 {
		text += " ± " + number(f.Half, digits)
	}
	if m.Unit != "" {
		text += " " + m.Unit
	}
	return text
}

// number prints a value with so many digits behind the point and commas before it.
func number(v float64, digits int) string {
	sign := ""
	if v < 0 {
		sign, v = "−", -v
	}
	whole, rest, _ := strings.Cut(strconv.FormatFloat(v, 'f', digits, 64), ".")
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return sign + strconv.FormatFloat(v, 'g', 4, 64) // too large to group
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + report.Group(n) + rest
}
