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
	"ftracelab/report/experiment"
)

// Write writes the reports and fleets of d as one HTML page. Nothing is written if the
// page cannot be made.
//
// Names from a capture are text on the page, never markup or script. Characters that
// are not printable are shown as escapes (internal/plain). The names of the capture and
// of frames are isolated from the text direction of their neighbours.
func Write(w io.Writer, d *report.Document) error {
	p := page{Title: "ftracelab estimate", Heading: "What would a stackmap save?", Schema: report.Schema}
	for _, r := range d.Reports {
		p.Views = append(p.Views, newView(len(p.Views), r))
	}
	for _, f := range d.Fleets {
		p.Views = append(p.Views, newFleet(len(p.Views), f))
	}
	if len(p.Views) == 1 {
		p.Title += ": " + p.Views[0].Name
	}
	return p.write(w)
}

// WriteExperiment writes the table of an experiment as a page of the same kind.
func WriteExperiment(w io.Writer, t *experiment.Table) error {
	p := page{Title: t.Spec.Title + ": ftracelab experiment", Heading: "An experiment with designs", Schema: experiment.Schema}
	p.Views = []*view{newExperiment(t)}
	return p.write(w)
}

func (p *page) write(w io.Writer) error {
	t, err := template.New("page").Parse(pageTmpl)
	if err != nil {
		return fmt.Errorf("html: page template: %w", err)
	}
	lib, err := echarts()
	if err != nil {
		return err
	}
	p.Style, p.ECharts = template.CSS(styleCSS), template.HTML(base64.StdEncoding.EncodeToString(echartsGz))
	var options strings.Builder
	options.WriteString("var options = {")
	for _, v := range p.Views {
		v.name()
		for _, s := range v.Sections {
			for _, c := range s.Charts {
				fmt.Fprintf(&options, "\n%q: %s,", c.ID, c.option)
			}
		}
	}
	options.WriteString("\n};\n")
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
	Title, Heading, Schema, Policy string
	ECharts                        template.HTML // packed; base64, in which nothing is markup
	Style                          template.CSS
	Script                         template.JS
	Views                          []*view
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
