package shell

import (
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ftracelab/internal/plain"
)

// historyLines is how many lines the history holds.
const historyLines = 1000

// history is the lines of interactive sessions, the oldest first. It is a lineedit.History.
type history struct {
	lines []string
	keep  func(line string) // nil: for this session only
}

// newHistory begins with lines of earlier sessions. Those that a terminal would act on are
// left out.
func newHistory(lines []string, keep func(string)) *history {
	h := &history{keep: keep}
	for _, line := range lines {
		if line != "" && plain.String(line) == line {
			h.lines = append(h.lines, line)
		}
	}
	h.lines = h.lines[max(len(h.lines)-historyLines, 0):]
	return h
}

// Add appends a line.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	if h.lines = append(h.lines, line); len(h.lines) > historyLines {
		h.lines = slices.Delete(h.lines, 0, 1)
	}
	if h.keep != nil {
		h.keep(line)
	}
}

// Len is the number of lines.
func (h *history) Len() int { return len(h.lines) }

// At gives a line; 0 is the newest.
func (h *history) At(n int) string { return h.lines[len(h.lines)-1-n] }

// inOneLine gives commands that were typed in several lines as one line, as far as that is
// possible: the text of a here-document has lines of its own.
func inOneLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	if !strings.Contains(text, "\n") {
		return text
	}
	program, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return text
	}
	var line strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&line, program); err != nil {
		return text
	}
	if short := strings.TrimSuffix(line.String(), "\n"); !strings.Contains(short, "\n") {
		return short
	}
	return text
}

// historyCommand lists the lines of the session, the oldest first.
func historyCommand(c *call) int {
	if c.sh.history == nil {
		return 0 // no session
	}
	for n, line := range c.sh.history.lines {
		c.Printf("%5d  %s\n", n+1, line)
	}
	return 0
}

// clearScreen empties the screen of an interactive session.
func clearScreen(c *call) int {
	if c.sh.drawsOn(c.Stdout.W) {
		_, _ = io.WriteString(c.sh.cfg.Terminal, "\x1b[H\x1b[2J") // the terminal is not asked whether it can
	}
	return 0
}

// drawsOn: is w the terminal of an interactive session, and one that can be drawn on?
func (sh *Shell) drawsOn(w io.Writer) bool {
	return sh.history != nil && sh.cfg.Terminal != nil && !sh.cfg.Plain && w == sh.cfg.Stdout
}
