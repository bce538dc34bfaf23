package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn3x1[context.Context, string, func(string, Outcome), error](&matchFn{})
	register.DoFn4x0[context.Context, string, func(*Outcome) bool, func(string, Outcome)](&summarizeFn{})
	register.DoFn2x1[context.Context, Sum, error](&writeFn{})
	register.Emitter2[string, Outcome]()
	register.Iter1[Outcome]()
	register.Function2x1(keep)
	register.Combiner2[Sum, Outcome](&mergeFn{})
	beam.RegisterCoder(sumType, encodeSum, decodeSum)
}

// build makes the pipeline that reads the files that match the patterns and writes
// their sum.
func build(s beam.Scope, patterns []string, o options) {
	files := beam.ParDo(s.Scope("match"), &matchFn{Output: o.Output}, beam.CreateList(s, patterns))
	write(s, summarize(s, files, o), o)
}

// summarize makes the Outcome of each file. Grouping by path lets the engine spread the
// files over its workers, and a file that several patterns match is read once.
func summarize(s beam.Scope, files beam.PCollection, o options) beam.PCollection {
	return beam.ParDo(s.Scope("summarize"), &summarizeFn{Memory: o.Memory, KeepGoing: o.KeepGoing, Folders: o.Folders},
		beam.GroupByKey(s, files))
}

// write adds what the files became and writes it.
func write(s beam.Scope, outcomes beam.PCollection, o options) {
	kept := beam.DropKey(s, beam.CombinePerKey(s.Scope("one per file"), keep, outcomes))
	sum := beam.Combine(s.Scope("merge"), &mergeFn{Memory: o.Memory}, kept)
	beam.ParDo0(s.Scope("write"), &writeFn{Output: o.Output}, sum)
}

// matchFn finds the files that a pattern stands for. A pattern that matches none
// becomes an Outcome of its own.
type matchFn struct {
	Output string // must not be read
}

func (f *matchFn) ProcessElement(ctx context.Context, pattern string, emit func(path string, o Outcome)) error {
	paths, err := list(ctx, pattern)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		emit(pattern, Outcome{Path: pattern, Problem: pattern + ": there is no such file"})
	}
	for _, path := range paths {
		if samePlace(path, f.Output) {
			return fmt.Errorf("%s: is input and output at once", path)
		}
		emit(path, Outcome{Path: path})
	}
	return nil
}

func list(ctx context.Context, pattern string) ([]string, error) {
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	paths, err := fs.List(ctx, pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	return paths, nil
}

// isLocal reports whether a path names a file of this machine. Others have a scheme, as
// gs://bucket/file has.
func isLocal(path string) bool { return !strings.Contains(path, "://") }

func samePlace(a, b string) bool {
	if isLocal(a) && isLocal(b) {
		return filepath.Clean(a) == filepath.Clean(b)
	}
	return a == b
}
