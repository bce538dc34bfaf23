package explain

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var kernelPlace = regexp.MustCompile(`^[A-Za-z_0-9]+, [a-z0-9_/]+\.[ch]( \(as patched\))?$`)

// TestRows: each row has a text of whole sentences and the kernel's places, and is
// found by its name.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		id := r.Kind + " " + r.Name
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if !strings.HasSuffix(r.Text, ".") || strings.Count(r.Text, ". ") > 5 {
			t.Errorf("%s: text %q", id, r.Text)
		}
		for place := range strings.SplitSeq(r.Kernel, "; ") {
			if !kernelPlace.MatchString(place) {
				t.Errorf("%s: kernel %q", id, place)
			}
		}
		for _, word := range append([]string{r.Name, id}, r.Also...) {
			if !slices.ContainsFunc(Lookup(word), func(x Row) bool { return x.Kind == r.Kind && x.Name == r.Name }) {
				t.Errorf("%s is not found by %q", id, word)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for word, want := range map[string]string{
		"options/overwrite": "option overwrite", "nooverwrite": "option overwrite", "events/sched/sched_switch/format": "file format",
		"OVERWRITE": "option overwrite", "TRACE_FLAG_NMI": "field common_flags", "kernel.ftrace_enabled": "sysctl ftrace_enabled",
		"Field not found": "error Field not found", "D": "mark irqs-off", "trigger snapshot": "trigger snapshot", "nothing such": "",
	} {
		got := ""
		if list := Lookup(word); len(list) > 0 {
			got = list[0].Kind + " " + list[0].Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if n := len(Lookup("stacktrace")); n != 2 { // the option and the trigger
		t.Errorf("stacktrace has %d rows", n)
	}
}

func TestNear(t *testing.T) {
	for word, want := range map[string]string{"overwritte": "overwrite", "funcgraph-prok": "funcgraph-proc", "curent_tracer": "current_tracer", "wakup": "wakeup", "too big": "Maxactive is too big"} {
		if got := Near(word, 6); !slices.Contains(got, want) {
			t.Errorf("%q: %q", word, got)
		}
	}
	if got := Near("zzzzzzzzzz", 6); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d", c.a, c.b, got)
		}
	}
}

// TestWidth: text keeps to the width, except for commands and words that are longer.
func TestWidth(t *testing.T) {
	for _, columns := range []int{20, 40, 80, 100} {
		var b strings.Builder
		if err := Write(&b, All(), columns); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			text := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "  Try: ")
			if text && utf8.RuneCountInString(line) > columns && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, word := range []string{"overwrite", "", "no", "/", "options/", "\x1b[2J", "\u202e", strings.Repeat("a", 100)} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		Lookup(word)
		if near := Near(word, 6); len(near) > 6 {
			t.Errorf("%q: %d near", word, len(near))
		}
		if text := Unknown(word); strings.ContainsRune(text, '\x1b') {
			t.Errorf("%q", text)
		}
	})
}
