package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"ftracelab/budget"
	"ftracelab/capture"
	"ftracelab/report"
	"ftracelab/report/summary"
	"ftracelab/tracer/record"
)

// summarizeFn makes the Outcome of a file.
type summarizeFn struct {
	Memory    int64 // for each file, as of ftracelab estimate --memory
	KeepGoing bool  // leave damaged parts of a capture out, not all of it
	Folders   bool  // a machine has the name of its capture's folder
}

func (f *summarizeFn) ProcessElement(ctx context.Context, path string, found func(*Outcome) bool, emit func(path string, o Outcome)) {
	var o Outcome
	found(&o) // all of them are the same
	if o.Problem == "" {
		var problem error
		if o.Summary, problem = f.read(ctx, path); problem != nil {
			o.Problem = problem.Error()
		}
	}
	emit(path, o)
}

// read makes the summary of the file at path. If there are a summary and an error, the
// error tells what was left out.
func (f *summarizeFn) read(ctx context.Context, path string) ([]byte, error) {
	place := path
	if !isLocal(path) {
		dir, err := os.MkdirTemp("", "fleet-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		place = filepath.Join(dir, filepath.Base(path))
		if err := fetch(ctx, path, place); err != nil {
			return nil, fmt.Errorf("%s: cannot read: %w", path, err)
		}
	}
	s, skipped, err := f.summary(ctx, path, place)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = summary.Encode(&b, s)
	return b.Bytes(), errors.Join(skipped, err)
}

// fetch copies a file to this machine, because some kinds of capture have to be sought
// in.
func fetch(ctx context.Context, path, to string) error {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	from, err := fs.OpenRead(ctx, path)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}

// summary makes the summary of the file that is called path and lies at place. A file
// that is one already is read as it is.
func (f *summarizeFn) summary(ctx context.Context, path, place string) (s *summary.Summary, skipped, err error) {
	if isSummary(place) {
		in, err := os.Open(place)
		if err != nil {
			return nil, nil, err
		}
		defer in.Close()
		if s, err = summary.Decode(in, budget.New(f.Memory)); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return s, nil, err
	}
	opt := capture.Options{Context: ctx, KeepGoing: f.KeepGoing, Memory: budget.New(f.Memory)}
	c, err := open(path, place, opt)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	designs, err := record.ParseDesigns("full-stacks", 0, 1) // the maps are studied in any case
	if err != nil {
		return nil, nil, err
	}
	s = new(summary.Summary)
	info := c.Info()
	if _, err := report.Estimate(ctx, c, report.Options{
		Path: f.of(path), Format: info.Format, SubbufSize: info.SubbufSize, Types: c.Types(), Seed: 1, TopStacks: -1,
		Designs: designs, Memory: opt.Memory, Summary: s, Ticks: info.Ticks != "",
	}); err != nil {
		return nil, nil, err
	}
	info = c.Info()
	if err := info.NothingLeft(); err != nil {
		return nil, nil, err
	}
	if skipped = info.Skipped(); skipped != nil {
		s.Machines[0].Partial = 1
	}
	return s, skipped, nil
}

// open opens the capture that is called path and lies at place.
func open(path, place string, opt capture.Options) (*capture.Capture, error) {
	if path == place {
		return capture.Open(path, opt)
	}
	opt.Shown = path
	return capture.OpenFS(os.DirFS(filepath.Dir(place)), filepath.Base(place), opt)
}

// isSummary looks at the first bytes of a regular file. Others would be gone once read.
func isSummary(place string) bool {
	info, err := os.Stat(place)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	in, err := os.Open(place)
	if err != nil {
		return false // whoever reads it says why
	}
	defer in.Close()
	head := make([]byte, 4)
	n, _ := io.ReadFull(in, head)
	return summary.IsSummary(head[:n])
}

// of gives the path whose last element names the capture's machine.
func (f *summarizeFn) of(file string) string {
	if dir, _ := path.Split(strings.TrimSuffix(filepath.ToSlash(file), "/")); f.Folders && dir != "" {
		return dir
	}
	return file
}
