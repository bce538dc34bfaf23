package event

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// FormatFile is one of several format files in one text.
type FormatFile struct {
	System, Name string
	Line         int // of its head in the text, from 1; 0: there is no such text
	Text         []byte
}

// ID is the number that follows the name at the beginning of the text. If ok is false,
// the text does not begin in the usual way; ParseFormat then tells more.
func (f FormatFile) ID() (id int, ok bool) {
	name, rest, _ := bytes.Cut(f.Text, []byte("\n"))
	rest, ok = bytes.CutPrefix(rest, []byte("ID: "))
	if !ok || !bytes.HasPrefix(name, []byte("name: ")) {
		return 0, false
	}
	for i, c := range rest {
		switch digit := c - '0'; {
		case c == '\n':
			return id, i > 0
		case digit > 9 || id > maxOffset:
			return 0, false
		default:
			id = 10*id + int(digit)
		}
	}
	return 0, false
}

// SplitFormats divides a text into format files, each after a line "====
// events/SYSTEM/NAME". The texts of the files alias the argument. The only
// error is a text that does not begin with such a line.
func SplitFormats(text []byte) ([]FormatFile, error) {
	var files []FormatFile
	for line := 1; len(text) > 0; {
		head, rest, _ := bytes.Cut(text, []byte("\n"))
		dir, ok := strings.CutPrefix(string(bytes.TrimSpace(head)), "==== ")
		if !ok {
			return nil, fmt.Errorf("no line ==== events/SYSTEM/NAME but %q", clip(string(head)))
		}
		body := rest
		if i := bytes.Index(rest, []byte("\n==== ")); i >= 0 {
			body = rest[:i+1]
		}
		dir = path.Clean(dir)
		files = append(files, FormatFile{path.Base(path.Dir(dir)), path.Base(dir), line, body})
		line += 1 + bytes.Count(body, []byte("\n"))
		text = rest[len(body):]
	}
	return files, nil
}
