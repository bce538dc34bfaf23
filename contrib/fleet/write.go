package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// filesSuffix follows the name of the output in that of the file which tells what was
// read, as a fileList.
const filesSuffix = ".files.json"

// fileList says what a run has read. It is beside the output, so that whoever started
// the run can know it on every engine.
type fileList struct {
	Files    int       `json:"files"`    // that were found, and patterns that match none
	Skipped  int       `json:"skipped"`  // of which nothing is in the output
	Damaged  int       `json:"damaged"`  // with problems, those that were skipped included
	Problems []problem `json:"problems"` // the first by path, at most 1000
}

type problem struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

// writeFn writes the sum, and the fileList. If there is nothing in the sum, only the
// list is written.
type writeFn struct{ Output string }

func (f *writeFn) ProcessElement(ctx context.Context, s Sum) error {
	file, err := s.file()
	if err != nil {
		return err
	}
	list, err := s.list()
	if err != nil {
		return err
	}
	if file != nil {
		if err := writeFile(ctx, f.Output, file); err != nil {
			return err
		}
	}
	return writeFile(ctx, f.Output+filesSuffix, list)
}

// list gives the fileList as JSON.
func (s *Sum) list() ([]byte, error) {
	l := fileList{s.Files, s.Skipped, s.Damaged, []problem{}}
	for _, p := range s.Problems {
		l.Problems = append(l.Problems, problem{p.Path, p.Problem})
	}
	text, err := json.MarshalIndent(l, "", "  ")
	return append(text, '\n'), err
}

// writeFile puts content at path, all of it or none: other stores show a file once it is
// closed, and on a disk it gets its name last.
func writeFile(ctx context.Context, path string, content []byte) error {
	if !isLocal(path) {
		fs, err := filesystem.New(ctx, path)
		if err != nil {
			return err
		}
		defer fs.Close()
		return filesystem.Write(ctx, fs, path, content)
	}
	host, _ := os.Hostname() // of several workers on a shared disk each has its own file
	part := fmt.Sprintf("%s.%s-%d.part", path, host, os.Getpid())
	if err := os.WriteFile(part, content, 0o666); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, path)
}

// readFile gives what writeFile wrote.
func readFile(ctx context.Context, path string) ([]byte, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return filesystem.Read(ctx, fs, path)
}
