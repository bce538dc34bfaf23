package lineedit

// kills are the texts that were killed, the newest last, which can be put in again.
type kills struct {
	texts []string
	at    int // the one that was put in
	start int // where it stands in the line
}

// mostKills and mostVersions are how many are kept.
const (
	mostKills    = 16
	mostVersions = 200
)

// kill deletes between the cursor and where a function says, and keeps that. Kills that
// follow each other are one.
func kill(to func(text string, pos int) int) action {
	return func(e *Editor, did kind) {
		there := to(e.text, e.pos)
		if there == e.pos && there < len(e.text) && e.text[there] == '\n' {
			there++ // at the end of a line, it is what divides it from the next
		}
		from, until := ordered(e.pos, there)
		if from == until {
			return
		}
		text, k := e.text[from:until], &e.kills
		switch {
		case did != killing || len(k.texts) == 0:
			if k.texts = append(k.texts, text); len(k.texts) > mostKills {
				k.texts = k.texts[1:]
			}
		case from < e.pos:
			k.texts[len(k.texts)-1] = text + k.texts[len(k.texts)-1]
		default:
			k.texts[len(k.texts)-1] += text
		}
		e.save(killing)
		e.set(e.text[:from]+e.text[until:], from)
	}
}

// yank puts in what was killed last.
func (e *Editor) yank(kind) {
	if len(e.kills.texts) == 0 {
		return
	}
	e.kills.at, e.kills.start = len(e.kills.texts)-1, e.pos
	e.save(yanking)
	e.insert(e.kills.texts[e.kills.at])
}

// yankOlder replaces what was just put in by what was killed before it.
func (e *Editor) yankOlder(did kind) {
	if did != yanking {
		return
	}
	k := &e.kills
	k.at = (k.at + len(k.texts) - 1) % len(k.texts)
	e.save(yanking)
	e.set(e.text[:k.start]+k.texts[k.at]+e.text[e.pos:], k.start+len(k.texts[k.at]))
}

// A version is the line before a change.
type version struct {
	text string
	pos  int
}

// save keeps the line, which a key is about to change, and what that key does.
func (e *Editor) save(did kind) {
	e.did = did
	if e.undo = append(e.undo, version{e.text, e.pos}); len(e.undo) > mostVersions {
		e.undo = e.undo[1:]
	}
}

// takeBack undoes the last change.
func (e *Editor) takeBack(kind) {
	if len(e.undo) == 0 {
		return
	}
	last := e.undo[len(e.undo)-1]
	e.undo = e.undo[:len(e.undo)-1]
	e.set(last.text, last.pos)
}
