package html

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"ftracelab/report"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// trace is a source of n events with a stack each, and user stacks if user is set.
type trace struct {
	n, at int
	user  bool
	queue []record.Record
}

func (s *trace) Next(r *record.Record) error {
	if len(s.queue) == 0 {
		if s.at == s.n {
			return io.EOF
		}
		s.event()
	}
	*r = s.queue[0]
	s.queue = s.queue[1:]
	return nil
}

func (s *trace) event() {
	c := event.Common{Type: 400, PID: 7}
	data := make([]byte, 56)
	c.Put(data)
	base := record.Record{CPU: s.at % 2, Time: uint64(5000 * (s.at + 1)), Common: c}
	e, k, u := base, base, base
	e.Data = data
	k.Kind, u.Kind = record.KernelStack, record.UserStack
	for i := range 4 + s.at%29 {
		k.Stack = append(k.Stack, uint64(s.at%41)<<8+uint64(i))
	}
	u.Stack = []uint64{1, 2, uint64(s.at % 5)}
	s.queue = append(s.queue, e, k)
	if s.user {
		s.queue = append(s.queue, u)
	}
	s.at++
}

func estimate(t *testing.T, user bool, opt report.Options) *report.Report {
	t.Helper()
	r, err := report.Estimate(t.Context(), &trace{n: 3000, user: user}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, reports ...*report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, &report.Document{Reports: reports}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestOffline: the page loads nothing, and says so to the browser.
func TestOffline(t *testing.T) {
	page := write(t, estimate(t, true, report.Options{Path: "a.dat"}))
	if m := regexp.MustCompile(`(?i)https?:|//[a-z0-9]+\.[a-z]|<link|<img|<iframe|<object|@import|url\(|src=`).FindString(page); m != "" {
		t.Errorf("the page has %q in it", m)
	}
	if !strings.Contains(page, `default-src &#39;none&#39;; script-src &#39;sha256-`) && !strings.Contains(page, `default-src 'none'; script-src 'sha256-`) {
		t.Error("no content security policy")
	}
}

// TestSame: the same reports give the same page, two of them two sets of charts.
func TestSame(t *testing.T) {
	a, b := estimate(t, true, report.Options{Path: "a.dat"}), estimate(t, false, report.Options{Path: "b.dat"})
	one, two := write(t, a, b), write(t, a, b)
	if one != two {
		t.Error("the same reports twice give two pages")
	}
	page := one
	ids := regexp.MustCompile(`id="(chart-[^"]+)"`).FindAllStringSubmatch(page, -1)
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id[1]] {
			t.Errorf("two charts have the id %s", id[1])
		}
		seen[id[1]] = true
		if !strings.Contains(page, "\n\""+id[1]+"\": {") {
			t.Errorf("nothing is drawn at %s", id[1])
		}
	}
	for _, id := range []string{
		"chart-0-retained", "chart-0-bytes", "chart-0-sweep", "chart-0-depths", "chart-0-growth", "chart-0-user-growth",
		"chart-1-retained", "chart-1-bytes", "chart-1-sweep", "chart-1-depths", "chart-1-growth",
	} {
		if !seen[id] {
			t.Errorf("no chart %s", id)
		}
	}
	if n := strings.Count(page, "<table>"); n < len(seen) {
		t.Errorf("%d tables for %d charts", n, len(seen))
	}
}

// TestHostileNames: what a capture says is text, not markup and not script.
func TestHostileNames(t *testing.T) {
	const bad = `</script><script>alert(1)</script>&#34;,x:alert(2),"`
	d, err := record.NamedDesign("stackmap", 14, 0)
	if err != nil {
		t.Fatal(err)
	}
	full := d
	full.Name, full.Kernel = bad, record.FullStack
	r := estimate(t, false, report.Options{Path: bad, Format: bad, Caveats: []string{bad}, Designs: []record.Design{full, d}})
	page := write(t, r)
	if n := strings.Count(page, "<script"); n != 3 {
		t.Errorf("%d scripts on the page, want the charts', the page's and the sliders' numbers", n)
	}
	if strings.Contains(page, `",x:alert(2)`) {
		t.Error("a name ends its string")
	}
}

// TestEmpty: a trace of nothing, or without stacks, is a page too.
func TestEmpty(t *testing.T) {
	r, err := report.Estimate(t.Context(), &trace{}, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if page := write(t, r); !strings.Contains(page, "no events") {
		t.Error("the page does not say that there are no events")
	}
}
