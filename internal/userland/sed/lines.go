package sed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// lines reads the inputs as one stream of lines and knows the last one.
type lines struct {
	inputs []io.Reader
	wait   func()
	buf    *bufio.Reader
	err    error
}

func newLines(cfg Config) *lines {
	return &lines{inputs: cfg.Inputs, wait: cfg.Wait}
}

// fill makes sure that buf holds a byte, opening the next input if need be.
func (l *lines) fill() bool {
	for l.err == nil {
		if l.buf == nil {
			if len(l.inputs) == 0 {
				return false
			}
			l.buf = bufio.NewReader(waiting{l.inputs[0], l.wait})
			l.inputs = l.inputs[1:]
		}
		if _, err := l.buf.Peek(1); err == nil {
			return true
		} else if !errors.Is(err, io.EOF) {
			l.err = err
		}
		l.buf = nil
	}
	return false
}

func (l *lines) atEnd() bool { return !l.fill() }

func (l *lines) next() (line string, newline, ok bool) {
	if !l.fill() {
		return "", false, false
	}
	var text []byte
	for {
		part, err := l.buf.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxSpace {
			l.err = fmt.Errorf("line is too long: %w", syscall.ENOMEM)
			return "", false, false
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			l.err = err
			return "", false, false
		}
		line, newline = strings.CutSuffix(string(text), "\n")
		return line, newline, true
	}
}

type waiting struct {
	r    io.Reader
	wait func()
}

func (w waiting) Read(p []byte) (int, error) {
	if w.wait != nil {
		w.wait()
	}
	return w.r.Read(p)
}
