//go:build !js

package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"ftracelab/capture"
	"ftracelab/machine"
	"ftracelab/report"
	"ftracelab/tracer/record"
)

// progress is a line on a terminal that says how far long work is, and how long the rest
// may take. A nil progress says nothing.
type progress struct {
	screen *os.File
	began  time.Time
	drawn  time.Time // when the line was last drawn; zero: never
	width  int
}

// Work that takes less than a second shows no line, and no line is drawn more often than
// five times a second.
const (
	sayAfter  = time.Second
	drawEvery = 200 * time.Millisecond
)

// newProgress gives a progress on w if w is a terminal.
func newProgress(w io.Writer) *progress {
	screen, ok := w.(tty)
	if !ok {
		return nil
	}
	return &progress{screen: screen.terminal, began: time.Now(), width: columns(w)}
}

// say shows what was done, of which part (0 to 1) is known to be done; 0 if that is not
// known.
func (p *progress) say(done func() string, part float64) {
	if p == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.began) < sayAfter || now.Sub(p.drawn) < drawEvery {
		return
	}
	p.drawn = now
	line := done()
	if part > 0 && part < 1 {
		left := time.Duration(float64(now.Sub(p.began)) * (1 - part) / part)
		line += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	if p.width > 1 && len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.screen, "\r\x1b[K%s", line)
}

// end takes the line away.
func (p *progress) end() {
	if p != nil && !p.drawn.IsZero() {
		fmt.Fprint(p.screen, "\r\x1b[K")
	}
}

// watched is a capture whose records are counted on the way.
type watched struct {
	*capture.Capture
	progress *progress
	read     *atomic.Int64 // bytes of the capture's files
	size     int64         // of these files; 0: not known
	records  uint64
}

// lookEvery is after how many records the clock is looked at.
const lookEvery = 4096

// Next implements [record.Source].
func (w *watched) Next(r *record.Record) error {
	if w.records++; w.records%lookEvery == 0 {
		w.say()
	}
	return w.Capture.Next(r)
}

func (w *watched) say() {
	part := 0.0
	if w.size > 0 {
		part = min(float64(w.read.Load())/float64(w.size), 1)
	}
	w.progress.say(w.line, part)
}

func (w *watched) line() string {
	of := ""
	if w.size > 0 {
		of = " of " + report.Bytes(w.size)
	}
	return fmt.Sprintf("%s%s read, %s records", report.Bytes(w.read.Load()), of, report.Group(w.records))
}

// sizeOf adds up the sizes of a capture's files: of a file its own, of a folder those of
// its pages. It is 0 if that cannot be known, as of a pipe.
func sizeOf(path string) (size int64) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return 0
	case info.Mode().IsRegular():
		return info.Size()
	case !info.IsDir():
		return 0
	}
	names, err := fs.Glob(os.DirFS(path), "cpu*.raw*")
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil {
			size += info.Size()
		}
	}
	return size
}

// countingReader counts the bytes that are read.
type countingReader struct {
	*contextReader
	read *atomic.Int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.contextReader.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// openCapture opens the capture that a command line names: "" is the embedded example,
// and - is standard input. What is read of it is counted in opt.Read.
func openCapture(ctx context.Context, stdin io.Reader, path string, opt capture.Options) (*capture.Capture, error) {
	switch path {
	case "":
		return capture.OpenExample(opt)
	case "-":
		return capture.OpenReader(countingReader{underContext(ctx, stdin), opt.Read}, "standard input", opt)
	}
	return capture.Open(path, opt)
}

// runShown is run with its progress on a terminal.
func (l *lab) runShown(ctx context.Context, d machine.Time, p *progress) error {
	defer p.end()
	return l.runTold(ctx, d, func(passed machine.Time) {
		p.say(func() string {
			return fmt.Sprintf("%v of %v simulated", time.Duration(passed).Round(time.Millisecond), time.Duration(d))
		}, float64(passed)/float64(d))
	})
}
