//go:build !js

package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ftracelab/lab"
)

// A binding is what some keys do. The help is made of the same table.
type binding struct {
	keys  []string // as Bubble Tea names them
	shown string
	about string
	do    func(m *Model, key string) tea.Cmd
}

// does is for what needs no command.
func does(f func(m *Model)) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd { f(m); return nil }
}

// bindings returns all of them. It is a function because a question's answer leads back to it.
func bindings() []binding {
	return []binding{
		{[]string{"right", "l", "space", "enter"}, "→ l Space", "a step forwards", does(func(m *Model) { m.by(1) })},
		{[]string{"left", "h", "backspace"}, "← h", "a step back", does(func(m *Model) { m.by(-1) })},
		{[]string{"pgdown"}, "PgDn", "ten steps forwards", does(func(m *Model) { m.by(10) })},
		{[]string{"pgup"}, "PgUp", "ten steps back", does(func(m *Model) { m.by(-10) })},
		{[]string{"home"}, "Home", "to the beginning", does(func(m *Model) { m.by(-m.run.Place.Step) })},
		{[]string{"end"}, "End", "to the last step", does(func(m *Model) { m.by(len(m.run.Steps) - m.run.Place.Step) })},
		{[]string{"down", "j"}, "↓ j", "scroll down", does(func(m *Model) { m.top++ })},
		{[]string{"up", "k"}, "↑ k", "scroll up", does(func(m *Model) { m.top = max(0, m.top-1) })},
		{[]string{"tab"}, "Tab", "the next view", does(func(m *Model) { m.turn(1) })},
		{[]string{"shift+tab"}, "Shift-Tab", "the view before", does(func(m *Model) { m.turn(-1) })},
		{[]string{"."}, ".", "the next cell, with what it means; the same thing is marked in every view", does(func(m *Model) { m.move(1) })},
		{[]string{","}, ",", "the cell before", does(func(m *Model) { m.move(-1) })},
		{[]string{"w"}, "w", "who wrote this byte? (the one at the cursor, or PAGE:OFFSET)", does((*Model).who)},
		{[]string{"/"}, "/", "go on until a condition holds, as in: irq and overrun >= 3", does(func(m *Model) { m.ask(&untilQuestion) })},
		{[]string{"]"}, "]", "the next step of that condition, or of any kind", does(func(m *Model) { m.kind(false) })},
		{[]string{"["}, "[", "the one before", does(func(m *Model) { m.kind(true) })},
		{[]string{"f"}, "f", "find choices that lead to a condition", does(func(m *Model) { m.ask(&findQuestion) })},
		{[]string{"g"}, "g", "go to a step by its number, or to a place", does(func(m *Model) { m.ask(&goQuestion) })},
		{[]string{"s", "i", "n"}, "s i n", "a softirq, an irq, an NMI comes here", (*Model).choose},
		{[]string{"a", "b"}, "a b", "a reader makes its next operation: for an event, for a page", (*Model).choose},
		{[]string{"r", "p"}, "r p", "a reader takes an event, a page, as one step", (*Model).choose},
		{[]string{"c", "z", "m"}, "c z m", "the other CPU goes on, the map is reset, the task moves", (*Model).choose},
		{[]string{"u"}, "u", "take back what was chosen last", does((*Model).undo)},
		{[]string{"v"}, "v", "the list of all steps", does((*Model).showList)},
		{[]string{"o"}, "o", "mouse off (to mark text with it) and on: a click chooses a cell, a second one asks who wrote it, and names in the last line but one are views; the wheel scrolls, and with Ctrl, Alt or Shift it walks", does(func(m *Model) { m.noMouse = !m.noMouse })},
		{[]string{"?"}, "?", "all keys", does(func(m *Model) { m.helps, m.top = true, 0 })},
		{[]string{"q", "ctrl+c", "esc"}, "q", "end, and print the place", func(*Model, string) tea.Cmd { return tea.Quit }},
	}
}

func (m *Model) press(key string) tea.Cmd {
	for _, b := range bindings() {
		if slices.Contains(b.keys, key) {
			return b.do(m, key)
		}
	}
	m.said = key + " does nothing; ? lists all keys"
	return nil
}

