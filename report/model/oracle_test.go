package model_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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

var update = flag.Bool("update", false, "write the tables of docs/models.md anew")

// table compares the rows of the n-th table with that header in docs/models.md.
func table(t *testing.T, header string, n int, rows []string) {
	t.Helper()
	const name = "../../docs/models.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	at := -1
	for ; n >= 0; n-- {
		next := slices.Index(lines[at+1:], header)
		if next < 0 {
			t.Fatalf("docs/models.md has no table\n%s", header)
		}
		at += 1 + next
	}
	begin := at + 2
	end := begin
	for strings.HasPrefix(lines[end], "|") {
		end++
	}
	if slices.Equal(lines[begin:end], rows) {
		return
	}
	if !*update {
		t.Errorf("docs/models.md has\n%s\nwant\n%s", strings.Join(lines[begin:end], "\n"), strings.Join(rows, "\n"))
		return
	}
	lines = slices.Replace(lines, begin, end, rows...)
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A model predicts what it has not learned from within the bounds, or the row in
// docs/models.md says in bold by how much it does not. A row has the figures of this run.
func TestHeldOut(t *testing.T) {
	for n, slices := range []int{2, 1000} {
		var rows []string
		for _, c := range heldOut(t) {
			rows = append(rows, fmt.Sprintf("| %s |", c.name)+cells(c.try(t, slices)))
		}
		table(t, "| capture | events predicted | full stacks, B/event | stackmap, B/event | different stacks | frames of the call tree |", n, rows)
	}
}

// cells are the cells of a row about a prediction.
func cells(h *model.HeldOut) string {
	m := h.Misses()
	cell := func(predicted, measured string, miss, bound float64) string {
		return fmt.Sprintf(" %s / %s, %s |", predicted, measured, percent(miss, bound))
	}
	b := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	n := func(v uint64) string { return fmt.Sprint(v) }
	frames := 0.0
	if h.Measured.Frames > 0 {
		frames = 100 * (float64(h.Predicted.Frames)/float64(h.Measured.Frames) - 1)
	}
	return fmt.Sprintf(" %d |", h.Measured.Events) +
		cell(b(h.Predicted.FullStacks), b(h.Measured.FullStacks), m.FullStacks, model.MaxBytesMiss) +
		cell(b(h.Predicted.Stackmap), b(h.Measured.Stackmap), m.Stackmap, model.MaxBytesMiss) +
		cell(n(h.Predicted.Unique), n(h.Measured.Unique), m.Unique, model.MaxUniqueMiss) +
		cell(n(h.Predicted.Frames), n(h.Measured.Frames), frames, math.Inf(1))
}

// percent is a miss, in bold if it is beyond the bound.
func percent(miss, bound float64) string {
	text := strings.Replace(fmt.Sprintf("%+.1f %%", miss), "-0.0", "+0.0", 1)
	if math.Abs(miss) > bound {
		return "**" + text + "**"
	}
	return text
}
