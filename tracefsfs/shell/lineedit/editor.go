package lineedit

import (
	"bytes"
	"strings"
)

// Config is what an editor asks for. None of it has to be set.
type Config struct {
	// History are the lines before this one.
	History History
	// Complete is what Tab does to a line with the cursor at pos. It returns the line and
	// cursor as they should be, and what may be meant if more than one is.
	Complete func(line string, pos int) (newLine string, newPos int, list []string)
}

// History is the lines of earlier times.
type History interface {
	Len() int
	At(n int) string // the newest is 0
}

// State is what has become of a line.
type State int

const (
	Editing     State = iota
	Accepted          // Enter
	Interrupted       // Ctrl-C
	Ended             // Ctrl-D in an empty line
)

// mostBytes is how long a line may be.
const mostBytes = 1 << 20

// Editor edits one line after the other.
type Editor struct {
	cfg    Config
	text   string
	pos    int // of the cursor in text: a cluster begins there
	before string

	paste   *strings.Builder // pasted text that has not ended
	verbal  bool             // the next character goes into the line as it is
	back    int              // which line of History is edited; -1 is the new one
	draft   string           // the new one, while another one is
	done    bool             // the line has ended and is not drawn any more
	search  search
	kills   kills
	undo    []version
	did     kind // what the key before this one did
	lastArg int  // which line of History Alt-. took its word from

	// What is on the screen, and where its cursor is.
	width, height int
	shown         picture
	at            spot
	top           int // the first row that is on the screen, if not all are
	out           []byte
}

// kind is what a key did, as far as the next one wants to know.
type kind int

const (
	other kind = iota
	typing
	killing
	yanking
	argument
)

// New makes an editor for a terminal of 80 columns and 24 lines.
func New(cfg Config) *Editor {
	e := &Editor{cfg: cfg}
	e.width, e.height = sized(0, 0)
	return e
}

// The sequences with which a terminal is told to mark what is pasted, and not to.
const (
	markPaste   = "\x1b[?2004h"
	unmarkPaste = "\x1b[?2004l"
)

// Begin begins an empty line behind a prompt. The cursor of the terminal has to be at the
// beginning of a row.
func (e *Editor) Begin(prompt string) {
	e.text, e.pos, e.before = "", 0, prompt
	e.back, e.draft, e.undo, e.did, e.paste, e.verbal, e.done = -1, "", nil, other, nil, false, false
	e.search = search{last: e.search.last}
	e.forget()
	e.send(markPaste)
}

// Line is the text.
func (e *Editor) Line() string { return e.text }

// cursor is the text that is shown and the place of the cursor in it.
func (e *Editor) cursor() (string, int) { return e.text, e.pos }

// prompt is what stands before the text.
func (e *Editor) prompt() string {
	if e.search.on {
		return e.search.prompt()
	}
	return e.before
}

// Feed acts on what was typed, up to the end of the line if that is among it. n is how much
// it took. What is left is the beginning of a key, or belongs to the next line; it has to
// be given again with what follows.
func (e *Editor) Feed(typed []byte) (n int, state State) {
	if e.paste != nil && len(typed) == 1 && key(typed[0]) == ctrl('C') {
		e.paste = nil // its end was lost
	}
	for n < len(typed) {
		if e.paste != nil {
			taken, done := e.pasting(typed[n:])
			if n += taken; !done {
				return n, Editing
			}
			continue
		}
		k, size := decode(typed[n:])
		if size == 0 {
			return n, Editing
		}
		n += size
		if state := e.press(k); state != Editing {
			e.done = true
			return n, state
		}
	}
	return n, Editing
}

// pasting takes pasted text; done when its end is there.
func (e *Editor) pasting(typed []byte) (n int, done bool) {
	text, _, found := bytes.Cut(typed, []byte(pasteEnd))
	if !found {
		n = len(typed)
		for i := max(0, n-len(pasteEnd)+1); i < n; i++ { // the end may have begun
			if strings.HasPrefix(pasteEnd, string(typed[i:])) {
				n = i
				break
			}
		}
		e.keep(typed[:n])
		return n, false
	}
	e.keep(text)
	e.save(other)
	e.insert(pasted(e.paste.String()))
	e.paste = nil
	return len(text) + len(pasteEnd), true
}

// keep keeps pasted text, as much as a line may hold.
func (e *Editor) keep(text []byte) {
	e.paste.Write(text[:min(len(text), max(0, mostBytes-e.paste.Len()))])
}

// insert puts a text before the cursor.
func (e *Editor) insert(text string) {
	if len(e.text)+len(text) > mostBytes {
		e.send("\a")
		return
	}
	e.set(e.text[:e.pos]+text+e.text[e.pos:], e.pos+len(text))
}

// set changes the line.
func (e *Editor) set(text string, pos int) { e.text, e.pos = text, settle(text, pos) }

// press acts on a key.
func (e *Editor) press(k key) State {
	if e.search.on {
		if e.searching(k) {
			return Editing
		}
	}
	did := e.did
	e.did = other
	if e.verbal {
		e.verbal = false
		if k < keyUp {
			e.save(other)
			e.insert(string(rune(k)))
		}
		return Editing
	}
	switch {
	case k == '\r' || k == '\n':
		e.leave(unmarkPaste)
		return Accepted
	case k == ctrl('C'):
		e.leave(unmarkPaste + "^C")
		return Interrupted
	case k == ctrl('D') && e.text == "":
		e.send(unmarkPaste)
		return Ended
	case k == keyPaste:
		e.paste = new(strings.Builder)
	case k >= ' ' && k < keyUp && k != backspace:
		if e.did = typing; did != typing {
			e.save(typing)
		}
		e.insert(string(rune(k)))
	default:
		if act, ok := actions[k]; ok {
			act(e, did)
		}
	}
	return Editing
}

// complete is Tab.
func (e *Editor) complete() {
	if e.cfg.Complete == nil {
		return
	}
	text, pos, list := e.cfg.Complete(e.text, e.pos)
	if text != e.text {
		e.save(other)
		e.set(text, pos)
		return
	}
	if len(list) < 2 {
		e.send("\a")
		return
	}
	above := len(layOut(e.prompt(), e.text, len(e.text), e.width).rows)
	e.leave("")
	e.send(columns(list, e.width, max(leastList, e.height-above-1)))
}

// clear is Ctrl-L.
func (e *Editor) clear() {
	e.send("\x1b[H\x1b[2J")
	e.forget()
}
