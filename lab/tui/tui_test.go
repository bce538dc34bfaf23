//go:build !js

package tui

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ftracelab/lab"
)

// press gives the model keys, by their names.
func press(m *Model, keys ...string) (quit bool) {
	codes := map[string]rune{
		"right": tea.KeyRight, "left": tea.KeyLeft, "home": tea.KeyHome, "end": tea.KeyEnd, "tab": tea.KeyTab,
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "up": tea.KeyUp, "down": tea.KeyDown,
	}
	for _, k := range keys {
		key := tea.Key{Text: k, Code: []rune(k)[0]}
		if code, ok := codes[k]; ok {
			key = tea.Key{Code: code}
		}
		_, cmd := m.Update(tea.KeyPressMsg(key))
		quit = quit || cmd != nil
	}
	return quit
}

var escapes = regexp.MustCompile("\x1b\\[[0-9]+m")

func plain(m *Model) string { return escapes.ReplaceAllString(m.screen(), "") }

func start(t *testing.T, place string, width, height int) *Model {
	t.Helper()
	p, err := lab.ParsePlace(place)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// The screens are the ones in testdata; UPDATE=1 writes them.
func TestScreens(t *testing.T) {
	for name, c := range map[string]struct {
		place         string
		width, height int
		keys          []string
	}{
		"start":     {"nested?step=0", 80, 24, nil},
		"interrupt": {"nested?step=14", 80, 24, []string{"i", "tab"}},
		"refused":   {"nested?step=14", 80, 24, []string{"r"}},
		"wide":      {"overwrite?step=last", 132, 40, []string{"tab"}},
		"tiny":      {"overwrite?step=20", 20, 5, []string{"down", "down"}},
		"shadow":    {"shadow?step=2", 80, 24, nil},
		"algorithm": {"nested?do=7i&step=14", 80, 24, []string{"tab", "tab", "tab", "tab", "tab", "right"}},
		"list":      {"nested?do=7i&step=14", 80, 24, []string{"v", "down"}},
	} {
		m := start(t, c.place, c.width, c.height)
		press(m, c.keys...)
		got := plain(m) + "\n"
		file := filepath.Join("testdata", name+".txt")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
		if n := strings.Count(got, "\n"); n > c.height && c.height > 2 {
			t.Errorf("%s has %d lines of %d", name, n, c.height)
		}
	}
}

// Keys lead forwards, backwards and to an interrupt, and take it back.
func TestKeys(t *testing.T) {
	m := start(t, "nested?step=0", 80, 24)
	first := plain(m)
	press(m, "right", "right", "pgdown")
	if got := m.Place().Step; got != 12 {
		t.Errorf("step %d, want 12", got)
	}
	press(m, "right", "right", "i", "end")
	if got := m.Place().String(); got != "nested?do=14i&step=34&v=1" {
		t.Error(got)
	}
	press(m, "[")
	if got := m.run.Moment.Step.Who; got != "irq" {
		t.Errorf("the step before of a kind is by %s", got)
	}
	press(m, "u", "home")
	if got := plain(m); got != first {
		t.Errorf("back at the beginning:\n%s\nwas\n%s", got, first)
	}
	press(m, "left", "u")
	if m.said != "nothing was chosen" {
		t.Error(m.said)
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown, Mod: tea.ModCtrl})
	if got := m.Place().Step; got != 1 {
		t.Errorf("the wheel leads to step %d", got)
	}
	if !press(m, "q") {
		t.Error("q does not end it")
	}
	if _, err := New(lab.Place{Scenario: "nothing"}); err == nil {
		t.Error("a scenario called nothing")
	}
}

