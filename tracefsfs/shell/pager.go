package shell

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"

	"ftracelab/internal/plain"
	"ftracelab/tracefsfs/shell/lineedit"
)

// pager is less and more: files, or standard input, a page at a time on the terminal of a
// session, and cat anywhere else.
func pager(c *call) int {
	names := []string{"cat"}
	for _, arg := range c.Args {
		if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
			names = append(names, arg)
		}
	}
	s := c.sh.session
	if s == nil || !c.sh.drawsOn(c.Stdout.W) {
		return c.onward(names)
	}
	width, height := s.terminal.Size()
	if width < 1 || height < leastPage {
		return c.onward(names)
	}
	c.Stdout.Flush()
	paged := *c
	p := &pages{to: c.Stdout.W, screen: s.screen(), width: width, height: height - 1, left: height - 1, key: s.key}
	paged.Stdout = blocks(p)
	status := paged.onward(names)
	if p.quit {
		return 0
	}
	return status
}

// leastPage is how many lines a terminal has to have for a page.
const leastPage = 3

// pages is a terminal that stops when it is full and asks how to go on.
type pages struct {
	to            io.Writer
	screen        io.Writer // where it asks, with escapes
	width, height int
	left          int // lines that may come before it stops
	column        int // of the line that is being written
	quit          bool
	key           func() byte
}

// Write writes up to the end of the page, then waits for a key, and so on. It fails as a
// pipe does that nobody reads if the key says to end it.
func (p *pages) Write(text []byte) (int, error) {
	done := 0
	for done < len(text) {
		if p.left == 0 && !p.ask() {
			p.quit = true
			return done, syscall.EPIPE
		}
		n := p.fits(text[done:])
		if _, err := p.to.Write(text[done : done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// fits is how much of a text goes on the page: up to the end of a line that fills it.
func (p *pages) fits(text []byte) int {
	at := 0
	for at < len(text) && p.left > 0 {
		line, rest, ended := bytes.Cut(text[at:], []byte("\n"))
		p.column = widthFrom(p.column, string(line))
		at = len(text) - len(rest)
		if !ended {
			return len(text)
		}
		p.left = max(0, p.left-1-max(0, p.column-1)/p.width)
		p.column = 0
	}
	return at
}

// widthFrom is the column behind a text that begins at some column, with its tabs.
func widthFrom(column int, text string) int {
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			column += 8 - column%8
		}
		column += lineedit.Width(plain.String(part))
	}
	return column
}

// ask waits for a key: a page, a line or the end.
func (p *pages) ask() bool {
	fmt.Fprint(p.screen, "\x1b[7m-- more: Space, Enter, q --\x1b[27m")
	for {
		switch p.key() {
		case ' ', 'f', 'd':
			p.left = p.height
		case '\r', '\n', 'j':
			p.left = 1
		case 'G':
			p.left = 1 << 30
		case 'q', 'Q', 3, 4, 0:
			fmt.Fprint(p.screen, "\r\x1b[K")
			return false
		default:
			continue
		}
		fmt.Fprint(p.screen, "\r\x1b[K")
		return true
	}
}

// key waits for a key of the terminal; 0 if there is none any more.
func (s *session) key() byte {
	if len(s.typed) == 0 {
		restore, err := s.terminal.Raw()
		if err != nil {
			return 0
		}
		defer restore()
		more := make([]byte, 64)
		n, err := s.terminal.Read(more)
		if n == 0 || err != nil {
			return 0
		}
		s.typed = more[:n]
	}
	key := s.typed[0]
	s.typed = s.typed[1:]
	return key
}
