package shell

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"ftracelab/internal/explain"
)

// Words in quotes are what is written into a file: a trigger, a filter or the definition of
// a probe. The name of the file usually comes only after them, so what is offered is
// everything that may stand there, of the event whose folder is the present one or whose
// file stands on the line, and else of all events.

// histWords are the parts of a hist trigger, and modifiers of its fields.
//
// Kernel: parse_assignment and parse_field, kernel/trace/trace_events_hist.c.
var (
	histWords = []string{"keys=", "values=", "sort=", "size=", "name=", "pause", "continue", "clear", "nohitcount"}
	histKinds = []string{"hex", "sym", "sym-offset", "execname", "syscall", "log2", "buckets=", "usecs", "percent", "graph", "stacktrace"}
)

// openQuote is the quote that is open at the end of a text; 0 if none is.
func openQuote(text string) byte {
	_, quote := scan(text)
	return quote
}

// wordStart is where the word at the end of a text begins, as the shell divides words, and
// whether it is in quotes. Then it begins behind the quote.
func wordStart(text string) (start int, inQuotes bool) {
	start, quote := scan(text)
	return start, quote != 0
}

func scan(text string) (start int, quote byte) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			} else if c == '\\' && quote == '"' {
				i++
			}
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			quote, start = c, i+1
		case strings.IndexByte(" \t\n;|&<>(=", c) >= 0:
			start = i + 1
		}
	}
	return min(start, len(text)), quote
}

// quotedStart is where the word before the cursor begins.
func quotedStart(text string) int { return strings.LastIndexAny(text, " \t'\"=:,.!&|()<>~") + 1 }

// quotedCandidates gives the words that may stand at the end of text, which is in quotes,
// if the word there begins with word.
func (e *completer) quotedCandidates(line, text, word string) []string {
	before := text[:len(text)-len(word)]
	open := strings.LastIndexAny(before, "'\"")
	inside := before[open+1:]
	last := byte(0)
	if inside != "" {
		last = inside[len(inside)-1]
	}
	hist := strings.HasPrefix(strings.TrimLeft(inside, "!"), "hist:")
	probe := probeDefinition.MatchString(inside)
	switch {
	case strings.Trim(inside, "!") == "":
		return slices.Concat(e.triggers(), e.fields(line, word))
	case probe && last == ':' && strings.Contains(inside[strings.LastIndexAny(inside, " \t")+1:], "="):
		return fetchTypes()
	case probe && last == ' ' && !strings.Contains(strings.TrimRight(inside, " "), " "):
		return e.functions()
	case hist && last == '.':
		return histKinds
	case hist && last == ':':
		return histWords
	}
	return append(e.fields(line, word), "hitcount")
}

// probeDefinition is the beginning of a probe's definition.
var probeDefinition = regexp.MustCompile(`^[prft]\d*(:[\w/]*)? `)

// triggers are the names that the file trigger of an event lists.
func (e *completer) triggers() (list []string) {
	text, err := e.sh.readFile(context.Background(), path.Join(tracing, "events/sched/sched_switch/trigger"))
	if err != nil {
		return nil
	}
	_, names, _ := strings.Cut(text, "# Available triggers:\n#")
	for _, name := range strings.Fields(names) {
		switch name {
		case "hist", "enable_event", "disable_event", "enable_hist", "disable_hist":
			name += ":"
		}
		list = append(list, name)
	}
	return list
}

// functions are those that can be traced.
func (e *completer) functions() []string {
	text, err := e.sh.readFile(context.Background(), path.Join(tracing, "available_filter_functions"))
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(text) {
		list = append(list, strings.Fields(line)[0])
	}
	return list
}

// fetchTypes are the types of a probe's arguments.
func fetchTypes() (list []string) {
	for _, row := range explain.OfKind("type") {
		for _, name := range append([]string{row.Name}, row.Also...) {
			if !strings.ContainsAny(name, "<% ") {
				list = append(list, strings.TrimPrefix(name, ":"))
			}
		}
	}
	return list
}

// fieldOf is a line of a file format.
var (
	fieldOf = regexp.MustCompile(`(?m)^\tfield:[^;]*?(\w+)(?:\[[^;]*)?;`)
	eventIn = regexp.MustCompile(`events/([\w:-]+)/([\w:-]+)/(?:filter|trigger|hist|format)`)
)

// fields are those of the event whose files the line names, or in whose folder the shell is;
// of all events if there is no such event and the word has begun.
func (e *completer) fields(line, word string) (list []string) {
	folder := strings.TrimPrefix(e.dir(), tracing+"/")
	if m := eventIn.FindStringSubmatch(line); m != nil {
		folder = "events/" + m[1] + "/" + m[2]
	}
	if list = e.fieldsIn(folder); list != nil || word == "" {
		return list
	}
	seen := map[string]bool{}
	systems, _ := e.sh.ns.readDir(path.Join(tracing, "events")) // none is nothing to offer
	for _, system := range systems {
		if !system.IsDir() {
			continue
		}
		events, _ := e.sh.ns.readDir(path.Join(tracing, "events", system.Name()))
		for _, event := range events {
			if !event.IsDir() {
				continue
			}
			for _, field := range e.fieldsIn(path.Join("events", system.Name(), event.Name())) {
				if strings.HasPrefix(field, word) {
					seen[field] = true
				}
			}
		}
	}
	return sortedKeys(seen)
}

// fieldsIn are the fields of the event of a folder; nil if there is none.
func (e *completer) fieldsIn(folder string) (list []string) {
	text, err := e.sh.readFile(context.Background(), path.Join(tracing, folder, "format"))
	if err != nil {
		return nil
	}
	for _, m := range fieldOf.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}
