// Package explain is the lab's dictionary: what a mark, column, option, file, tracer,
// clock, trigger, probe or error of ftrace means, in two or three sentences, with the
// kernel's function and a command to try. ftracelab explain and the shell's explain
// print it.
//
// The rows are plain text, one file of the folder rows for each kind. A row is a block of
// lines between empty ones: its name, its text, and lines that begin with a word and a
// colon.
//
//	overwrite
//	What a full buffer does with the next event …
//	Also: other words under which the row is found, with commas between them
//	Kernel: function, file; and others behind a semicolon
//	Try: a command of the lab's shell
//	Before: since which version it is there, and what was otherwise in older kernels
//
// Of an error, the command to try is one that is refused with it; cat error_log comes
// behind it by itself. What stands behind Before was looked up in the sources of the
// versions that it names, from 2.6.27 on.
package explain

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// Row says what one thing is.
type Row struct {
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	Also   []string `json:"also,omitempty"` // other words for it
	Text   string   `json:"text"`
	Kernel string   `json:"kernel"`        // functions and files of Linux 6.12
	Try    string   `json:"try,omitempty"` // a command of the shell; "": nothing shows it
	Before string   `json:"before"`        // since when it is there, and what it was in older kernels
}

//go:embed rows
var rows embed.FS

// kinds are the kinds in the order in which they are listed: the names of the files.
var kinds = []string{"mark", "option", "file", "tracer", "clock", "trigger", "hist", "probe", "type", "error", "field", "stat", "sysctl"}

// All gives the rows by kind, each kind in the order of its file. The caller must not
// change them.
var All = sync.OnceValue(func() (all []Row) {
	for _, kind := range kinds {
		text, err := rows.ReadFile("rows/" + kind + ".txt")
		if err != nil {
			panic("explain: invariant: " + err.Error())
		}
		for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
			all = append(all, parse(kind, block))
		}
	}
	return all
})

// parse reads one block.
func parse(kind, block string) Row {
	name, rest, _ := strings.Cut(block, "\n")
	r := Row{Kind: kind, Name: name}
	var text []string
	for line := range strings.SplitSeq(rest, "\n") {
		word, value, _ := strings.Cut(line, ": ")
		switch word {
		case "Also":
			r.Also = strings.Split(value, ", ")
		case "Kernel":
			r.Kernel = value
		case "Try":
			r.Try = value
		case "Before":
			r.Before = value
		default:
			text = append(text, line)
		}
	}
	r.Text = strings.Join(text, " ")
	if kind == "error" && r.Try != "" {
		r.Try += "; cat error_log"
	}
	return r
}

// Kinds gives the kinds of rows.
func Kinds() []string { return slices.Clone(kinds) }

// OfKind gives the rows of a kind, and all for "". An unknown kind has none.
func OfKind(kind string) (list []Row) {
	for _, r := range All() {
		if kind == "" || r.Kind == kind {
			list = append(list, r)
		}
	}
	return list
}

// Lookup gives the rows for a word: those of that name, or else those that are also
// called so, or else those of the last part of a path. "kind name" asks for one kind. An
// option may have its "no", and upper and lower case are the same if nothing is
// called exactly so. The flags of a line, such as d..1, give the row of the columns and
// that of each flag that is not a dot.
func Lookup(word string) []Row {
	word = strings.TrimSpace(word)
	for _, form := range []string{word, path.Base(word), strings.TrimPrefix(path.Base(word), "no")} {
		for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
			if list := named(form, same); len(list) > 0 {
				return list
			}
		}
	}
	return flags(word)
}

// flags gives the rows for the flag characters of a line, which are four or five.
func flags(word string) (list []Row) {
	columns := []struct{ name, characters string }{
		{"irqs-off", ".dbDX"},
		{"need-resched", ".NnpLl"},
		{"hardirq/softirq", ".hsHzZ"},
		{"preempt-depth", ".123456789abcdef"},
		{"migrate-disable", ".123456789abcdef"},
	}
	if len(word) < len(columns)-1 || len(word) > len(columns) {
		return nil
	}
	list = named("||||", strings.EqualFold)
	for n := range len(word) {
		if !strings.Contains(columns[n].characters, word[n:n+1]) {
			return nil
		}
		if word[n] != '.' {
			list = append(list, named("mark "+columns[n].name, strings.EqualFold)...)
		}
	}
	return list
}

func named(word string, same func(a, b string) bool) (list []Row) {
	for _, r := range All() {
		if same(r.Name, word) || same(r.Kind+" "+r.Name, word) || slices.ContainsFunc(r.Also, func(a string) bool { return same(a, word) }) {
			list = append(list, r)
		}
	}
	return list
}

// Near gives names that may be meant by a word that nothing is called: first those of
// which the word is a part, then those that differ in few letters, and those in whose text
// the word stands if there are no others. There are at most most.
func Near(word string, most int) []string {
	const longest = 64 // no name that is asked for is longer; an error's text is found by a part
	word = strings.ToLower(strings.TrimSpace(word))
	if word == "" || len(word) > longest {
		return nil
	}
	type candidate struct {
		name  string
		apart int
	}
	var near []candidate
	for _, r := range All() {
		for _, name := range append([]string{r.Name}, r.Also...) {
			lower := strings.ToLower(name)
			apart := 0
			if len(word) < 3 || !strings.Contains(lower, word) {
				apart = distance(word, lower)
			}
			if apart <= max(1, len(word)/3) && apart < len(word) {
				near = append(near, candidate{name, apart})
			}
		}
	}
	if len(near) == 0 {
		for _, r := range All() {
			if mentions(strings.ToLower(r.Text), word) {
				near = append(near, candidate{name: r.Name})
			}
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.apart - b.apart })
	var names []string
	for _, c := range near {
		if !slices.Contains(names, c.name) && len(names) < most {
			names = append(names, c.name)
		}
	}
	return names
}

// mentions reports whether a word stands in a text, and not as a part of a longer one.
func mentions(text, word string) bool {
	letter := func(at int) bool {
		return at >= 0 && at < len(text) && (text[at] == '_' || text[at] >= '0' && text[at] <= '9' || text[at] >= 'a' && text[at] <= 'z')
	}
	for at := 0; ; at++ {
		next := strings.Index(text[at:], word)
		if next < 0 {
			return false
		}
		if at += next; !letter(at-1) && !letter(at+len(word)) {
			return true
		}
	}
}

// distance is the number of bytes to put in, take out or change that makes a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// Unknown is the sentence for a word that nothing is called.
func Unknown(word string) string {
	if near := Near(word, 6); len(near) > 0 {
		return fmt.Sprintf("nothing is called %q; near it: %s", word, strings.Join(near, ", "))
	}
	return fmt.Sprintf("nothing is called %q; explain --list has all names", word)
}

// Names gives the names of all rows, each once.
func Names() (names []string) {
	for _, r := range All() {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}
