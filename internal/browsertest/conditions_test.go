package browsertest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tabTo presses Tab until the keyboard is at what an expression about e says.
func (w *window) tabTo(is string) {
	w.t.Helper()
	for range 80 {
		if eval[bool](w, fmt.Sprintf("(e => e && e !== document.body && (%s))(document.activeElement)", is)) {
			return
		}
		w.press(kb.Tab)
	}
	w.t.Fatalf("Tab does not lead to what has %s", is)
}

// button is the expression of tabTo for a button with that text.
func button(text string) string {
	return fmt.Sprintf("e.tagName === 'BUTTON' && e.textContent.trim() === %s", quoted(text))
}

// printedPlace is the place that step prints.
var printedPlace = regexp.MustCompile(`(?m)^Place: (\S+)$`)

// steps runs step and returns the place that it comes to.
func steps(t *testing.T, args ...string) string {
	t.Helper()
	out, err := ftracelab(append([]string{"step"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	m := printedPlace.FindSubmatch(out)
	if m == nil {
		t.Fatalf("step %q prints no place:\n%s", args, out)
	}
	return string(m[1])
}

// TestConditions goes to the step of which a condition holds, forwards and back, and lets
// the page find choices that lead to one, by the keyboard alone and in narrow windows as
// well. It comes to the places that step comes to in a terminal.
func TestConditions(t *testing.T) {
	for _, l := range []look{{1280, "light"}, {400, "dark"}} {
		t.Run(fmt.Sprint(l.width), func(t *testing.T) {
			w := lab(t, "step/overwrite?step=0", l)
			ask := func(condition, press string) {
				t.Helper()
				w.tabTo("e.id === 'kind'")
				eval[any](w, "document.activeElement.select(); true")
				w.do(chromedp.KeyEvent(condition))
				w.tabTo(button(press))
				w.press(kb.Enter)
			}
			comes := func(to string) {
				t.Helper()
				w.until(fmt.Sprintf("document.getElementById('line').textContent.includes(%s)", quoted("'"+to+"'")))
				if said := w.text(".said"); said != "" {
					t.Errorf("at %s the page says %q", to, said)
				}
			}
			ask("overrun >= 3", "after")
			first := steps(t, "overwrite", "--until", "overrun >= 3")
			comes(first)
			ask("irq and page-end", "after")
			w.until(`document.querySelector(".said").textContent.includes("holds at no step after")`)
			ask("reader", "after")
			second := steps(t, "--url", first, "--until", "reader")
			comes(second)
			ask("task and says point A", "before")
			comes(steps(t, "--url", second, "--until", "task and says point A", "--back"))
			ask("nonsense", "after")
			w.until(`document.querySelector(".said").textContent.includes("it is a kind of step")`)
			ask("writers = many", "after")
			w.until(`document.querySelector(".said").textContent.includes("is not a number")`)

			// Find, and what it says if there is no way.
			w.tabTo("e.id === 'scenario'")
			eval[any](w, `location.hash = "#step/beside?step=0"; true`)
			comes("beside?step=0&v=1")
			ask("swap-fails", "Find choices that lead to one")
			comes(steps(t, "beside", "--find", "swap-fails"))
			if got := w.text(".chosen"); !strings.Contains(got, "reader step") {
				t.Errorf("what was chosen is %q", got)
			}
			ask("hit", "Find choices that lead to one")
			w.until(`document.querySelector(".said").textContent !== "" && document.querySelector(".busy").hidden`)

			// The lines and the invariants, chosen by keys; what shows the same lights up in both.
			eval[any](w, `location.hash = "#step/nested?do=6i&step=12"; true`)
			comes("nested?do=6i&step=12&v=1")
			for _, view := range []string{"algorithm", "invariants"} {
				w.tabTo(fmt.Sprintf("e.type === 'checkbox' && e.parentElement.textContent.trim() === %q", view))
				w.press(" ")
				w.until(fmt.Sprintf(`[...document.querySelectorAll(".pictures section")].some(s => s.ariaLabel === %q)`, view))
			}
			w.tabTo("e.classList.contains('picture') && e.parentElement.ariaLabel === 'algorithm'")
			lit := func() []string {
				t.Helper()
				return eval[[]string](w, `[...document.querySelectorAll(".pictures section")].filter(s => s.querySelector(".picture")?.shadowRoot.querySelector(".lit")).map(s => s.ariaLabel)`)
			}
			together := false
			for range 100 {
				w.press(".")
				if got := lit(); len(got) > 1 && strings.Contains(strings.Join(got, " "), "page") {
					together = true
					break
				}
			}
			if !together {
				t.Errorf("nothing of the lines lights up in the page as well; lit is %q", lit())
			}
			if got := w.text(".about"); !strings.Contains(got, "page 1 from 0 on, page 1 from 8 on: at this step") {
				t.Errorf("the page says %q of it", got)
			}
			if got := eval[int64](w, "document.scrollingElement.scrollWidth"); got > l.width {
				t.Errorf("the page is %d wide", got)
			}
			for _, s := range eval[[]string](w, nameless) {
				t.Errorf("has no name: %s", s)
			}
			w.axe()
			w.picture("conditions", l)
			w.quiet()
		})
	}
}
