package main

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"reflect"
	"slices"

	"ftracelab/budget"
	"ftracelab/report/summary"
)

// Outcome is what became of a file: its summary as a file of its own, or a problem. One
// with neither stands for a file that has not been read yet.
type Outcome struct {
	Path    string
	Summary []byte // nil: there is a problem
	Problem string // names the file; with a summary, the parts of the file that were left out
}

// keep chooses between two Outcomes of one file, one of which comes from work that was
// done again. One with a summary wins. Two summaries differ only if the file changed in
// the meantime; the choice then still depends on nothing but the two.
func keep(a, b Outcome) Outcome {
	if c := cmp.Or(cmp.Compare(min(len(a.Summary), 1), min(len(b.Summary), 1)),
		bytes.Compare(a.Summary, b.Summary), cmp.Compare(a.Problem, b.Problem)); c < 0 {
		return b
	}
	return a
}

// maxProblems is how many problems are kept of all files, those of the first files by
// path.
const maxProblems = 1000

// Sum is what became of many files together.
type Sum struct {
	Files    int       // that were found, and patterns that match none
	Skipped  int       // of which nothing is in the sum
	Damaged  int       // files with problems, of which Problems are the first by path
	Problems []Outcome // without summaries

	memory int64
	merger *summary.Merger // nil: it would have what is in encoded
	// encoded is a summary as a file, as it came from another worker.
	encoded []byte
}

// mergeFn adds Outcomes. Its accumulators are added pairwise, in any order and grouping.
type mergeFn struct {
	Memory int64 // for each sum, as of ftracelab merge --memory
}

func (f *mergeFn) CreateAccumulator() Sum { return Sum{memory: f.Memory} }

func (f *mergeFn) AddInput(s Sum, o Outcome) (Sum, error) {
	s.Files++
	if o.Problem != "" {
		s.Damaged++
		s.problem(Outcome{Path: o.Path, Problem: o.Problem})
	}
	if o.Summary == nil {
		s.Skipped++
		return s, nil
	}
	if err := s.add(o.Summary); err != nil {
		return s, fmt.Errorf("%s: %w", o.Path, err)
	}
	return s, nil
}

func (f *mergeFn) MergeAccumulators(a, b Sum) (Sum, error) {
	a.Files += b.Files
	a.Skipped += b.Skipped
	a.Damaged += b.Damaged
	for _, p := range b.Problems {
		a.problem(p)
	}
	if b.merger == nil {
		if b.encoded == nil {
			return a, nil
		}
		return a, a.add(b.encoded)
	}
	if err := a.open(); err != nil {
		return a, err
	}
	return a, a.merger.Add(b.merger.Sum())
}

// problem puts a problem in its place among the first ones.
func (s *Sum) problem(o Outcome) {
	n, _ := slices.BinarySearchFunc(s.Problems, o, func(a, b Outcome) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Problem, b.Problem)) })
	s.Problems = slices.Insert(s.Problems, n, o)
	s.Problems = s.Problems[:min(len(s.Problems), maxProblems)]
}

// add adds a summary that is encoded.
func (s *Sum) add(encoded []byte) error {
	if err := s.open(); err != nil {
		return err
	}
	return s.merger.Read(bytes.NewReader(encoded))
}

// open makes the merger.
func (s *Sum) open() error {
	if s.merger != nil {
		return nil
	}
	s.merger = summary.NewMerger(budget.New(s.memory))
	if s.encoded == nil {
		return nil
	}
	err := s.merger.Read(bytes.NewReader(s.encoded))
	s.encoded = nil
	return err
}

// file gives the sum as a file; nil if there is nothing in it.
func (s *Sum) file() ([]byte, error) {
	if s.merger == nil {
		return s.encoded, nil
	}
	var b bytes.Buffer
	err := summary.Encode(&b, s.merger.Sum())
	return b.Bytes(), err
}

// sent is a Sum on its way to another worker.
type sent struct {
	Files, Skipped, Damaged int
	Problems                []Outcome
	Memory                  int64
	Encoded                 []byte
}

var sumType = reflect.TypeFor[Sum]()

func encodeSum(s Sum) ([]byte, error) {
	encoded, err := s.file()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(sent{s.Files, s.Skipped, s.Damaged, s.Problems, s.memory, encoded})
	return b.Bytes(), err
}

func decodeSum(from []byte) (Sum, error) {
	var s sent
	err := gob.NewDecoder(bytes.NewReader(from)).Decode(&s)
	return Sum{Files: s.Files, Skipped: s.Skipped, Damaged: s.Damaged, Problems: s.Problems, memory: s.Memory, encoded: s.Encoded}, err
}
