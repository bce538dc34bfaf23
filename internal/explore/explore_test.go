package explore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ftracelab/internal/explore"
)

func TestRunTriesAll(t *testing.T) {
	var seen []string
	r, err := explore.Run(0, func(t *explore.Tape) error {
		n := t.Choose(3)
		s := fmt.Sprint(n)
		if n == 1 {
			s += fmt.Sprint(t.Choose(2), t.Choose(2))
		}
		t.State(uint64(n))
		seen = append(seen, s)
		return nil
	})
	if got := strings.Join(seen, ","); err != nil || got != "0,10 0,10 1,11 0,11 1,2" {
		t.Errorf("%s, %v", got, err)
	}
	if r != (explore.Result{Runs: 6, Steps: 6, States: 3, All: true}) {
		t.Errorf("%+v", r)
	}
}

// A failing tape is named, and fails again when replayed.
func TestReplay(t *testing.T) {
	bad := errors.New("bad")
	test := func(t *explore.Tape) error {
		a, b, c := t.Choose(4), t.Choose(4), t.Choose(4)
		if a == 1 && b == 2 && c == 3 {
			return bad
		}
		return nil
	}
	r, err := explore.Run(0, test)
	if !errors.Is(err, bad) || err.Error() != "tape 1.2.3: bad" || r.Runs != 16+2*4+4 || r.All {
		t.Errorf("%v after %v", err, r)
	}
	if err := explore.Replay("1.2.3", test); !errors.Is(err, bad) {
		t.Errorf("replayed: %v", err)
	}
	if err := explore.Replay("1.2", test); err != nil {
		t.Errorf("shorter: %v", err)
	}
	for _, tape := range []string{"1.x", "-1"} {
		if err := explore.Replay(tape, test); err == nil {
			t.Errorf("%q is no tape", tape)
		}
	}
	if r, err := explore.Run(5, test); err != nil || r.Runs != 5 || r.All {
		t.Errorf("limited: %v, %v", r, err)
	}
}
