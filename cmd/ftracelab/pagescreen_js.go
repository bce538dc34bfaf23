package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"ftracelab/lab/web/answer"
)

// pageScreen is the terminal of a page, with what the kernel's terminals do between raw
// keys: it shows what is typed, and gives lines.
type pageScreen struct {
	width, height int

	mu        sync.Mutex
	more      sync.Cond
	raw       bool
	ready     []byte // what can be read
	line      []byte // what is typed and not yet a line
	ended     bool   // Ctrl-D at the beginning of a line
	interrupt context.CancelFunc
	resized   func()
}

func newPageScreen() *pageScreen {
	s := new(pageScreen)
	s.more.L = &s.mu
	return s
}

func (s *pageScreen) Write(p []byte) (int, error) {
	breathe()
	answer.Say("terminal", string(p))
	return len(p), nil
}

// Read waits for a key in raw mode, and otherwise for a line.
func (s *pageScreen) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) == 0 {
		if s.ended {
			s.ended = false
			return 0, io.EOF
		}
		s.more.Wait()
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// typed takes what the page's terminal sends.
func (s *pageScreen) typed(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.more.Broadcast()
	if s.raw {
		s.ready = append(s.ready, text...)
		return
	}
	var echo strings.Builder
	for _, c := range text {
		switch c {
		case 3: // Ctrl-C
			s.line = s.line[:0]
			echo.WriteString("^C\n")
			if s.interrupt != nil {
				s.interrupt()
			}
		case 4: // Ctrl-D
			s.ended = len(s.line) == 0
			s.ready, s.line = append(s.ready, s.line...), s.line[:0]
		case 8, 127: // Backspace
			if len(s.line) > 0 {
				_, n := utf8.DecodeLastRune(s.line)
				s.line = s.line[:len(s.line)-n]
				echo.WriteString("\b \b")
			}
		case '\r', '\n':
			s.ready, s.line = append(append(s.ready, s.line...), '\n'), s.line[:0]
			echo.WriteByte('\n')
		default:
			if c >= ' ' {
				s.line = utf8.AppendRune(s.line, c)
				echo.WriteRune(c)
			}
		}
	}
	answer.Say("terminal", echo.String())
}

// Raw is of shell.Screen. What was typed ahead is kept.
func (s *pageScreen) Raw() (restore func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = true
	s.ready, s.line = append(s.ready, s.line...), s.line[:0]
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.raw = false
	}, nil
}

// Size is of shell.Screen.
func (s *pageScreen) Size() (width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width, s.height
}

// Resized is of shell.Screen.
func (s *pageScreen) Resized(tell func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resized = tell
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.resized = nil
	}
}

// resize is told by the page.
func (s *pageScreen) resize(width, height int) {
	s.mu.Lock()
	s.width, s.height = width, height
	tell := s.resized
	s.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// Interrupt is of shell.Screen.
func (s *pageScreen) Interrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = cancel
	return breathing(ctx), cancel
}
