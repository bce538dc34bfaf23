package lineedit

import (
	"strings"
	"unicode/utf8"
)

// A Key is what one key of the keyboard sends: a character or control character as
// itself, any other key as one of the names below. With the bit alt, Alt was held.
type key rune

const (
	keyUp key = utf8.MaxRune + 1 + iota
	keyDown
	keyLeft
	keyRight
	keyHome
	keyEnd
	keyDelete
	keyWordLeft
	keyWordRight
	keyFirst   // the oldest line
	keyLast    // the newest line
	keyPaste   // pasted text begins
	keyUnknown // a key that means nothing here

	alt key = 1 << 24
)

// ctrl is what a key sends if Ctrl is held.
func ctrl(letter rune) key { return key(letter & 0x1f) }

const (
	escape    = '\x1b'
	backspace = '\x7f'

	pasteEnd = "\x1b[201~"
	// longest is how long a sequence of a key may be.
	longest = 32
)

// decode reads a key at the beginning of b and gives its length; 0 if more has to come.
func decode(b []byte) (k key, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	if b[0] == escape {
		return decodeEscape(b)
	}
	if !utf8.FullRune(b) {
		return 0, 0
	}
	r, n := utf8.DecodeRune(b)
	return key(r), n
}

// decodeEscape reads a key that begins with an escape. A control character within ends
// the sequence and counts for itself, so that Ctrl-C is never lost.
func decodeEscape(b []byte) (k key, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch c := b[1]; {
	case c == '[', c == 'O':
		for i := 2; i < len(b); i++ {
			switch {
			case b[i] < ' ' || b[i] > '~' || i >= longest:
				return keyUnknown, i
			case b[i] >= '@' && (b[i] != '[' || i > 2): // ESC [ [ A is a function key of Linux's console
				return named(string(b[1 : i+1])), i + 1
			}
		}
		return 0, 0
	case c == escape, c < ' ' && c != ctrlH:
		return keyUnknown, 1
	}
	r, n := decode(b[1:])
	if n == 0 {
		return 0, 0
	}
	return r | alt, n + 1
}

const ctrlH = 8

// names are the keys that terminals send as sequences, without the escape.
var names = map[string]key{
	"[A": keyUp, "[B": keyDown, "[C": keyRight, "[D": keyLeft, "[H": keyHome, "[F": keyEnd,
	"OA": keyUp, "OB": keyDown, "OC": keyRight, "OD": keyLeft, "OH": keyHome, "OF": keyEnd,
	"[1~": keyHome, "[7~": keyHome, "[4~": keyEnd, "[8~": keyEnd, "[3~": keyDelete,
	"[200~": keyPaste,
}

// named is the key of a sequence. The modifiers of xterm follow a semicolon: 5 is Ctrl, 3
// Alt, and both make words of the arrows.
func named(sequence string) key {
	if k, ok := names[sequence]; ok {
		return k
	}
	open, modifier, ok := strings.Cut(sequence[:len(sequence)-1], ";")
	if !ok {
		return keyUnknown
	}
	if open == "[1" {
		open = "["
	}
	k, ok := names[open+sequence[len(sequence)-1:]]
	if !ok {
		return keyUnknown
	}
	if modifier == "3" || modifier == "5" {
		switch k {
		case keyLeft:
			return keyWordLeft
		case keyRight:
			return keyWordRight
		case keyDelete:
			return 'd' | alt
		}
	}
	return k
}
