package capture

import (
	"fmt"
	"strings"
)

// Error says what is wrong with a capture, and where. It has either a Line or an
// Offset: in text the line, counted from 1; in pages, and wherever lines mean nothing,
// the offset in bytes in the uncompressed file.
type Error struct {
	File   string
	Line   int   // 0: not known
	Offset int64 // -1: not known
	What   string
	Err    error // the error of another package that is the reason; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	switch {
	case e.Line > 0:
		fmt.Fprintf(&b, ": line %d", e.Line)
	case e.Offset >= 0:
		fmt.Fprintf(&b, ": offset %d", e.Offset)
	}
	b.WriteString(": " + e.What)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// fileError is an Error about a file as a whole.
func fileError(file, what string, err error) *Error {
	return &Error{File: file, Offset: -1, What: what, Err: err}
}

// excerpt quotes the beginning of a line for an error.
func excerpt(line []byte) string {
	const most = 60
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