// A cell at the cursor says what it is, and is marked in the other view that shows it; w
// leads from a byte to the step that wrote it. The help names every key, and scrolls.
func TestCursor(t *testing.T) {
	m := start(t, "nested?do=14i&step=last", 80, 24)
	press(m, "tab")
	for range 200 {
		press(m, ".")
		if m.cell().At == "1:36" {
			break
		}
	}
	if c := m.cell(); c.At != "1:36" || c.Text != "69" || !strings.Contains(plain(m), "byte 1:36 of page:offset") {
		t.Fatalf("the cursor is at %+v\n%s", c, plain(m))
	}
	marked := strings.Count(m.screen(), "\x1b[7m")
	press(m, "tab")
	if c := m.cell(); c.Ref != "page-1-32" || strings.Count(m.screen(), "\x1b[7m") < 2 || marked != 8 {
		t.Errorf("in the other view it is %+v; %d bytes were marked", c, marked)
	}
	press(m, "w")
	if m.asks == nil {
		t.Error("a cell that is no byte: nothing is asked")
	}
	press(m, "1", ":", "0", "x", "2", "4")
	m.Update(tea.KeyPressMsg(tea.Key{Code: tea.KeyEnter}))
	if s := m.run.Moment.Step; s.Who != "irq" || s.What != `has filled it with "irq!"` {
		t.Errorf("written by %s: %s; %s", s.Who, s.What, m.said)
	}
	press(m, "?")
	help := ""
	for range 60 {
		help += plain(m)
		press(m, "down")
	}
	for _, b := range bindings() {
		if about, _, _ := strings.Cut(b.about, " "); b.about == "" || !strings.Contains(help, b.shown+" ") || !strings.Contains(help, about) {
			t.Errorf("the help does not say what %s does", b.shown)
		}
	}
	if press(m, "x"); m.helps {
		t.Error("the help stays")
	}
	press(m, "F")
	if m.said != "F does nothing; ? lists all keys" {
		t.Error(m.said)
	}
}

// place is where a text stands on the screen.
func place(t *testing.T, m *Model, text string) (x, y int) {
	t.Helper()
	for y, line := range strings.Split(plain(m), "\n") {
		if at := strings.Index(line, text); at >= 0 {
			return utf8.RuneCountInString(line[:at]), y
		}
	}
	t.Fatalf("%q is not on the screen\n%s", text, plain(m))
	return 0, 0
}

func clickOn(t *testing.T, m *Model, text string) {
	t.Helper()
	x, y := place(t, m, text)
	m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	plain(m)
}

// A click chooses the cell under it, in a window that is scrolled as well; a second click
// on a byte leads to the step that wrote it. The names of the views and the lines of the
// list lead there. The wheel scrolls.
func TestMouse(t *testing.T) {
	m := start(t, "nested?do=14i&step=last", 80, 12)
	plain(m)
	clickOn(t, m, "page bits")
	if m.shown() != "page" {
		t.Fatalf("the view is %s", m.shown())
	}
	for range 3 {
		m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		plain(m)
	}
	if m.top < 6 || m.Place().Step != 34 {
		t.Errorf("the wheel leads to line %d of step %d", m.top, m.Place().Step)
	}
	clickOn(t, m, "69 72 71")
	if c := m.cell(); c.At != "1:36" || c.Text != "69" {
		t.Errorf("the click chooses %+v\n%s", c, plain(m))
	}
	clickOn(t, m, "69 72 71")
	if s := m.run.Moment.Step; s.Who != "irq" || s.What != `has filled it with "irq!"` {
		t.Errorf("the second click leads to %s: %s; %s", s.Who, s.What, m.said)
	}
	m.Update(tea.MouseClickMsg{X: 79, Y: 0, Button: tea.MouseLeft})
	press(m, "v")
	clickOn(t, m, "task     point E")
	if s := m.run.Moment.Step; m.lists || s.What != "point E" {
		t.Errorf("the list leads to %s: %s", s.Who, s.What)
	}
	press(m, "?")
	m.Update(tea.MouseClickMsg{X: 2, Y: 2, Button: tea.MouseLeft})
	if m.helps {
		t.Error("a click does not end the help")
	}
	for y := range 20 { // anywhere
		for x := range 90 {
			m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			plain(m)
		}
	}
}
