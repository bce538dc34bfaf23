package experiment

import (
	"embed"
	"html/template"
	"io"

	"ftracelab/internal/plain"
)

//go:embed page.html
var pageText embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"plain": plain.String,
	"metrics": func(t *Table) (ms []Metric) {
		for _, name := range t.Spec.Metrics {
			m, _ := metricByName(name)
			ms = append(ms, m)
		}
		return ms
	},
	"blocks":  (*Table).blocks,
	"figures": func(t *Table, r Row) []string { return t.figures(&r) },
	"seeds":   func(t *Table) string { return seeds(len(t.Spec.Seeds)) },
}).ParseFS(pageText, "page.html"))

// WriteHTML writes the table as one page that opens offline.
func (t *Table) WriteHTML(w io.Writer) error { return page.Execute(w, t) }
