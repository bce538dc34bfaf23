package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// screenOf is what a terminal of some size shows after it was sent output: as much of a
// terminal as the programs in the tests use.
type screenOf struct {
	width, height int
	cells         [][]rune
	x, y          int
	top, bottom   int // of the region that scrolls
	last          rune
	colors        int // how often a color was chosen
	mouse         bool
}

func newScreen(width, height int) *screenOf {
	s := &screenOf{width: width, height: height}
	s.bottom = height - 1
	for range height {
		s.cells = append(s.cells, blank(width))
	}
	return s
}

func blank(width int) []rune { return []rune(strings.Repeat(" ", width)) }

func (s *screenOf) String() string {
	var b strings.Builder
	for _, row := range s.cells {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return b.String()
}

// show is the screen after all of the output. What is not complete at its end is left out.
func (s *screenOf) show(out string) *screenOf {
	for len(out) > 0 {
		switch {
		case strings.HasPrefix(out, "\x1b["):
			end := strings.IndexFunc(out[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				return s
			}
			s.csi(out[2:2+end], out[2+end])
			out = out[3+end:]
		case strings.HasPrefix(out, "\x1b]"), strings.HasPrefix(out, "\x1bP"):
			end := strings.IndexAny(out, "\a\\")
			if end < 0 {
				return s
			}
			out = out[end+1:]
		case out[0] == '\x1b':
			if strings.HasPrefix(out, "\x1bM") {
				s.reverse()
			}
			out = out[min(2, len(out)):]
		default:
			r, n := utf8.DecodeRuneInString(out)
			s.put(r)
			out = out[n:]
		}
	}
	return s
}

func (s *screenOf) put(r rune) {
	switch r {
	case '\r':
		s.x = 0
	case '\n':
		s.down()
	case '\b':
		s.x = max(0, s.x-1)
	case '\t':
		s.x = min(s.width-1, s.x/8*8+8)
	case '\a':
	default:
		if s.x == s.width {
			s.x = 0
			s.down()
		}
		s.cells[s.y][s.x] = r
		s.x++
		s.last = r
	}
}

func (s *screenOf) down() {
	if s.y == s.bottom {
		s.scroll(1)
	} else {
		s.y = min(s.y+1, s.height-1)
	}
}

func (s *screenOf) reverse() {
	if s.y == s.top {
		s.scroll(-1)
	} else {
		s.y = max(0, s.y-1)
	}
}

// scroll moves the lines of the region up, or down if by is negative.
func (s *screenOf) scroll(by int) { s.shift(s.top, by) }

func (s *screenOf) shift(top, by int) {
	for ; by > 0; by-- {
		copy(s.cells[top:s.bottom], s.cells[top+1:s.bottom+1])
		s.cells[s.bottom] = blank(s.width)
	}
	for ; by < 0; by++ {
		copy(s.cells[top+1:s.bottom+1], s.cells[top:s.bottom])
		s.cells[top] = blank(s.width)
	}
}

func (s *screenOf) csi(params string, final byte) {
	if strings.HasPrefix(params, "?") && (final == 'h' || final == 'l') {
		for _, mode := range strings.Split(params[1:], ";") {
			switch mode {
			case "1002":
				s.mouse = final == 'h'
			case "1049":
				for i := range s.cells {
					s.cells[i] = blank(s.width)
				}
			}
		}
		return
	}
	if strings.ContainsAny(params, "?>=<$ ") {
		return
	}
	parts := strings.Split(params, ";")
	arg := func(i, otherwise int) int {
		if i < len(parts) {
			if n, err := strconv.Atoi(parts[i]); err == nil && (n > 0 || otherwise == 0) {
				return n
			}
		}
		return otherwise
	}
	n := arg(0, 1)
	x := min(s.x, s.width-1)
	row := s.cells[s.y]
	switch final {
	case 'A':
		s.y = max(0, s.y-n)
	case 'B', 'e':
		s.y = min(s.height-1, s.y+n)
	case 'C', 'a':
		s.x = min(s.width-1, s.x+n)
	case 'D':
		s.x = max(0, x-n)
	case 'G', '`':
		s.x = min(s.width, n) - 1
	case 'd':
		s.y = min(s.height, n) - 1
	case 'H', 'f':
		s.y, s.x = min(s.height, n)-1, min(s.width, arg(1, 1))-1
	case 'I':
		s.x = min(s.width-1, (s.x/8+n)*8)
	case 'Z':
		s.x = max(0, (x-1)/8*8-(n-1)*8)
	case 'J', 'K':
		from, to := s.x, s.width
		switch arg(0, 0) {
		case 1:
			from, to = 0, s.x+1
		case 2:
			from = 0
		}
		copy(row[min(from, s.width):], blank(min(to, s.width)-min(from, s.width)))
		for i := range s.cells {
			if final == 'J' && (arg(0, 0) == 2 || arg(0, 0) == 0 && i > s.y || arg(0, 0) == 1 && i < s.y) {
				s.cells[i] = blank(s.width)
			}
		}
	case 'X':
		copy(row[x:], blank(min(n, s.width-x)))
	case 'P':
		copy(row[x:], append(append([]rune{}, row[min(x+n, s.width):]...), blank(n)...))
	case '@':
		copy(row[x:], append(blank(n), append([]rune{}, row[x:]...)...))
	case 'L':
		s.shift(s.y, -n)
	case 'M':
		s.shift(s.y, n)
	case 'S':
		s.scroll(n)
	case 'T':
		s.scroll(-n)
	case 'b':
		for range n {
			s.put(s.last)
		}
	case 'r':
		s.top, s.bottom = n-1, arg(1, s.height)-1
		s.x, s.y = 0, 0
	case 'm':
		for _, p := range parts {
			if c, err := strconv.Atoi(p); err == nil && c >= 30 && c < 38 {
				s.colors++
			}
		}
	}
}
