package capture

import (
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a line of text; what is longer is no trace.
const maxLine = 1 << 20

// lines reads text line by line without copying and without more memory than two
// of the longest lines.
type lines struct {
	in    io.Reader
	name  string
	buf   []byte
	start int   // of the next line in buf
	end   int   // of what was read
	off   int64 // of buf[0] in the file
	line  int   // number of the line last given
	at    int64 // its offset
	err   error // of in, kept until buf is used up
}

func newLines(in io.Reader, name string) *lines {
	return &lines{in: in, name: name, buf: make([]byte, 2*maxLine)}
}

// next gives the next line without its newline, and whether it had one. The line
// is valid until the next call.
func (l *lines) next() (line []byte, whole bool, err error) {
	seen := l.start
	for {
		if i := bytes.IndexByte(l.buf[seen:l.end], '\n'); i >= 0 {
			line = l.buf[l.start : seen+i]
			l.at, l.start = l.off+int64(l.start), seen+i+1
			l.line++
			if len(line) > maxLine {
				return nil, true, l.fault("a line longer than 1 MiB")
			}
			return line, true, nil
		}
		if l.end-l.start > maxLine {
			return nil, false, l.tooLong()
		}
		if l.err != nil {
			return l.rest()
		}
		seen = l.end - l.start
		l.fill()
	}
}

// fill moves what is left to the front and reads behind it.
func (l *lines) fill() {
	copy(l.buf, l.buf[l.start:l.end])
	l.off += int64(l.start)
	l.end -= l.start
	l.start = 0
	n, err := l.in.Read(l.buf[l.end:])
	l.end += n
	l.err = err
}

// rest gives the last line, which has no newline, or the error of the file. A part
// of a line in front of an error is no line.
func (l *lines) rest() ([]byte, bool, error) {
	if l.start == l.end || !errors.Is(l.err, io.EOF) {
		return nil, false, l.err
	}
	line := l.buf[l.start:l.end]
	l.at, l.start = l.off+int64(l.start), l.end
	l.line++
	return line, false, nil
}

// tooLong is the error for a line that does not end; it also skips it, so that a
// reader that keeps going finds the next one.
func (l *lines) tooLong() error {
	l.line++
	err := l.fault("a line longer than 1 MiB")
	l.at = l.off + int64(l.start)
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.start += i + 1
			return err
		}
		l.start = l.end
		if l.err != nil {
			return err
		}
		l.fill()
	}
}

// fault is an Error about the line last given.
func (l *lines) fault(what string) *Error {
	return &Error{File: l.name, Line: l.line, Offset: -1, What: what}
}

// position is the offset behind the line last given.
func (l *lines) position() int64 { return l.off + int64(l.start) }
