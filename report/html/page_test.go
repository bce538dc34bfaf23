package html

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ftracelab/report"
)

// largest is how many bytes a page of one report may have.
const largest = 1_200_000

// TestPage reads the pages as a browser and a screen reader do.
func TestPage(t *testing.T) {
	two := write(t, estimate(t, true, report.Options{Path: "a.dat"}), estimate(t, false, report.Options{Path: "b.dat", Bits: 12}))
	t.Run("captures", func(t *testing.T) { checkPage(t, two, 2) })
	t.Run("fleet", func(t *testing.T) { checkPage(t, writeFleet(t, fleet(t, 9)), 1) })
	t.Run("experiment", func(t *testing.T) { checkPage(t, writeExperiment(t, outcome(t)), 1) })
}

// checkPage looks at a page with so many articles.
func checkPage(t *testing.T, text string, articles int) {
	t.Helper()
	if len(text) > largest {
		t.Errorf("the page has %d bytes", len(text))
	}
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	count, ids := map[atom.Atom]int{}, map[string]bool{}
	for n := range doc.Descendants() {
		count[n.DataAtom]++
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("two elements have the id %s", id)
			}
			ids[id] = true
		}
	}
	for a, want := range map[atom.Atom]int{atom.H1: 1, atom.Header: 1, atom.Main: 1, atom.Footer: 1, atom.Article: articles, atom.Nav: articles} {
		if count[a] != want {
			t.Errorf("%d <%s> on the page, want %d", count[a], a, want)
		}
	}
	level := 0
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			checkElement(t, n, ids)
		}
		if l := slices.Index([]atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4}, n.DataAtom) + 1; l > 0 {
			if l > level+1 {
				t.Errorf("the heading %q has level %d after one of level %d", inside(n), l, level)
			}
			level = l
		}
	}
}

// checkElement looks at one element: it loads nothing, and people who do not see it know
// what it is.
func checkElement(t *testing.T, n *html.Node, ids map[string]bool) {
	for _, a := range n.Attr {
		switch a.Key {
		case "href":
			if id, here := strings.CutPrefix(a.Val, "#"); !here || !ids[id] {
				t.Errorf("a link to %s", a.Val)
			}
		case "aria-labelledby":
			if !ids[a.Val] {
				t.Errorf("<%s> has its label from %s, which is nowhere", n.Data, a.Val)
			}
		case "src", "srcset", "data", "action", "background", "poster", "xlink:href", "style":
			t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
		}
		if strings.HasPrefix(a.Key, "on") {
			t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
		}
	}
	named := attr(n, "aria-label") != "" || attr(n, "aria-labelledby") != ""
	switch n.DataAtom {
	case atom.Section, atom.Article, atom.Nav:
		if !named {
			t.Errorf("a <%s> without a name: %.60q", n.Data, inside(n))
		}
	case atom.Table:
		if first := child(n, 0); first == nil || first.DataAtom != atom.Caption || inside(first) == "" {
			t.Errorf("a table without a caption: %.60q", inside(n))
		}
		if box := n.Parent; attr(box, "class") != "scroll" || attr(box, "tabindex") != "0" || attr(box, "aria-label") == "" {
			t.Errorf("a table that cannot be scrolled in a box of its own: %.60q", inside(n))
		}
	case atom.Th:
		if attr(n, "scope") == "" || inside(n) == "" {
			t.Errorf("a head %q that is not one of a row or a column", inside(n))
		}
	case atom.Svg:
		if n.Parent.DataAtom != atom.Svg && attr(n, "aria-hidden") == "" && !named {
			t.Errorf("a drawing without a text: %.60q", inside(n))
		}
	case atom.Input:
		if n.Parent.DataAtom != atom.Label {
			t.Errorf("an input without a label after %.60q", inside(n.Parent))
		}
	}
	if attr(n, "role") == "img" && !named {
		t.Errorf("an image without a text: %.60q", inside(n))
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// child is element number i below n.
func child(n *html.Node, at int) *html.Node {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode {
			if at == 0 {
				return c
			}
			at--
		}
	}
	return nil
}

// inside is the text in an element.
func inside(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// TestAssumed: what the answer depends on stands before the first figure.
func TestAssumed(t *testing.T) {
	r := estimate(t, false, report.Options{})
	r.Input.Losses, r.Input.Lost = 3, 1234
	text := write(t, r)
	lost, figures := strings.Index(text, "Events are missing from the trace in 3 places (1,234 known to be lost)"), strings.Index(text, `class="facts"`)
	if lost < 0 || lost > figures {
		t.Errorf("the loss stands at %d, the figures at %d", lost, figures)
	}
	if !strings.Contains(text, "stackmap needs the stackmap patches") {
		t.Error("the page does not say what the answer needs")
	}
}
