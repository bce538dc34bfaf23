//go:build !js

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"ftracelab/report"
	"ftracelab/report/summary"
)

// isSummary reports whether an input of estimate is a summary. Files other than regular
// ones and the standard input are not looked into, as what is read from them is gone.
func isSummary(path string, stdin *peekable) bool {
	if path == stdoutName {
		return summary.IsSummary(stdin.peek())
	}
	f, err := openRegular(path)
	if err != nil {
		return false // whoever reads it says why
	}
	defer f.Close()
	head := bufio.NewReaderSize(f, 16)
	first, _ := head.Peek(4)
	return summary.IsSummary(first)
}

// fleet makes the answer for a summary.
func (f *estimateFlags) fleet(ctx context.Context, stdin io.Reader, path string) (*report.Fleet, error) {
	shown := path
	if path == stdoutName {
		shown = "standard input"
	}
	var s *summary.Summary
	err := readSummary(ctx, stdin, path, func(r io.Reader) (err error) {
		s, err = summary.Decode(r, f.memory.budget())
		return err
	})
	if err != nil {
		return nil, err
	}
	return report.EstimateFleet(s, report.FleetOptions{Path: shown, BufferSizeKB: f.opt.BufferSizeKB, Bits: f.opt.Bits}), nil
}

// checkSummary refuses flags that cannot be given together with --summary, or with an
// input that is a summary. It is called again for each such input.
func (f *estimateFlags) checkSummary(inputs, summaries int) error {
	switch {
	case f.machine != "" && f.summary == "":
		return errors.New("--machine names the machine in a --summary, which is not there")
	case f.summary != "" && summaries > 0:
		return errors.New("--summary takes a capture, and this is a summary; merge adds summaries")
	case f.summary != "" && inputs > 1:
		return errors.New("--summary takes one capture; merge adds the summaries of several")
	case f.summary == stdoutName && (f.json || f.html == stdoutName):
		return errors.New("--summary - and --json or --html - all go to the standard output")
	case summaries > 0 && f.designs != "":
		return errors.New("--designs: a summary is about full-stacks, stackmap and no-stacks, and has no records to try others on")
	}
	return nil
}

// writeSummary writes the summary of a capture.
func writeSummary(out *outputFile, s *summary.Summary) error {
	return writeOutput(out, func(w *os.File) error { return summary.Encode(w, s) })
}

// peekable is a reader whose first bytes can be looked at before they are read.
type peekable struct {
	in    io.Reader
	ahead *bufio.Reader // nil: nobody has looked
}

func (p *peekable) peek() []byte {
	if p.ahead == nil {
		p.ahead = bufio.NewReader(p.in)
	}
	first, _ := p.ahead.Peek(4)
	return first
}

func (p *peekable) Read(b []byte) (int, error) {
	if p.ahead != nil {
		return p.ahead.Read(b)
	}
	return p.in.Read(b)
}

// Stat is that of the file which is read.
func (p *peekable) Stat() (os.FileInfo, error) {
	if f, ok := p.in.(interface{ Stat() (os.FileInfo, error) }); ok {
		return f.Stat()
	}
	return nil, fmt.Errorf("no file: %w", errors.ErrUnsupported)
}
