package lab

import (
	"errors"
	"strings"
	"testing"
)

// The scenario tracefs is there when there is a machine. Its commands run once.
func TestTracefs(t *testing.T) {
	t.Cleanup(func() { console.Store(nil) })
	if _, err := ParsePlace("tracefs?step=1"); err == nil {
		t.Error("the scenario tracefs is there without a machine")
	}
	ran := 0
	UseConsole(func() (Console, error) {
		return func(command string) (string, error) {
			if ran++; command == shownFiles {
				return "tracing_on: 1\n", nil
			}
			return "<b>" + command + "\x1b[31m\n", nil
		}, nil
	})
	for n := range len(commands) + 1 {
		r, err := Play(Place{Scenario: "tracefs", Step: n})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, &r.Moment); n > 0 && !strings.Contains(got, "<b>"+commands[n-1].command) || !strings.Contains(got, "tracing_on 1") {
			t.Errorf("step %d shows\n%s", n, got)
		}
	}
	if want := 2*len(commands) + 1; ran != want {
		t.Errorf("%d commands ran, want %d", ran, want)
	}
	broken := errors.New("broken")
	UseConsole(func() (Console, error) { return nil, broken })
	if _, err := Play(Place{Scenario: "tracefs"}); !errors.Is(err, broken) {
		t.Errorf("a machine that does not boot: %v", err)
	}
	UseConsole(func() (Console, error) { return func(string) (string, error) { return "", broken }, nil })
	if _, err := Play(Place{Scenario: "tracefs"}); !errors.Is(err, broken) {
		t.Errorf("a machine that stops: %v", err)
	}
}
