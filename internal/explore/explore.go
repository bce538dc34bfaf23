// Package explore runs a test for every sequence of choices that it can make.
//
// The test asks its Tape what to do wherever something else could happen: an
// interrupt here or not, a step of a reader or none. Run calls it again and again,
// each time with the next tape, until all have been tried; so "in every order"
// is meant literally, within the bounds that the test sets itself. A tape that
// fails is given as text, and Replay runs that one alone:
//
//	tape 0.2.1.0.0.3: the reader page is in the ring
//
// It is stateless model checking by replay: the test must do the same whenever
// the tape says the same.
package explore

import (
	"fmt"
	"strconv"
	"strings"
)

// Tape is the choices of one run.
type Tape struct {
	choices []choice
	pos     int
	states  map[uint64]struct{}
	steps   int
}

type choice struct{ taken, of int }

// Choose is a number from 0 to n-1. It panics if n is not the same as when the
// choices so far were the same: the test is not deterministic then.
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

// State counts a step, and the state that it has led to, told by its hash.
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

// Result is how much Run has seen.
type Result struct {
	Runs   int  // tapes tried
	Steps  int  // calls of State
	States int  // different ones
	All    bool // there are no more tapes
}

func (r Result) String() string {
	return fmt.Sprintf("%d runs, %d steps, %d states", r.Runs, r.Steps, r.States)
}

// Run calls test with every tape there is, or with limit of them if that is
// above 0 and fewer. It stops at the first error, which names the tape.
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

// next makes the tape the one that follows: the last choice that has another
// alternative takes it, and what came behind is forgotten.
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

// Replay runs test with one tape as printed by Run. Behind its end all choices
// are 0.
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
