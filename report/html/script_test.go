package html

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"ftracelab/report"
)

// script runs the functions of the page that need no browser.
func script(t *testing.T) *goja.Runtime {
	t.Helper()
	vm := goja.New()
	for name, source := range map[string]string{"flame.js": flameJS, "whatif.js": whatIfJS} {
		if _, err := vm.RunScript(name, source); err != nil {
			t.Fatal(err)
		}
	}
	return vm
}

// call calls a function of the page; arguments and result pass as JSON.
func call(t *testing.T, vm *goja.Runtime, result any, function string, args ...any) {
	t.Helper()
	var list []string
	for _, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	v, err := vm.RunString("JSON.stringify(" + function + "(" + strings.Join(list, ", ") + "))")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(v.String()), result); err != nil {
		t.Fatal(err)
	}
}

// TestSliders moves both sliders to each of their stops: the script shows what Report.At
// says.
func TestSliders(t *testing.T) {
	vm := script(t)
	for name, r := range map[string]*report.Report{
		"both kinds": estimate(t, true, report.Options{}),
		"fixed bits": estimate(t, false, report.Options{Bits: 12, BufferSizeKB: 100}),
		"another rate": estimate(t, false, report.Options{Plan: report.Plan{
			Rate: 12.5, UniqueFactor: 40,
		}, SubbufSize: 65536}),
	} {
		m := newModel(r)
		for _, kb := range m.Buffers {
			for n, bits := range m.Bits {
				var rows []map[string]any
				call(t, vm, &rows, "recompute", m, kb, bits)
				m.Chosen = n
				sizes := m.at()
				if len(rows) != len(sizes) || len(rows) != len(r.Designs) {
					t.Fatalf("%s: %d rows, %d sizes, %d designs", name, len(rows), len(sizes), len(r.Designs))
				}
				for i, row := range rows {
					var got []string
					call(t, vm, &got, "cells", row)
					if want := whatIfCells(sizes[i], r.At(sizes[i], kb)); !slices.Equal(got, want) {
						t.Errorf("%s: %d KB, bits=%d: %q, want %q", name, kb, bits, got, want)
					}
				}
			}
		}
	}
}

// box is a cell of a flame graph as the script has it.
type box struct {
	X     float64 `json:"x"`
	Width float64 `json:"width"`
	Row   int     `json:"row"`
	Found bool    `json:"found"`
}

// TestFlame: callees lie below their callers and beside each other, and a zoom into a cell
// shows its callers and all that it called, and nothing else.
func TestFlame(t *testing.T) {
	vm := script(t)
	f := newFlame("x", []report.TopStack{
		{Kind: "kernel", Count: 60, Saved: 6000, Frames: []string{"c", "b", "a"}},
		{Kind: "kernel", Count: 20, Saved: 400, Frames: []string{"d", "b", "a"}},
		{Kind: "user", Count: 15, Saved: 900, Frames: []string{"c"}},
		{Kind: "kernel", Count: 5},
	})
	want := []struct {
		name  string
		row   int
		x, wd float64
	}{
		{"top stacks", 0, 0, 100},
		{"kernel", 1, 0, 85},
		{"a", 2, 0, 80},
		{"b", 3, 0, 80},
		{"c", 4, 0, 60},
		{"d", 4, 60, 20},
		{"(addresses not kept)", 2, 80, 5},
		{"user", 1, 85, 15},
		{"c", 2, 85, 15},
	}
	var cells []box
	for i, c := range f.Cells {
		b := box{X: number(t, c.X), Width: number(t, c.Width), Row: c.Row, Found: c.Name == "c" || c.Name == "d"}
		if w := want[i]; c.Name != w.name || b.Row != w.row || b.X != w.x || b.Width != w.wd {
			t.Errorf("cell %d is %s %+v, want %+v", i, c.Name, b, w)
		}
		cells = append(cells, b)
	}
	if len(cells) != len(want) || f.Height != 5*rowHeight {
		t.Errorf("%d cells, %d pixels high", len(cells), f.Height)
	}
	var share float64
	if call(t, vm, &share, "foundShare", cells); share != 95 {
		t.Errorf("%g %% found, want 95", share)
	}
	seen := map[int]string{}
	for i, c := range cells {
		var p *box
		if call(t, vm, &p, "place", c, cells[3]); p != nil {
			seen[i] = strconv.FormatFloat(math.Round(p.X), 'f', -1, 64) + "+" + strconv.FormatFloat(math.Round(p.Width), 'f', -1, 64)
		}
	}
	for i, where := range []string{"0+100", "0+100", "0+100", "0+100", "0+75", "75+25", "", "", ""} {
		if seen[i] != where {
			t.Errorf("zoomed into b, %s is at %q, want %q", f.Cells[i].Name, seen[i], where)
		}
	}
}

// TestFlameIsBounded: long and many stacks are drawn as far as there is room, and the page
// says so.
func TestFlameIsBounded(t *testing.T) {
	var stacks []report.TopStack
	for n := range 300 {
		s := report.TopStack{Kind: "kernel", Count: 1}
		for d := range 10 + 100*(n%2) {
			s.Frames = append(s.Frames, strconv.Itoa(n)+"."+strconv.Itoa(d))
		}
		stacks = append(stacks, s)
	}
	f := newFlame("x", stacks)
	if len(f.Cells) > maxCells || f.Height > maxRows*rowHeight {
		t.Errorf("%d cells, %d pixels high", len(f.Cells), f.Height)
	}
	if !strings.Contains(f.Note, "of 300 stacks are drawn") || !strings.Contains(f.Note, "only the outermost 62 addresses") {
		t.Error(f.Note)
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestScript: the whole script of a page is one that can be read.
func TestScript(t *testing.T) {
	page := write(t, estimate(t, true, report.Options{}))
	_, source, _ := strings.Cut(page, "<script>")
	source, _, found := strings.Cut(source, "</script>")
	if !found {
		t.Fatal("no script")
	}
	if _, err := goja.Compile("page", source, false); err != nil {
		t.Error(err)
	}
}