func (m *Model) showList() { m.lists, m.follows, m.top = true, true, 0 }

// pressInList walks in the list, or leaves it. Keys that have nothing to do with it leave
// it first.
func (m *Model) pressInList(key string) tea.Cmd {
	switch key {
	case "down", "j":
		m.by(1)
		return nil
	case "up", "k":
		m.by(-1)
		return nil
	}
	if walks := []string{"pgdown", "pgup", "home", "end", "right", "left"}; slices.Contains(walks, key) {
		return m.press(key)
	}
	m.lists, m.top, m.follows = false, 0, true
	if leaves := []string{"v", "enter", "esc", "space"}; slices.Contains(leaves, key) {
		return nil
	}
	return m.press(key)
}

// A question is what a line is typed for.
type question struct {
	prompt string
	answer func(m *Model, text string) tea.Cmd
}

var (
	untilQuestion = question{"until: ", func(m *Model, text string) tea.Cmd {
		if text == "" {
			m.want, m.said = nil, "[ and ] go to steps of any kind again"
			return nil
		}
		c, err := lab.ParseCondition(text)
		if err != nil {
			m.say(err)
			return nil
		}
		m.want = &c
		m.kind(false)
		return nil
	}}
	findQuestion = question{"find: ", func(m *Model, text string) tea.Cmd {
		c, err := lab.ParseCondition(text)
		if err != nil {
			m.say(err)
			return nil
		}
		m.said, m.searching = "searching ...", true
		from := m.run.Place
		return func() tea.Msg {
			f, err := lab.Find(from, c, lab.Search{})
			return found{f, err}
		}
	}}
	goQuestion = question{"step or place: ", func(m *Model, text string) tea.Cmd {
		p := m.run.Place
		if n, err := strconv.Atoi(text); err == nil {
			m.by(n - p.Step)
			return nil
		}
		p, err := lab.ParsePlace(text)
		if err != nil {
			m.say(err)
			return nil
		}
		m.play(p)
		return nil
	}}
	whoQuestion = question{"byte, as 1:0x24: ", func(m *Model, text string) tea.Cmd { m.wrote(text); return nil }}
)

func (m *Model) ask(q *question) {
	if m.searching {
		m.said = "searching ..."
		return
	}
	m.asks, m.typed = q, ""
}

// maxTyped is how long an answer may be.
const maxTyped = 4000

// types takes a key of somebody who answers a question.
func (m *Model) types(msg tea.KeyPressMsg) tea.Cmd {
	switch key := msg.String(); key {
	case "enter":
		q := m.asks
		m.asks = nil
		return q.answer(m, strings.TrimSpace(m.typed))
	case "esc", "ctrl+c":
		m.asks = nil
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(m.typed)
		m.typed = m.typed[:len(m.typed)-n]
	case "ctrl+u":
		m.typed = ""
	default:
		if text := strings.Map(printable, msg.Text); len(m.typed)+len(text) <= maxTyped {
			m.typed += text
		}
	}
	return nil
}

// printable drops what would move the terminal's cursor.
func printable(r rune) rune {
	if strconv.IsPrint(r) {
		return r
	}
	return -1
}

// who asks who wrote a byte.
func (m *Model) who() {
	if at := m.cell().At; at != "" {
		m.wrote(at)
		return
	}
	if m.run.Moment.Ring == nil {
		m.said = "this scenario has no ring buffer"
		return
	}
	m.ask(&whoQuestion)
}

func (m *Model) wrote(at string) {
	before, after, _ := strings.Cut(at, ":")
	page, err1 := strconv.Atoi(strings.TrimSpace(before))
	offset, err2 := strconv.ParseUint(strings.TrimSpace(after), 0, 24)
	if err1 != nil || err2 != nil {
		m.said = fmt.Sprintf("%q: want the number of a page and an offset on it, as 1:0x24", at)
		return
	}
	p, err := lab.Wrote(m.run.Place, page, int(offset))
	if err != nil {
		m.say(err)
		return
	}
	m.play(p)
}
