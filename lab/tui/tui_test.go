//go:build !js

package tui

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
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
