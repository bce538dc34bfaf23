package shell

import (
	"io"
	"strings"
	"sync/atomic"
)

// lastByte notes what commands wrote last to the terminal of a session.
type lastByte struct{ unfinished atomic.Bool }

// of is a writer that is noted.
func (l *lastByte) of(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return &noted{w, l}
}

type noted struct {
	io.Writer
	last *lastByte
}

func (n *noted) Write(p []byte) (int, error) {
	if len(p) > 0 {
		n.last.unfinished.Store(p[len(p)-1] != '\n')
	}
	return n.Writer.Write(p)
}

// freshLine goes to the beginning of a row. If the last command did not end its line, a
// mark stands there. The cursor may be at the beginning all the same, if what came last
// was typed. So the mark is followed by as many spaces as fill a row: they take the cursor
// to the next one, or the mark is still in reach and is taken away.
func (s *session) freshLine() {
	width, _ := s.terminal.Size()
	if !s.last.unfinished.Swap(false) || width < 2 {
		return
	}
	_, _ = io.WriteString(s.screen(), "\x1b[7m%\x1b[27m"+strings.Repeat(" ", width-1)+"\r\x1b[K") // the prompt would fail, too
}
