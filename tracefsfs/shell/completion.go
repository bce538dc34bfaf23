package shell

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"ftracelab/internal/explain"
	"ftracelab/internal/plain"
)

// completer is what Tab does to the line of a session.
type completer struct {
	sh   *Shell
	dir  func() string
	vars func() []string
}

// A guess is what may stand in place of a word.
type guess struct {
	text string // as it stands in the line
	name string // as it is listed: of a file, what follows the last slash
}

// complete completes the word before the cursor as far as it is certain. If nothing more
// is certain, it lists what may be meant.
func (e *completer) complete(line string, pos int) (newLine string, newPos int, list []string) {
	start, inQuotes := wordStart(line[:pos])
	word := line[start:pos]
	guesses := e.guesses(line, start, pos, inQuotes)
	guesses = slices.DeleteFunc(guesses, func(g guess) bool { return !strings.HasPrefix(g.text, word) || plain.String(g.text) != g.text })
	slices.SortFunc(guesses, func(a, b guess) int { return strings.Compare(a.text, b.text) })
	guesses = slices.CompactFunc(guesses, func(a, b guess) bool { return a.text == b.text })
	if len(guesses) == 0 {
		return line, pos, nil
	}
	certain := guesses[0].text
	for _, g := range guesses {
		for !strings.HasPrefix(g.text, certain) {
			_, n := utf8.DecodeLastRuneInString(certain)
			certain = certain[:len(certain)-n]
		}
		list = append(list, g.name)
	}
	if len(guesses) == 1 && !strings.HasSuffix(certain, "/") && !inQuotes {
		certain += " "
	}
	rest := line[pos:]
	if strings.HasSuffix(certain, " ") && strings.HasPrefix(rest, " ") {
		rest = rest[1:]
	}
	return line[:start] + certain + rest, start + len(certain), list
}

// guesses is what may stand in place of the word of a line from start to pos.
func (e *completer) guesses(line string, start, pos int, inQuotes bool) []guess {
	word, before := line[start:pos], strings.Trim(line[:start], " \t")
	if inQuotes {
		open := quotedStart(line[:pos])
		if names := e.files(word); len(names) > 0 && strings.HasSuffix(line[:start], string(openQuote(line[:pos]))) && word != "" {
			return e.escaped(names, openQuote(line[:pos]))
		}
		var list []guess
		for _, name := range e.quotedCandidates(line, line[:pos], line[open:pos]) {
			list = append(list, guess{line[start:open] + name, name})
		}
		return list
	}
	switch first := before == "" || strings.ContainsAny(before[len(before)-1:], ";|&(") || startsCommand(before); {
	case strings.HasPrefix(word, "$"):
		return named(e.vars(), "$")
	case first && !strings.Contains(word, "/"):
		return named(append(sortedKeys(e.sh.commands), "cd", "read", "exec", "export", "jobs", "wait"), "")
	case before == "explain" || before == "man":
		return named(explain.Names(), "")
	}
	names := e.files(unescaped(word))
	if lastWord(before) == "cd" {
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, "/") })
	}
	if len(names) > 0 || word == "" {
		return e.escaped(names, 0)
	}
	return named(e.things(), "")
}

// named are guesses that are listed as they stand in the line.
func named(names []string, sign string) (list []guess) {
	for _, name := range names {
		list = append(list, guess{sign + name, name})
	}
	return list
}

// startsCommand: does a command follow the last word?
func startsCommand(before string) bool {
	return slices.Contains([]string{"do", "then", "else", "elif", "if", "while", "until", "!", "{", "time", "timeout", "watch", "xargs", "type", "command"}, lastWord(before))
}

func lastWord(text string) string { return text[strings.LastIndexAny(text, " \t;|&(")+1:] }

// files are the names of files that begin with a word; folders end with a slash. Those
// that begin with a dot have to be asked for.
func (e *completer) files(word string) (names []string) {
	folder := word[:strings.LastIndexByte(word, '/')+1]
	entries, _ := e.sh.ns.readDir(absolute(e.dir(), folder)) // no folder has no files
	for _, entry := range entries {
		name := folder + entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		if strings.HasPrefix(name, word) && plain.String(name) == name && (entry.Name()[0] != '.' || word != folder) {
			names = append(names, name)
		}
	}
	return names
}

// escaped are files as they are written in a line: in quotes, or with a backslash before
// what the shell would take for something else.
func (e *completer) escaped(names []string, quote byte) (list []guess) {
	special := " \t\\'\"`$&|;<>()*?[]#~!{}"
	switch quote {
	case '"':
		special = "\\\"`$"
	case '\'':
		special = ""
	}
	for _, name := range names {
		var b strings.Builder
		for _, r := range name {
			if strings.ContainsRune(special, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		short := path.Base(name)
		if strings.HasSuffix(name, "/") {
			short += "/"
		}
		list = append(list, guess{b.String(), short})
	}
	return list
}

// unescaped is a word without its backslashes.
func unescaped(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+1 < len(word) {
			i++
		}
		b.WriteByte(word[i])
	}
	return b.String()
}

// things are what the files of the tree list: options, tracers, events and functions.
func (e *completer) things() (list []string) {
	options, _ := e.sh.ns.readDir(path.Join(tracing, "options")) // none is nothing to offer
	for _, option := range options {
		list = append(list, option.Name())
	}
	for _, name := range []string{"available_tracers", "available_events", "available_filter_functions"} {
		text, err := e.sh.readFile(context.Background(), path.Join(tracing, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			list = append(list, strings.Fields(line)...)
		}
	}
	return list
}
