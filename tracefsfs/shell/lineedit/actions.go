package lineedit

import "strings"

// action is what a key does that is no character and does not end the line. It is told
// what the key before did.
type action = func(e *Editor, did kind)

// actions are the keys of Emacs, as far as a line needs them.
var actions = map[key]action{
	ctrl('A'): home, keyHome: home,
	ctrl('E'): end, keyEnd: end,
	ctrl('B'): move(previous), keyLeft: move(previous),
	ctrl('F'): move(next), keyRight: move(next),
	'b' | alt: move(wordLeft), 'B' | alt: move(wordLeft), keyWordLeft: move(wordLeft),
	'f' | alt: move(wordRight), 'F' | alt: move(wordRight), keyWordRight: move(wordRight),

	backspace: remove(previous), ctrlH: remove(previous),
	ctrl('D'): remove(next), keyDelete: remove(next),

	ctrl('K'): kill(lineEnd), ctrl('U'): kill(lineStart),
	ctrl('W'): kill(argumentLeft),
	'd' | alt: kill(wordRight), 'D' | alt: kill(wordRight),
	backspace | alt: kill(wordLeft), ctrlH | alt: kill(wordLeft),
	ctrl('Y'): (*Editor).yank, 'y' | alt: (*Editor).yankOlder, 'Y' | alt: (*Editor).yankOlder,

	ctrl('T'): transpose,
	ctrl('_'): (*Editor).takeBack,
	ctrl('V'): func(e *Editor, _ kind) { e.verbal = true },
	'\t':      func(e *Editor, _ kind) { e.complete() },
	ctrl('L'): func(e *Editor, _ kind) { e.clear() },

	ctrl('P'): func(e *Editor, _ kind) { e.older() }, ctrl('N'): func(e *Editor, _ kind) { e.newer() },
	keyUp: up, keyDown: down,
	'<' | alt: func(e *Editor, _ kind) { e.recall(e.lines() - 1) },
	'>' | alt: func(e *Editor, _ kind) { e.recall(-1) },
	'.' | alt: (*Editor).lastArgument, '_' | alt: (*Editor).lastArgument,
	ctrl('R'): func(e *Editor, _ kind) { e.startSearch(1) },
	ctrl('S'): func(e *Editor, _ kind) { e.startSearch(-1) },
}

func home(e *Editor, _ kind) { e.pos = lineStart(e.text, e.pos) }
func end(e *Editor, _ kind)  { e.pos = lineEnd(e.text, e.pos) }

// move moves the cursor to where a function says.
func move(to func(text string, pos int) int) action {
	return func(e *Editor, _ kind) { e.pos = settle(e.text, to(e.text, e.pos)) }
}

// remove deletes between the cursor and where a function says.
func remove(to func(text string, pos int) int) action {
	return func(e *Editor, _ kind) {
		from, until := ordered(e.pos, to(e.text, e.pos))
		if from < until {
			e.save(other)
			e.set(e.text[:from]+e.text[until:], from)
		}
	}
}

func ordered(a, b int) (int, int) { return min(a, b), max(a, b) }

// transpose swaps the clusters on both sides of the cursor, or the last two at the end.
func transpose(e *Editor, _ kind) {
	right := e.pos
	if right == len(e.text) {
		right = previous(e.text, right)
	}
	left := previous(e.text, right)
	if left == right {
		return
	}
	until := next(e.text, right)
	e.save(other)
	e.set(e.text[:left]+e.text[right:until]+e.text[left:right]+e.text[until:], until)
}

// up goes to the row above in a line of several, and to an older line from the first.
func up(e *Editor, _ kind) {
	start := lineStart(e.text, e.pos)
	if start == 0 {
		e.older()
		return
	}
	e.pos = e.below(lineStart(e.text, start-1), Width(e.text[start:e.pos]))
}

// down is up's opposite.
func down(e *Editor, _ kind) {
	stop := lineEnd(e.text, e.pos)
	if stop == len(e.text) {
		e.newer()
		return
	}
	e.pos = e.below(stop+1, Width(e.text[lineStart(e.text, e.pos):e.pos]))
}

// below is the place of the line that begins at start which is as many columns from it.
func (e *Editor) below(start, columns int) int {
	pos := start
	for stop := lineEnd(e.text, start); pos < stop && Width(e.text[start:pos]) < columns; {
		pos = next(e.text, pos)
	}
	return pos
}

// lines is how many lines the history has.
func (e *Editor) lines() int {
	if e.cfg.History == nil {
		return 0
	}
	return e.cfg.History.Len()
}

func (e *Editor) older() { e.recall(e.back + 1) }
func (e *Editor) newer() { e.recall(e.back - 1) }

// recall shows a line of the history, or the new one, which is -1.
func (e *Editor) recall(n int) {
	if n < -1 || n >= e.lines() || n == e.back {
		return
	}
	if e.back == -1 {
		e.draft = e.text
	}
	e.save(other)
	e.back = n
	text := e.draft
	if n >= 0 {
		text = e.cfg.History.At(n)
	}
	e.set(text, len(text))
}

// lastArgument puts the last word of the line before into this one; again, that of the
// line before that.
func (e *Editor) lastArgument(did kind) {
	from := 0
	if did == argument {
		from = e.lastArg + 1
	}
	if from >= e.lines() {
		e.did = did
		return
	}
	if did == argument {
		e.takeBack(other)
	}
	e.lastArg = from
	e.save(argument)
	if words := strings.Fields(e.cfg.History.At(from)); len(words) > 0 {
		e.insert(words[len(words)-1])
	}
}
