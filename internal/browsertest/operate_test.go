package browsertest

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// slide moves a slider by keys until it stands at the stop with that text.
func (w *window) slide(name, want string) {
	w.t.Helper()
	slider := fmt.Sprintf("document.querySelector('.whatif input[name=%s]')", name)
	eval[any](w, slider+".focus(); true")
	w.do(chromedp.KeyEvent(kb.Home))
	for range 32 {
		if eval[string](w, slider+".getAttribute('aria-valuetext')") == want {
			return
		}
		w.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	w.t.Fatalf("the slider %s has no stop %q", name, want)
}

// rows is the table of the sliders: its caption, and its cells by the first one of each row.
func (w *window) rows() (caption string, cells map[string][]string) {
	w.t.Helper()
	cells = map[string][]string{}
	for _, row := range eval[[][]string](w, "Array.from(document.querySelectorAll('.whatif tbody tr')).map(r => Array.from(r.children).map(c => c.textContent))") {
		cells[row[0]] = row[1:]
	}
	return eval[string](w, "document.querySelector('.whatif caption').textContent"), cells
}

// number reads a cell: 1,234 or 560 KiB.
func number(t *testing.T, cell string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.Fields(cell)[0], ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSliders moves the sliders of a capture by keys. What the page then shows is what
// estimate prints for that buffer and map, as far as both extrapolate: within 1 %, as the
// page counts with the mean events of a page.
func TestSliders(t *testing.T) {
	w := open(t, "capture.html", look{1280, "light"})
	for _, c := range []struct{ kb, bits int }{{4096, 12}, {65536, 10}, {8192, 18}} {
		w.slide("buffer", commas(c.kb)+" KB per CPU")
		w.slide("bits", fmt.Sprintf("bits=%d", c.bits))
		caption, rows := w.rows()
		if want := fmt.Sprintf("With %s KB per CPU, bits=%d", commas(c.kb), c.bits); caption != want {
			t.Errorf("%q, want %q", caption, want)
		}
		var printed struct {
			Reports []struct {
				Designs []struct {
					Name            string
					RetainedEvents  float64 `json:"retained_events"`
					RetainedSeconds float64 `json:"retained_seconds"`
					MapBytes        float64 `json:"map_bytes"`
				}
			}
		}
		estimate(t, &printed, "--buffer-size-kb", fmt.Sprint(c.kb), "--bits", fmt.Sprint(c.bits))
		for _, d := range printed.Reports[0].Designs {
			row := rows[d.Name]
			if len(row) != 6 {
				t.Fatalf("%s: %q", d.Name, row)
			}
			events, seconds, maps := number(t, row[1]), number(t, row[2]), number(t, row[4])
			if math.Abs(events/d.RetainedEvents-1) > 0.01 || math.Abs(seconds/d.RetainedSeconds-1) > 0.01 || maps != math.Floor(d.MapBytes/1024) {
				t.Errorf("%d KB, bits=%d, %s: %q, but estimate prints %+v", c.kb, c.bits, d.Name, row, d)
			}
		}
		if len(rows) != len(printed.Reports[0].Designs) {
			t.Errorf("%d rows, %d designs", len(rows), len(printed.Reports[0].Designs))
		}
	}
	w.quiet()
}

// TestFleetSliders does the same with a fleet, where the figures are exactly those that
// estimate prints.
func TestFleetSliders(t *testing.T) {
	w := open(t, "fleet.html", look{400, "dark"})
	for _, c := range []struct{ kb, bits int }{{64, 10}, {4096, 14}, {1 << 20, 18}} {
		w.slide("buffer", commas(c.kb)+" KB per CPU")
		w.slide("bits", fmt.Sprintf("bits=%d", c.bits))
		_, rows := w.rows()
		var printed struct {
			Fleets []struct {
				Percentiles []struct {
					What          string
					P10, P50, P90 float64
				}
				Sweep []struct {
					Bits, Pays, Dropping int
					Drops                float64
				}
			}
		}
		estimate(t, &printed, "fleet.ftls", "--buffer-size-kb", fmt.Sprint(c.kb), "--bits", fmt.Sprint(c.bits))
		f, compared := printed.Fleets[0], 0
		for _, p := range f.Percentiles {
			design, ok := strings.CutPrefix(p.What, "seconds back, ")
			if !ok {
				continue
			}
			compared++
			for i, want := range []float64{p.P10, p.P50, p.P90} {
				// The page prints three decimals, and fewer of a large figure.
				if got := number(t, rows[design][1+i]); math.Abs(got-want) > 0.00051+want/2000 {
					t.Errorf("%d KB, bits=%d, %s: %g s, but estimate prints %g", c.kb, c.bits, design, got, want)
				}
			}
		}
		for _, b := range f.Sweep {
			if b.Bits == c.bits {
				row := rows["stackmap"]
				compared++
				if number(t, row[4]) != b.Drops || number(t, row[5]) != float64(b.Dropping) || number(t, row[7]) != float64(b.Pays) {
					t.Errorf("%d KB: %q, but estimate prints %+v", c.kb, row, b)
				}
			}
		}
		if compared != 3 {
			t.Errorf("%d figures were compared", compared)
		}
	}
	w.quiet()
}

// estimate reads what estimate prints as JSON.
func estimate(t *testing.T, into any, args ...string) {
	t.Helper()
	text, err := ftracelab(append([]string{"estimate", "--json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func commas(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// cell is a cell of the flame graph as it is drawn, in pixels.
type cell struct {
	Name     string
	Row      int
	X, Width float64
	Shown    bool
	Found    bool
}

func (w *window) cells() []cell {
	w.t.Helper()
	return eval[[]cell](w, `(function () {
		var left = document.querySelector(".flame > svg").getBoundingClientRect().left;
		return Array.from(document.querySelectorAll(".flame .cell")).map(function (at) {
			var box = at.querySelector("rect").getBoundingClientRect();
			return { Name: at.querySelector("text").textContent, Row: +at.dataset.row, X: box.left - left, Width: box.width,
				Shown: getComputedStyle(at).display !== "none", Found: at.classList.contains("found") };
		});
	})()`)
}

// TestFlame clicks on a function, which then has the whole width, and searches one.
func TestFlame(t *testing.T) {
	w := open(t, "capture.html", look{1280, "light"})
	before := w.cells()
	whole, at := before[0].Width, -1
	for i, c := range before {
		if c.Width < whole/2 && c.Width > whole/8 && i+1 < len(before) && before[i+1].Row == c.Row+1 {
			at = i
			break
		}
	}
	if at < 0 {
		t.Fatalf("no function to click on among %d", len(before))
	}
	eval[any](w, fmt.Sprintf(`document.querySelectorAll(".flame .cell")[%d].scrollIntoView({ block: "center" }); true`, at))
	spot := eval[[]float64](w, fmt.Sprintf(`(function () {
		var box = document.querySelectorAll(".flame .cell")[%d].querySelector("rect").getBoundingClientRect();
		return [box.left + box.width / 2, box.top + box.height / 2];
	})()`, at))
	w.do(chromedp.MouseClickXY(spot[0], spot[1]))
	scale := whole / before[at].Width
	shown := 0
	for i, c := range w.cells() {
		was, inside := before[i], before[i].X >= before[at].X-0.5 && before[i].X+before[i].Width <= before[at].X+before[at].Width+0.5
		if was.Row > before[at].Row && inside != c.Shown {
			t.Errorf("%s, row %d: shown %v", c.Name, c.Row, c.Shown)
		}
		if c.Shown {
			shown++
		}
		if i == at && math.Abs(c.Width-whole) > 1 || inside && was.Row > before[at].Row && math.Abs(c.Width-was.Width*scale) > 1 {
			t.Errorf("%s is %g wide after the zoom, and was %g of %g", c.Name, c.Width, was.Width, whole)
		}
	}
	if shown == len(before) {
		t.Error("the zoom hides nothing")
	}
	w.do(chromedp.KeyEvent(kb.Escape))
	for i, c := range w.cells() {
		if !c.Shown || math.Abs(c.Width-before[i].Width) > 1 {
			t.Errorf("%s is not back after Escape", c.Name)
		}
	}

	eval[any](w, `document.querySelector(".flame input").focus(); true`)
	w.do(chromedp.KeyEvent("COPY_process"))
	share, above := 0.0, -1
	for _, c := range w.cells() {
		if c.Found != strings.Contains(c.Name, "copy_process") {
			t.Errorf("%s found: %v", c.Name, c.Found)
		}
		if above >= 0 && c.Row <= above {
			above = -1
		}
		if above < 0 && c.Found {
			share, above = share+100*c.Width/whole, c.Row
		}
	}
	said := eval[string](w, `document.querySelector(".flame output").textContent`)
	if got, ok := strings.CutSuffix(said, " % of the stacks drawn"); !ok || share == 0 || math.Abs(number(t, got)-share) > 0.2 {
		t.Errorf("the page says %q of %.1f %%", said, share)
	}
	w.quiet()
}

// TestKeyboard goes through the pages with the Tab key: it reaches all that can be
// operated, in the order of the page, and shows where it is.
func TestKeyboard(t *testing.T) {
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			w := open(t, page, look{400, "light"})
			want := eval[[]string](w, `window.operable = Array.from(document.querySelectorAll("a, summary, input, button:not(:disabled), .scroll, .flame [tabindex='0']")).filter(e => e.checkVisibility()), operable.map(e => e.outerHTML.slice(0, 80))`)
			if len(want) < 5 { // contents and tables
				t.Fatalf("only %d can be operated", len(want))
			}
			for i, name := range want {
				w.do(chromedp.KeyEvent(kb.Tab))
				at := eval[struct {
					Index int
					Name  string
					Seen  bool
				}](w, `(function () {
					var at = document.activeElement, mark = at.classList.contains("cell") ? at.querySelector("rect") : at, s = getComputedStyle(mark);
					return { Index: operable.indexOf(at), Name: at.outerHTML.slice(0, 80),
						Seen: mark !== at ? parseFloat(s.strokeWidth) >= 2 : s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1 };
				})()`)
				if at.Index != i {
					t.Fatalf("Tab number %d goes to %q, want %q", i+1, at.Name, name)
				}
				if !at.Seen {
					t.Errorf("nothing shows that the keyboard is at %q", at.Name)
				}
			}
			// A reader without eyes gets a name for each of them.
			for _, e := range eval[[]string](w, `operable.filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label"))).map(e => e.outerHTML.slice(0, 80))`) {
				t.Errorf("no name: %s", e)
			}
		})
	}
}

// TestFlameByKeys walks down the flame graph with arrows, zooms with Enter and comes back
// with Escape.
func TestFlameByKeys(t *testing.T) {
	w := open(t, "capture.html", look{400, "dark"})
	eval[any](w, `document.querySelector(".flame .cell").focus(); true`)
	for range 4 {
		w.do(chromedp.KeyEvent(kb.ArrowDown))
	}
	w.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	focus := eval[int](w, `Array.from(document.querySelectorAll(".flame .cell")).indexOf(document.activeElement)`)
	cells := w.cells()
	if focus <= 4 || cells[focus].Row != 4 || math.Abs(cells[focus].Width-cells[0].Width) > 1 {
		t.Errorf("the keys lead to cell %d, %+v of %+v", focus, cells[focus], cells[0])
	}
	if label := eval[string](w, `document.activeElement.getAttribute("aria-label")`); !strings.Contains(label, cells[focus].Name) || !strings.Contains(label, "ids save") {
		t.Errorf("a screen reader says %q", label)
	}
	w.do(chromedp.KeyEvent(kb.Escape))
	if again := w.cells(); again[focus].Width > again[0].Width-10 {
		t.Error("Escape does not come back")
	}
}
