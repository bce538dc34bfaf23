package lab

import (
	"slices"
	"strings"
	"testing"

	"ftracelab/internal/explore"
	"ftracelab/unwind/cookie"
)

// The events of a stay share a cookie, and get its stack; a stack that is lost makes
// events without one; a task that exits, and a kernel thread, have no cookie.
func TestCookies(t *testing.T) {
	end := played(t, "cookies?step=last").Moment.Stay
	stays := map[cookie.ID]int{}
	var what []Joined
	for _, h := range end.Happened {
		if h.Kind == AnEvent {
			stays[h.Cookie]++
			what = append(what, h.Joined)
		}
	}
	want := []Joined{Found, Found, Found, Found, NoStack, Found, Found, NoStack, NoStack}
	if !slices.Equal(what, want) {
		t.Errorf("the events are %v, want %v", what, want)
	}
	if len(stays) != 6 || stays[0] != 2 || stays[cookie.New(0, 3)] != 2 || stays[cookie.New(0, 5)] != 2 || stays[cookie.New(1, 3)] != 1 {
		t.Errorf("events by cookie: %v", stays)
	}
	if end.Lost != 1 {
		t.Errorf("%d stacks are lost", end.Lost)
	}
	if got := viewed(t, played(t, "cookies?step=3"), "timeline"); strings.Count(got, "3/cpu0 waits") != 2 || !strings.Contains(got, "walk queued") {
		t.Errorf("in the middle of a stay:\n%s", got)
	}
}

// Wherever an NMI or a migration comes, an event gets the stack of its own stay or none.
func TestEveryStay(t *testing.T) {
	result, err := explore.Run(0, func(tape *explore.Tape) error {
		p := Place{Scenario: "cookies", Step: Last}
		steps := len(played(t, "cookies?step=last").Steps)
		for after, left := 0, 2; after < steps && left > 0; {
			at, err := Play(Place{Scenario: "cookies", Choices: p.Choices, Step: after})
			if err != nil {
				return err
			}
			n := tape.Choose(1 + len(at.Moment.Can))
			if n == 0 {
				after++
				continue
			}
			p.Choices = append(p.Choices, Choice{after, at.Moment.Can[n-1]})
			steps, left, after = steps+1, left-1, after+1
		}
		r, err := Play(p)
		if err != nil {
			return err
		}
		stacks, in := map[cookie.ID]bool{}, 0
		for _, h := range r.Moment.Stay.Happened {
			if h.Kind == AStack {
				stacks[h.Cookie] = true
			}
		}
		for _, h := range r.Moment.Stay.Happened {
			if h.Kind != AnEvent && h.Kind != InNMI {
				continue
			}
			if in++; (h.Joined == Found) != stacks[h.Cookie] {
				t.Errorf("%v: %s with cookie %v is %s", r.Place, h.What, h.Cookie, h.Joined)
			}
		}
		tape.State(uint64(in))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Log(result)
}
