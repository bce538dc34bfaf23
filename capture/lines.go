package capture

import (
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that is accepted, in bytes. No trace has a longer one.
const maxLine = 1 << 20

// lines reads a text line by line. It copies nothing, and needs memory for two lines of
// the greatest length.
type lines struct {
	in    io.Reader
	name  string
	buf   []byte
	start int   // where the next line begins in buf
	end   int   // how much of buf is filled
	off   int64 // where buf[0] lies in the file
	line  int   // the number of the line given last
	at    int64 // where that line begins in the file
	err   error // the error of in, kept until buf is used up
}

func newLines(in io.Reader, name string) *lines {
	return &lines{in: in, name: name, buf: make([]byte, 2*maxLine)}
}

// next gives the next line without its newline, and reports whether there was a
// newline. The line is valid until the next call.
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

// fill moves the unread bytes to the front of buf and reads more behind them.
func (l *lines) fill() {
	copy(l.buf, l.buf[l.start:l.end])
	l.off += int64(l.start)
	l.end -= l.start
	l.start = 0
	n, err := l.in.Read(l.buf[l.end:])
	l.end += n
	l.err = err
}

// rest gives the last line, which has no newline, or the error of the file. If reading
// failed inside a line, that part is not given.
func (l *lines) rest() ([]byte, bool, error) {
	if l.start == l.end || !errors.Is(l.err, io.EOF) {
		return nil, false, l.err
	}
	line := l.buf[l.start:l.end]
	l.at, l.start = l.off+int64(l.start), l.end
	l.line++
	return line, false, nil
}

// tooLong gives the error for a line that is too long. It also skips that line, so that
// a reader that keeps going finds the next one.
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

// fault makes an Error about the line given last.
func (l *lines) fault(what string) *Error {
	return &Error{File: l.name, Line: l.line, Offset: -1, What: what}
}

// position is where the line given last ends in the file.
func (l *lines) position() int64 { return l.off + int64(l.start) }
