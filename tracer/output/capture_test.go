package output_test

import (
	"path/filepath"
	"slices"
	"testing"

	"ftracelab/capture"
	"ftracelab/tracer/output"
)

// inMemory is a capture of testdata that can be read again and again.
type inMemory struct {
	cfg  output.Config
	cpus [][]output.Entry
}

func selected(tb testing.TB, name string) *inMemory {
	tb.Helper()
	c, err := capture.OpenTrace(filepath.Join("testdata", name), capture.Options{StackIDs: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	m, err := c.Merge(-1)
	if err != nil {
		tb.Fatal(err)
	}
	s := &inMemory{cfg: c.Config()}
	s.cpus = make([][]output.Entry, s.cfg.CPUs)
	for {
		e, _, ok := m.Next()
		if !ok {
			return s
		}
		e.Data = slices.Clone(e.Data)
		s.cpus[e.CPU] = append(s.cpus[e.CPU], e)
	}
}

// readers reads it from the beginning.
func (s *inMemory) readers() []output.Reader {
	list := make([]output.Reader, len(s.cpus))
	for cpu := range s.cpus {
		list[cpu] = &records{s.cpus[cpu]}
	}
	return list
}

// all is every record, one CPU behind the other.
func (s *inMemory) all() []output.Entry { return slices.Concat(s.cpus...) }
