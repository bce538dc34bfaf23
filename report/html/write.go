package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"ftracelab/internal/plain"
	"ftracelab/report"
)

// Write writes the reports as one HTML page. Nothing is written if the page
// cannot be made.
//
// Names from a capture are text on the page, never markup or script. Characters that
// are not printable are shown as escapes (internal/plain). The names of the capture and
// of frames are isolated from the text direction of their neighbours.
func Write(w io.Writer, reports ...*report.Report) error {
	t, err := template.New("page").Parse(pageTmpl)
	if err != nil {
		return fmt.Errorf("html: page template: %w", err)
	}
	lib, err := echarts()
	if err != nil {
		return err
	}
	p := page{
		Title: "ftracelab estimate", Schema: report.Schema, Style: template.CSS(styleCSS),
		ECharts: template.HTML(base64.StdEncoding.EncodeToString(echartsGz)),
	}
	var options strings.Builder
	options.WriteString("var options = {")
	for i, r := range reports {
		v := newView(i, r)
		for _, s := range v.Sections {
			if s.Chart.ID != "" {
				fmt.Fprintf(&options, "\n%q: %s,", s.Chart.ID, s.Chart.option)
			}
		}
		p.Reports = append(p.Reports, v)
	}
	options.WriteString("\n};\n")
	if len(reports) == 1 {
		p.Title += ": " + p.Reports[0].Name
	}
	script := options.String() + chartsJS + flameJS + whatIfJS + pageJS
	p.Script, p.Policy = template.JS(script), policy(lib, script)

	var b bytes.Buffer
	clean := plain.NewWriter(&b) // it changes nothing in the scripts
	if err := errors.Join(t.Execute(clean, p), clean.Flush()); err != nil {
		return fmt.Errorf("html: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// page is what the template shows.
type page struct {
	Title, Schema, Policy string
	ECharts               template.HTML // packed; base64, in which nothing is markup
	Style                 template.CSS
	Script                template.JS
	Reports               []*view
}

// policy allows the page its own two scripts, which it recognizes by their hashes, and
// its styles. Everything else is forbidden, including all requests.
func policy(scripts ...string) string {
	var hashes []string
	for _, s := range scripts {
		sum := sha256.Sum256([]byte(s))
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return "default-src 'none'; script-src " + strings.Join(hashes, " ") + "; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
}
