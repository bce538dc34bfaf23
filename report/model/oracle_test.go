package model_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/capture"
	"ftracelab/internal/testutil"
	"ftracelab/report/model"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// heldOut lists the captures whose first half has to predict the second, and the row that
// each has in docs/models.md.
func heldOut(t *testing.T) []heldOutCapture {
	oracle := testutil.Oracle(t)
	subsystems := testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "the folder with the captures of subsystems")
	var list []heldOutCapture
	for _, name := range []string{"growth_kmem", "stacks_kmem", "stacks_sched", "stacks_function"} {
		list = append(list, heldOutCapture{name, filepath.Join(subsystems, name), filepath.Join(oracle, "debian/static")})
	}
	for _, name := range []string{"kmem_stack", "sched_stack", "user_stack"} {
		list = append(list, heldOutCapture{name, filepath.Join(oracle, "debian/stacks", name), ""})
	}
	captures := testutil.FromEnv(t, "FTRACELAB_CAPTURES", "the folder with the captures of perf script")
	for _, name := range []string{"go-build", "tools"} {
		list = append(list, heldOutCapture{"perf, " + name, filepath.Join(captures, "perf-script-"+name+".txt.gz"), ""})
	}
	return append(list, heldOutCapture{"the example", "", ""})
}

type heldOutCapture struct{ name, path, kernel string }

func (c *heldOutCapture) open() (*capture.Capture, error) {
	if c.path == "" {
		return capture.OpenExample(capture.Options{})
	}
	return capture.Open(c.path, capture.Options{Kernel: c.kernel})
}

func (c *heldOutCapture) try(t *testing.T, slices int) *model.HeldOut {
	src, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	m, err := model.Learn(t.Context(), src, model.LearnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := m.HoldOut(t.Context(), slices, func() (record.Source, *event.Table, func() error, error) {
		src, err := c.open()
		if err != nil {
			return nil, nil, nil, err
		}
		return src, src.Types(), src.Close, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A model predicts what it has not learned from within the bounds, or the row in
// docs/models.md says in bold by how much it does not. A row has the figures of this run.
func TestHeldOut(t *testing.T) {
	text, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, slices := range []int{2, 1000} {
		for _, c := range heldOut(t) {
			if row := row(c.name, c.try(t, slices)); !strings.Contains(string(text), row+"\n") {
				t.Errorf("%d slices: docs/models.md does not have the row\n%s", slices, row)
			}
		}
	}
}

func row(name string, h *model.HeldOut) string {
	m := h.Misses()
	cell := func(predicted, measured string, miss, bound float64) string {
		percent := strings.Replace(fmt.Sprintf("%+.1f %%", miss), "-0.0", "+0.0", 1)
		if math.Abs(miss) > bound {
			percent = "**" + percent + "**"
		}
		return fmt.Sprintf(" %s / %s, %s |", predicted, measured, percent)
	}
	b := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	n := func(v uint64) string { return fmt.Sprint(v) }
	return fmt.Sprintf("| %s | %d |", name, h.Measured.Events) +
		cell(b(h.Predicted.FullStacks), b(h.Measured.FullStacks), m.FullStacks, model.MaxBytesMiss) +
		cell(b(h.Predicted.Stackmap), b(h.Measured.Stackmap), m.Stackmap, model.MaxBytesMiss) +
		cell(n(h.Predicted.Unique), n(h.Measured.Unique), m.Unique, model.MaxUniqueMiss)
}
