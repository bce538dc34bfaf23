package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/capture"
	"ftracelab/internal/testutil"
	"ftracelab/report"
	"ftracelab/tracer/record"
)

// firstStacks is the part of a capture up to so many kernel stacks.
type firstStacks struct {
	*capture.Capture
	left uint64
}

func (s *firstStacks) Next(r *record.Record) error {
	if s.left == 0 {
		return io.EOF
	}
	err := s.Capture.Next(r)
	if err == nil && r.Kind == record.KernelStack {
		s.left--
	}
	return err
}

// TestGrowthOfHalves fits the law of growth to the first half of captures and compares what
// it says of twice as many stacks with the whole capture. The rows of docs/capacity.md are
// these figures.
func TestGrowthOfHalves(t *testing.T) {
	table, err := os.ReadFile("../../docs/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("example", func(t *testing.T) {
		testHalf(t, string(table), "example", func() (*capture.Capture, error) { return capture.OpenExample(capture.Options{}) })
	})
	for _, name := range []string{"growth_kmem", "stacks_kmem", "stacks_sched", "stacks_function"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "the folder with the captures of subsystems"), name)
			kernel := oracle(t, "debian/static")
			testHalf(t, string(table), name, func() (*capture.Capture, error) { return capture.Open(dir, capture.Options{Kernel: kernel}) })
		})
	}
}

func testHalf(t *testing.T, table, name string, open func() (*capture.Capture, error)) {
	whole := estimateFirst(t, open, 1<<62)
	half := estimateFirst(t, open, whole.Input.KernelStacks/2)
	g, is := half.Capacity.Growth, whole.Input.UniqueKernelStacks
	row := fmt.Sprintf("| %s | %s | %d | %d | ", name, report.Group(half.Input.KernelStacks), half.Input.UniqueKernelStacks, is)
	if g.Law == "" {
		row += fmt.Sprintf("none | – | – | – | %d |", g.DoubledAtWorst)
	} else {
		row += fmt.Sprintf("%s | %.1f %% | %d | %+.1f %% | %d |", g.Law, g.ErrorPct, g.Doubled, 100*(float64(g.Doubled)/float64(is)-1), g.DoubledAtWorst)
	}
	if !strings.Contains(table, row+"\n") {
		t.Errorf("docs/capacity.md has no row\n%s", row)
	}
	if is > g.DoubledAtWorst {
		t.Errorf("%d unique stacks, at worst %d were foretold", is, g.DoubledAtWorst)
	}
}

func estimateFirst(t *testing.T, open func() (*capture.Capture, error), stacks uint64) *report.Report {
	t.Helper()
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := report.Estimate(t.Context(), &firstStacks{c, stacks}, report.Options{Types: c.Types(), TopStacks: -1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
