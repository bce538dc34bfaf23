package html

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"ftracelab/report"
)

// elements are those that a page has of itself.
var elements = regexp.MustCompile(`^/?(?:!DOCTYPE|html|head|meta|title|style|body|header|nav|main|article|section|details|summary|footer|script|h1|h2|h3|p|a|label|input|output|button|div|b|strong|span|bdi|table|caption|thead|tbody|tr|th|td|ol|ul|li|svg|rect|text|code)(?:[ />]|$)`)

// FuzzHostile writes a page of a report with any strings: they are no markup, end no
// string and no script, and the charts' options stay JSON. The number of tags is that
// of a page with harmless names.
func FuzzHostile(f *testing.F) {
	r, err := report.Estimate(context.Background(), &trace{n: 60, user: true}, report.Options{})
	if err != nil {
		f.Fatal(err)
	}
	page := func(t testing.TB, path, name, text string) string {
		r := *r
		r.Input.Path, r.Input.Format, r.Caveats, r.Recommendation.Why = path, name, []string{text, path}, text
		r.Designs = append([]report.Result(nil), r.Designs...)
		for i := range r.Designs {
			r.Designs[i].Name = name
		}
		r.TopStacks = append([]report.TopStack(nil), r.TopStacks...)
		for i := range r.TopStacks {
			r.TopStacks[i].Frames = []string{name, path, text}
		}
		var b strings.Builder
		if err := Write(&b, &report.Document{Reports: []*report.Report{&r}}); err != nil {
			t.Fatal(err)
		}
		own, _, _ := strings.Cut(b.String(), `<script type="text/plain"`)
		_, script, _ := strings.Cut(b.String(), "<script>")
		return own + strings.NewReplacer(flameJS, "", whatIfJS, "").Replace(script) // these compare with <
	}
	tags := strings.Count(page(f, "x", "x", "x"), "<")
	f.Add("</script><script>alert(1)</script>", `&#34;,x:alert(2),"`, "\x1b[31m\u202e")
	f.Add("<!--<script>", "]]>", "{{.}}`${x}\u2028")
	f.Fuzz(func(t *testing.T, path, name, text string) {
		if path == "" || name == "" || text == "" {
			return // the page leaves out what is empty
		}
		p := page(t, path, name, text)
		for i, part := range strings.Split(p, "<") {
			if i > 0 && !elements.MatchString(part) {
				t.Errorf("a tag <%.60q", part)
			}
		}
		if n := strings.Count(p, "<"); n != tags {
			t.Errorf("%d tags, %d on a page with harmless names", n, tags)
		}
		for _, r := range p {
			if r != '\n' && r != '\t' && (r < ' ' || 0x7e < r && r < 0xa0 || 0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069) {
				t.Errorf("%U is on the page", r)
			}
		}
		_, options, found := strings.Cut(p, "var options = ")
		options, _, ended := strings.Cut(options, "\n};\n")
		if !found || !ended {
			t.Fatal("no options")
		}
		options = strings.TrimSuffix(strings.TrimSpace(options), ",") + "}"
		if !json.Valid([]byte(options)) {
			t.Errorf("the charts' options are no JSON: %.2000s", options)
		}
	})
}
