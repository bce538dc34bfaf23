package explain

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var kernelPlace = regexp.MustCompile(`^[A-Za-z_0-9]+, [a-z0-9_/]+\.[ch]( \(as patched\))?$`)

// noExample are the rows whose thing cannot be made to show in the lab's shell, and why.
var noExample = map[string]string{
	"mark ==========>":            "no function where an interrupt enters can be traced on x86-64",
	"option userstacktrace_delay": "needs a machine with deferred user stacks",

	"error Too many terms in predicate expression":                 "a guard of the kernel's own count",
	"error Only 'ip' field is supported for function trace":        "only perf sets that filter",
	"error No filter found":                                        "an empty text takes the filter away before",
	"error Too many field variables defined":                       "Too many action params comes first",
	"error Couldn't find synthetic variable":                       "the kernel has made it just before",
	"error Not a regular file":                                     "the machine has no files of programs",
	"error Invalid reference counter offset":                       "the machine has no files of programs",
	"error Reference counter brace is not closed":                  "the machine has no files of programs",
	"error Reference counter has wrong suffix":                     "the machine has no files of programs",
	"error Invalid uprobe offset":                                  "the machine has no files of programs",
	"error Invalid file offset value":                              "the machine has no files of programs",
	"error Symbol is not available with uprobe":                    "the machine has no files of programs",
	"error $arg* failed because the argument list is too long":     "no function has so many arguments",
	"error Non pointer structure/union argument is not supported.": "no function of the model has such an argument",
	"error Failed to get BTF type info.":                           "the model's types are whole",
}

// kernelVersion is a version of Linux: 2.6.27 is the first with ftrace, and 6.17 the last
// of which a row tells.
var kernelVersion = regexp.MustCompile(`\b(2\.6\.(2[7-9]|3[0-9])|[3-6]\.[0-9]{1,2})\b`)

// noRelease are the rows of things that no release of Linux has: they say just that.
var noRelease = map[string]bool{
	"option stackmap": true, "file stack_map": true, "file stack_map_bin": true, "file stack_map_stat": true,
	"stat table_size": true, "stat successes": true, "stat drops": true,
}

var sentenceEnd = regexp.MustCompile(`[.?!]( |$)`)

// TestRows: each row has a text of whole sentences and the kernel's places, and is
// found by its name.
func TestRows(t *testing.T) {
	seen, used := map[string]bool{}, map[string]bool{}
	for _, r := range All() {
		id := r.Kind + " " + r.Name
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if !strings.HasSuffix(r.Text, ".") || strings.Count(r.Text, ". ") > 5 {
			t.Errorf("%s: text %q", id, r.Text)
		}
		if n := len(sentenceEnd.FindAllString(r.Text, -1)); n < 2 {
			t.Errorf("%s: %d sentence: %q", id, n, r.Text)
		}
		if without := noExample[id] != ""; without != (r.Try == "") {
			t.Errorf("%s: the example is %q, and %q says why there is none", id, r.Try, noExample[id])
		}
		if !kernelVersion.MatchString(r.Before) && !noRelease[id] {
			t.Errorf("%s: no version in what it says of older kernels: %q", id, r.Before)
		}
		for place := range strings.SplitSeq(r.Kernel, "; ") {
			if !kernelPlace.MatchString(place) {
				t.Errorf("%s: kernel %q", id, place)
			}
		}
		used[id] = true
		for _, word := range append([]string{r.Name, id}, r.Also...) {
			if !slices.ContainsFunc(Lookup(word), func(x Row) bool { return x.Kind == r.Kind && x.Name == r.Name }) {
				t.Errorf("%s is not found by %q", id, word)
			}
		}
	}
	for id := range noExample {
		if !used[id] {
			t.Errorf("%s is no row", id)
		}
	}
}

func TestLookup(t *testing.T) {
	for word, want := range map[string]string{
		"options/overwrite": "option overwrite", "nooverwrite": "option overwrite", "events/sched/sched_switch/format": "file format",
		"OVERWRITE": "option overwrite", "TRACE_FLAG_NMI": "field common_flags", "kernel.ftrace_enabled": "sysctl ftrace_enabled",
		"Field not found": "error Field not found", "D": "mark irqs-off", "trigger snapshot": "trigger snapshot", "nothing such": "",
		"d..1": "mark ||||", "dNh2": "mark ||||", ".....": "mark ||||", "dead": "", "d..g": "", "0*": "file enable", "^": "mark ^",
		"EBUSY": "file trace_pipe", "execname": "hist .modifier", "onchange": "hist onmax", "%ax": "probe %register",
	} {
		got := ""
		if list := Lookup(word); len(list) > 0 {
			got = list[0].Kind + " " + list[0].Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if n := len(Lookup("d.h1")); n != 4 { // the columns, and three flags
		t.Errorf("d.h1 has %d rows", n)
	}
	if n := len(Lookup("stacktrace")); n != 2 { // the option and the trigger
		t.Errorf("stacktrace has %d rows", n)
	}
}

func TestNear(t *testing.T) {
	for word, want := range map[string]string{"overwritte": "overwrite", "funcgraph-prok": "funcgraph-proc", "curent_tracer": "current_tracer", "wakup": "wakeup", "too big": "Maxactive is too big", "comm": "$comm", "latency": "tracing_max_latency", "sched_switch": "=>", "trace-cmd": "trace_pipe_raw"} {
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
