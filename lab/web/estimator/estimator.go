package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"ftracelab/budget"
	"ftracelab/capture"
	"ftracelab/capture/savings"
	"ftracelab/internal/plain"
	"ftracelab/lab/web/answer"
	"ftracelab/report"
	"ftracelab/report/html"
	"ftracelab/report/summary"
	"ftracelab/tracer/record"
)

// memory is what reading a capture may take of the 4 GiB that a program in a page can have.
const memory = 512 << 20

// An Estimated is what the page shows of a capture.
type Estimated struct {
	Text string `json:"text"` // as ftracelab estimate prints it
	Page string `json:"page"` // as ftracelab estimate --html writes it
}

// calls are the questions of the page, by their names:
//
//	estimate PATH     what the stack map would save on this capture; "" is the embedded one
//
// say is told how much has been read.
func calls(say func(string)) map[string]answer.Call {
	return map[string]answer.Call{"estimate": func(args []string) (any, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("estimate: %d arguments, not 1", len(args))
		}
		e, err := estimated(context.Background(), args[0], say)
		if err != nil {
			return nil, fmt.Errorf("estimate: %w", err)
		}
		return e, nil
	}}
}

// estimated makes the estimate of the file at path.
func estimated(ctx context.Context, path string, say func(string)) (*Estimated, error) {
	d, err := document(ctx, path, say)
	if err != nil {
		return nil, err
	}
	var text, page strings.Builder
	clean := plain.NewWriter(&text)
	if err := errors.Join(d.WriteText(clean, report.TextOptions{}), clean.Flush()); err != nil {
		return nil, err
	}
	if err := html.Write(&page, d); err != nil {
		return nil, err
	}
	return &Estimated{text.String(), page.String()}, nil
}

func document(ctx context.Context, path string, say func(string)) (*report.Document, error) {
	switch ext := filepath.Ext(path); {
	case ext == ".yaml" || ext == ".yml":
		return nil, fmt.Errorf("%s: the page reads captures; a model is drawn from by the command ftracelab estimate", path)
	case isSummary(path):
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		s, err := summary.Decode(f, budget.New(memory))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		return &report.Document{Fleets: []*report.Fleet{report.EstimateFleet(s, report.FleetOptions{Path: path, BufferSizeKB: bufferSizeKB})}}, nil
	}
	open := func(o capture.Options) (*capture.Capture, error) {
		if path == "" {
			return capture.OpenExample(o)
		}
		return capture.Open(path, o)
	}
	r, _, err := savings.Of(ctx, open, path != "", savings.Options{
		Capture: capture.Options{Context: ctx}, Memory: memory,
		Report: report.Options{BufferSizeKB: bufferSizeKB, Seed: 1},
		Watch:  func(c *capture.Capture, read *atomic.Int64) record.Source { return &watched{c, read, 0, say} },
	})
	if err != nil {
		return nil, err
	}
	return &report.Document{Reports: []*report.Report{r}}, nil
}

// bufferSizeKB is what ftracelab estimate takes if nothing else is said.
const bufferSizeKB = 1408

// isSummary reports whether a file is a summary of captures.
func isSummary(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // whoever reads it says why
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.Read(head)
	return summary.IsSummary(head[:n])
}

// watched is a capture that tells how much of it was read.
type watched struct {
	*capture.Capture
	read    *atomic.Int64
	records uint64
	say     func(string)
}

// sayEvery is after how many records the page is told of them.
const sayEvery = 1 << 16

// Next is that of a record.Source.
func (w *watched) Next(r *record.Record) error {
	if w.records++; w.records%sayEvery == 0 {
		w.say(fmt.Sprintf("%s and %s records were read …", report.Bytes(w.read.Load()), report.Group(w.records)))
	}
	return w.Capture.Next(r)
}
