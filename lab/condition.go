package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Condition says which steps somebody looks for. It is one term, or several with
// " and " between, which must all hold:
//
//	swap               the step is of this kind (see KindNames)
//	irq                it is made by task, softirq, irq, nmi, reader, user, or cpu0
//	says update        its words contain this one
//	overrun >= 3       a number of the state; = < <= > >= compare
//
// A condition with a number holds at the step where it has become true.
type Condition struct {
	text  string
	terms []term
}

type term struct {
	kind   Kind
	who    string
	says   string
	number string
	op     string
	value  uint64
}

// Who can make a step, as a condition names them; the words of a step have "cpu 0".
var makers = []string{"task", "softirq", "irq", "nmi", "reader", "user", "kworker", "cpu0", "cpu1"}

// maxCondition is how long the text of a condition may be.
const maxCondition = 200

// ParseCondition reads a condition. The error names the term that is wrong, and what
// there is.
func ParseCondition(s string) (Condition, error) {
	c := Condition{text: s}
	if len(s) > maxCondition {
		return c, fmt.Errorf("lab: a condition of %d bytes; %d are enough", len(s), maxCondition)
	}
	for _, part := range strings.Split(s, " and ") {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return c, err
		}
		c.terms = append(c.terms, t)
	}
	return c, nil
}

func parseTerm(s string) (t term, err error) {
	if word, ok := strings.CutPrefix(s, "says "); ok && strings.TrimSpace(word) != "" {
		t.says = strings.TrimSpace(word)
		return t, nil
	}
	if i := strings.IndexAny(s, "<>="); i > 0 {
		rest := strings.TrimLeft(s[i:], "<>=")
		t.number, t.op = strings.TrimSpace(s[:i]), s[i:len(s)-len(rest)]
		if !slices.Contains([]string{"=", "<", "<=", ">", ">="}, t.op) {
			return t, fmt.Errorf("lab: condition %q: no comparison %q; there are = < <= > >=", s, t.op)
		}
		if t.value, err = strconv.ParseUint(strings.TrimSpace(rest), 10, 64); err != nil {
			return t, fmt.Errorf("lab: condition %q: %q is not a number", s, strings.TrimSpace(rest))
		}
		return t, nil
	}
	if slices.Contains(makers, s) {
		t.who = s
		return t, nil
	}
	if t.kind, err = ParseKind(s); err != nil {
		return t, fmt.Errorf("lab: condition %q: it is a kind of step (%s), who makes it (%s), says WORD, or NUMBER > 3",
			s, strings.Join(KindNames(), ", "), strings.Join(makers, ", "))
	}
	return t, nil
}

// String is the condition as it was written.
func (c Condition) String() string { return c.text }

// watch is a condition in a run.
type watch struct {
	Condition
	p      *player
	number bool // the condition has one
	held   bool // it did at the step before
}

// in lets a condition look at a run. The error says that there is no such number.
func (c Condition) in(p *player) (*watch, error) {
	w := &watch{Condition: c, p: p}
	for _, t := range c.terms {
		if t.number == "" {
			continue
		}
		w.number = true
		if p.values[t.number] == nil {
			names := slices.Sorted(maps.Keys(p.values))
			if names == nil {
				return w, fmt.Errorf("lab: condition %q: %s has no numbers to compare", c.text, p.place.Scenario)
			}
			return w, fmt.Errorf("lab: condition %q: no number %q in %s; there are %s", c.text, t.number, p.place.Scenario, strings.Join(names, ", "))
		}
	}
	return w, nil
}

// holds reports whether a step is one that is looked for. It is asked at each step once.
func (w *watch) holds(st Step) bool {
	now := !slices.ContainsFunc(w.terms, func(t term) bool { return !t.holds(w.p, st) })
	before := w.held
	w.held = now
	return now && !(w.number && before)
}

func (t term) holds(p *player, st Step) bool {
	switch {
	case t.who != "":
		return t.who == strings.ReplaceAll(st.Who, " ", "")
	case t.says != "":
		return strings.Contains(st.What, t.says)
	case t.number == "":
		return st.Kind&t.kind != 0
	}
	v := p.values[t.number]()
	switch t.op {
	case "=":
		return v == t.value
	case "<":
		return v < t.value
	case "<=":
		return v <= t.value
	case ">":
		return v > t.value
	}
	return v >= t.value
}

// ErrNoStep is what Until and Find return if there is no such step.
var ErrNoStep = errors.New("lab: no such step")

// Until is the place of the next step after p at which the condition holds, or, with
// back, of the last one before it. The error wraps ErrNoStep if there is none.
func Until(p Place, c Condition, back bool) (Place, error) {
	r, err := Play(p)
	if err != nil {
		return p, err
	}
	p = r.Place
	found := -1
	err = walk(p, c, func(pl *player, n int, holds bool) {
		switch {
		case back && n >= p.Step:
			pl.err = errEnough
		case holds && back:
			found = n
		case holds && n > p.Step:
			found, pl.err = n, errEnough
		}
	})
	if err != nil {
		return p, err
	}
	if found < 0 {
		where := "after"
		if back {
			where = "before"
		}
		return p, fmt.Errorf("%w: %q holds at no step %s %d", ErrNoStep, c.text, where, p.Step)
	}
	p.Step = found
	return p, nil
}

// walk plays a place and tells of each step whether the condition holds there. seen may
// end the run by setting the player's err to errEnough.
func walk(p Place, c Condition, seen func(pl *player, n int, holds bool)) error {
	sc, _ := find(p.Scenario)
	pl := &player{place: Place{Scenario: p.Scenario, Choices: p.Choices, Step: Last}, listed: true}
	var w *watch
	pl.look = func(n int, st Step) {
		if w == nil {
			if w, pl.err = c.in(pl); pl.err != nil {
				return
			}
		}
		if n > 0 {
			seen(pl, n, w.holds(st))
		}
	}
	sc.play(pl)
	if errors.Is(pl.err, errEnough) {
		return nil
	}
	return pl.err
}
