package shell

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ftracelab/internal/explain"
	"ftracelab/internal/plain"
)

const (
	keyTab   = '\t'
	keyCtrlR = 18
	// offered is how many names are listed when several are meant.
	offered = 60
)

// lineEditor is what Tab and Ctrl-R do to the line.
type lineEditor struct {
	sh  *Shell
	dir func() string
	say func(string) // prints above the line
	// The search of Ctrl-R: what was typed, the line that was found and which one it is.
	sought, found string
	at            int
}

// key is called for each key that the terminal does not handle itself.
func (e *lineEditor) key(line string, pos int, key rune) (newLine string, newPos int, ok bool) {
	switch key {
	case keyTab:
		return e.complete(line, pos)
	case keyCtrlR:
		next := e.at + 1
		if line != e.found || line == "" {
			e.sought, next = line, 0
		}
		if text, at, ok := e.sh.history.before(next, e.sought); ok {
			e.found, e.at = text, at
			return text, len(text), true
		}
		return line, pos, true
	}
	return "", 0, false
}

// complete completes the word before the cursor as far as it is certain. If nothing more
// is certain, it lists what may be meant.
func (e *lineEditor) complete(line string, pos int) (string, int, bool) {
	start := strings.LastIndexAny(line[:pos], " \t;|&<>('\"=") + 1
	inQuotes := quoted(line[:pos])
	if inQuotes {
		start = quotedStart(line[:pos])
	}
	word := line[start:pos]
	var list []string
	if inQuotes {
		list = e.quotedCandidates(line, line[:pos], word)
	} else {
		list = e.candidates(strings.TrimLeft(line[:start], " \t"), word)
	}
	list = slices.DeleteFunc(list, func(name string) bool { return !strings.HasPrefix(name, word) || plain.String(name) != name })
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return line, pos, true
	}
	certain := list[0]
	for _, name := range list {
		for !strings.HasPrefix(name, certain) {
			certain = certain[:len(certain)-1]
		}
	}
	if len(list) == 1 && !strings.HasSuffix(certain, "/") && !inQuotes {
		certain += " "
	}
	if certain == word {
		more := ""
		if len(list) > offered {
			more = fmt.Sprintf(" … and %d more", len(list)-offered)
		}
		e.say(strings.Join(list[:min(len(list), offered)], "  ") + more + "\n")
	}
	return line[:start] + certain + line[pos:], start + len(certain), true
}

// candidates gives the names that may stand behind what is typed before: a command, a
// thing to explain, a file, and if no file is meant, a name that files of the tree list.
func (e *lineEditor) candidates(before, word string) (list []string) {
	before = strings.TrimRight(before, " \t")
	first := before == "" || strings.ContainsAny(before[len(before)-1:], ";|&(")
	switch {
	case first && !strings.Contains(word, "/"):
		return append(sortedKeys(e.sh.commands), "cd", "read", "exec", "export", "jobs", "wait")
	case before == "explain" || before == "man":
		return explain.Names()
	}
	folder := word[:strings.LastIndexByte(word, '/')+1]
	entries, err := e.sh.ns.readDir(absolute(e.dir(), folder))
	for _, entry := range entries {
		name := folder + entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		if strings.HasPrefix(name, word) {
			list = append(list, name)
		}
	}
	if len(list) > 0 || err != nil || word == "" {
		return list
	}
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
