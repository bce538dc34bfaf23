// Package explore runs a test for every sequence of choices that it can make.
//
// Wherever different things could happen, the test asks its Tape which of them does: an
// interrupt comes here or not, a reader takes a step or not. Run calls the test again
// and again, each time with the next tape, until all tapes have been tried. So "in
// every order" is meant literally, within the limits that the test sets itself. If a
// tape fails, the error has it as text, and Replay runs that tape alone:
//
//	tape 0.2.1.0.0.3: the reader page is in the ring
//
// This is stateless model checking by replay. The test must do the same whenever the
// tape is the same.
package explore

import (
	"fmt"
	"strconv"
	"strings"
)

// Tape holds the choices of one run.
type Tape struct {
	choices []choice
	pos     int
	states  map[uint64]struct{}
	steps   int
}

type choice struct{ taken, of int }

// Choose gives a number from 0 to n-1. It panics if n was different in an earlier run
// with the same choices before it, because the test is not deterministic then.
func (t *Tape) Choose(n int) int {
	if t.pos == len(t.choices) {
		t.choices = append(t.choices, choice{0, n})
	}
	c := &t.choices[t.pos]
	if c.of == 0 {
		c.of = n
	}
	if c.of != n || c.taken >= n {
		panic(fmt.Sprintf("explore: invariant: choice %d is of %d, was of %d", t.pos, n, c.of))
	}
	t.pos++
	return c.taken
}

// State counts a step, and the state to which it has led; hash identifies the state.
func (t *Tape) State(hash uint64) {
	t.steps++
	t.states[hash] = struct{}{}
}

// String is the choices made so far, for Replay.
func (t *Tape) String() string {
	var s strings.Builder
	for i, c := range t.choices[:t.pos] {
		if i > 0 {
			s.WriteByte('.')
		}
		s.WriteString(strconv.Itoa(c.taken))
	}
	return s.String()
}

// Result tells how much Run has seen.
type Result struct {
	Runs   int  // how many tapes were tried
	Steps  int  // how often State was called
	States int  // how many different states there were
	All    bool // all tapes were tried
}

func (r Result) String() string {
	return fmt.Sprintf("%d runs, %d steps, %d states", r.Runs, r.Steps, r.States)
}

// Run calls test with every tape, or with limit of them if limit is above 0 and there
// are more. It stops at the first error, which names the tape.
func Run(limit int, test func(*Tape) error) (Result, error) {
	t := &Tape{states: map[uint64]struct{}{}}
	for r := (Result{}); ; {
		t.pos = 0
		err := test(t)
		r.Runs++
		r.Steps, r.States = t.steps, len(t.states)
		if err != nil {
			return r, fmt.Errorf("tape %s: %w", t, err)
		}
		if !t.next() {
			r.All = true
			return r, nil
		}
		if r.Runs == limit {
			return r, nil
		}
	}
}

// next makes the tape the one that follows: the last choice that has a further
// alternative takes it, and the choices behind it are forgotten.
func (t *Tape) next() bool {
	for n := t.pos; n > 0; n-- {
		if c := &t.choices[n-1]; c.taken+1 < c.of {
			c.taken++
			t.choices = t.choices[:n]
			return true
		}
	}
	return false
}

// Replay runs test with a single tape, in the form that Run prints. Behind the end of
// the tape, all choices are 0.
func Replay(tape string, test func(*Tape) error) error {
	t := &Tape{states: map[uint64]struct{}{}}
	if tape != "" {
		for i, word := range strings.Split(tape, ".") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 {
				return fmt.Errorf("explore: tape %q: choice %d is %q", tape, i, word)
			}
			t.choices = append(t.choices, choice{taken: n})
		}
	}
	if err := test(t); err != nil {
		return fmt.Errorf("tape %s: %w", t, err)
	}
	return nil
}
