package lineedit

import (
	"cmp"
	"strings"
)

// search looks for a text in the history while that is typed.
type search struct {
	on     bool
	way    int    // 1 to older lines, -1 to newer ones
	text   string // what is looked for
	at     int    // the line that was found; -1 is the new one
	failed bool
	last   string // what was looked for the time before
	from   version
	back   int
}

func (s *search) prompt() string {
	name := "(reverse-i-search)`"
	if s.way < 0 {
		name = "(i-search)`"
	}
	if s.failed {
		name = "(failed " + name[1:]
	}
	return name + s.text + "': "
}

// startSearch begins with nothing to look for. Ctrl-R again then takes what stands in the
// line, or what was looked for the time before.
func (e *Editor) startSearch(way int) {
	e.search = search{on: true, way: way, at: e.back, last: e.search.last, from: version{e.text, e.pos}, back: e.back}
}

// searching acts on a key of a search. Any other key ends the search and acts on the line
// that was found; false then.
func (e *Editor) searching(k key) bool {
	s := &e.search
	switch {
	case k == ctrl('R') || k == ctrl('S'):
		s.way = 1
		if k == ctrl('S') {
			s.way = -1
		}
		if s.text != "" {
			e.find(s.at + s.way)
		} else if s.text = cmp.Or(s.from.text, s.last); s.text != "" {
			e.find(s.back + s.way)
		}
	case k == ctrl('G'):
		e.text, e.pos, s.at = s.from.text, s.from.pos, s.back
		e.endSearch()
	case k == backspace || k == ctrlH:
		s.text = s.text[:previous(s.text, len(s.text))]
		s.at = s.back
		e.set(s.from.text, s.from.pos)
		s.failed = false
		if s.text != "" {
			e.find(s.at)
		}
	case k >= ' ' && k < keyUp:
		s.text += string(rune(k))
		e.find(s.at)
	case k == keyUnknown, k == ctrl('C'):
		e.endSearch()
		return k == keyUnknown
	default:
		e.endSearch()
		return false
	}
	return true
}

// find looks for the text from a line on. The same line twice is passed over.
func (e *Editor) find(from int) {
	s := &e.search
	for n := from; n >= -1 && n < e.lines(); n += s.way {
		line := s.from.text
		if n >= 0 {
			line = e.cfg.History.At(n)
		}
		at := strings.LastIndex(line, s.text)
		if at < 0 || n != s.at && line == e.text {
			continue
		}
		s.at, s.failed = n, false
		e.set(line, at)
		return
	}
	s.failed = true
	e.send("\a")
}

// endSearch leaves the line that was found in place of the new one.
func (e *Editor) endSearch() {
	s := &e.search
	if s.text != "" {
		s.last = s.text
	}
	s.on = false
	if s.at == e.back {
		return
	}
	if e.back == -1 {
		e.draft = s.from.text
	}
	e.back = s.at
	e.undo = append(e.undo, s.from)
}
