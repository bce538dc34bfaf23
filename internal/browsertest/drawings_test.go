package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// moments are steps of each scenario at which there is something to see.
var moments = []string{
	"event?step=last", "reserve-commit?step=6", "crossing?step=45", "overwrite?step=163", "swap?step=last",
	"nested?do=6i&step=12", "beside?do=0a.1a.2a.9a&step=10", "full?step=last", "storm?step=9000",
	"probe?step=8", "pool?step=last", "race?step=last", "shadow?step=12", "cookies?do=3n&step=last",
	"hist?step=9", "tracefs?step=13",
}

// measure looks at the drawings of the page: texts that leave their cell or the drawing, and
// the least contrast of a text with its cell.
const measure = `[...document.querySelectorAll("svg")].map(svg => {
  const wrong = [], box = svg.viewBox.baseVal;
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = getComputedStyle(svg).backgroundColor;
  let least = 99;
  for (const t of svg.querySelectorAll("text")) {
    if (!t.textContent.trim()) continue;
    const b = t.getBBox(), cell = t.parentElement.querySelector("rect");
    if (b.x + b.width > box.width || b.y + b.height > box.height) wrong.push("leaves the drawing: " + t.textContent);
    if (cell && t.parentElement !== svg) {
      const c = cell.getBBox();
      if (b.x < c.x || b.x + b.width > c.x + c.width + 1) wrong.push("leaves its cell: " + t.textContent);
    }
    const fill = cell && t.parentElement !== svg ? getComputedStyle(cell).fill : "none";
    const [x, y] = [light(getComputedStyle(t).fill), light(fill === "none" ? ground : fill)].sort((a, b) => b - a);
    least = Math.min(least, (x + .05) / (y + .05));
  }
  return { Name: svg.parentElement.dataset.name, Wrong: wrong.slice(0, 5), Least: least, Wide: box.width };
})`

// TestDrawings draws each view of each scenario, light and dark: no text leaves its cell or
// the drawing, and each can be read. With -pictures, sheets of them are kept to look at.
func TestDrawings(t *testing.T) {
	tab(t, look{1280, "light"}) // skips without a browser
	seen := map[string]bool{}
	for n, place := range moments {
		scenario, _, _ := strings.Cut(place, "?")
		seen[scenario] = true
		out, err := ftracelab("step", "--url", place, "--view", "nothing")
		if err == nil {
			t.Fatalf("there is a view called nothing: %s", out)
		}
		_, names, _ := strings.Cut(err.Error(), "there are ")
		var sheet strings.Builder
		views := strings.Split(strings.TrimSpace(names), ", ")
		if len(views) < 2 {
			t.Fatalf("%s: %v", place, err)
		}
		for _, view := range views {
			svg, err := ftracelab("step", "--url", place, "--view", view, "--format", "svg")
			if err != nil {
				t.Fatal(err)
			}

			fmt.Fprintf(&sheet, "<div data-name=%q style='margin:8px;display:inline-block;vertical-align:top'>%s</div>\n", scenario+" "+view, svg)
		}
		file := filepath.Join(folder, fmt.Sprintf("sheet%d.html", n))
		text := "<!doctype html><meta charset=utf-8><style>:root{color-scheme:light dark}svg{width:600px;height:auto}</style>" + sheet.String()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, l := range []look{{1280, "light"}, {1280, "dark"}} {
			w := tab(t, l)
			w.do(chromedp.Navigate("file://" + file))
			for _, d := range eval[[]struct {
				Name        string
				Wrong       []string
				Least, Wide float64
			}](w, measure) {
				for _, wrong := range d.Wrong {
					t.Errorf("%s %s: %s", d.Name, l.scheme, wrong)
				}
				if d.Least < contrast {
					t.Errorf("%s %s: contrast %.2f", d.Name, l.scheme, d.Least)
				}
				if d.Wide > 1800 {
					t.Errorf("%s is %.0f wide", d.Name, d.Wide)
				}
			}
			w.picture("sheet-"+scenario, l)
		}
	}
	out, err := ftracelab("step", "--list")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if name := strings.Fields(line)[0]; !seen[name] {
			t.Errorf("nothing of %s is looked at", name)
		}
	}
}
