package lessons

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ftracelab/lab"
)

// A Machine is a simulated machine with a shell in its tracefs. A [Boot] makes a fresh one.
type Machine interface {
	// Run runs a script and returns all that it prints, on both outputs. Files keep
	// what was written to them from one Run to the next; variables do not. An error
	// is not that a command has failed, but that no command can run any more.
	Run(ctx context.Context, script string) (string, error)
}

// A Boot starts a machine, with flags of ftracelab shell.
type Boot func(flags []string) (Machine, error)

// play is a place that was parsed and played.
func play(place string) (*lab.Run, error) {
	p, err := lab.ParsePlace(strings.TrimSpace(place))
	if err != nil {
		return nil, err
	}
	return lab.Play(p)
}

// draw is a view of a run as text. Lines are broken at the width, unless it is 0.
func draw(r *lab.Run, view string, width int) (string, error) {
	var s strings.Builder
	switch view {
	case "place":
		return r.Place.String() + "\n", nil
	case "steps":
		for i, step := range r.Steps {
			fmt.Fprintf(&s, "%6d  %-8s %s\n", i+1, step.Who, step.What)
		}
		return s.String(), nil
	}
	p, err := r.Moment.Picture(view)
	if err != nil {
		return "", err
	}
	err = p.Text(&s, width)
	return s.String(), err
}

// text is what can be seen there.
func (s *Sight) text(session string, width int) (string, error) {
	if s.Place == "" {
		return session, nil
	}
	r, err := play(s.Place)
	if err != nil {
		return "", err
	}
	return draw(r, s.View, width)
}

// find looks for what has to stand there. The group of the expression is returned, or
// "" if it has none.
func (s *Sight) find(session string) (string, error) {
	text, err := s.text(session, 0)
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(s.Match).FindStringSubmatch(text) // Parse has compiled it
	if m == nil {
		return "", fmt.Errorf("%q %s does not match %q:\n%s", s.Place, s.View, s.Match, text)
	}
	if len(m) == 1 {
		return "", nil
	}
	return m[1], nil
}

// session is what the commands print on a fresh machine, each behind its line.
func (l *Lesson) session(ctx context.Context, boot Boot) (string, error) {
	if l.commands() == nil {
		return "", nil
	}
	m, err := boot(l.Boot)
	if err != nil {
		return "", err
	}
	var s strings.Builder
	for _, c := range l.commands() {
		out, err := m.Run(ctx, c)
		if err != nil {
			return "", err
		}
		s.WriteString("# " + c + "\n" + out)
	}
	return s.String(), nil
}

// Verify plays the lesson. The errors are all claims of it that the engine does not
// bear out: an answer that does not stand where the question says, a solution that is
// refused, a mistake that is not.
func (l *Lesson) Verify(ctx context.Context, boot Boot) error {
	session, err := l.session(ctx, boot)
	if err != nil {
		return err
	}
	var errs []error
	for _, b := range l.Blocks {
		if b.Show != nil {
			if _, err := b.Show.find(session); err != nil {
				errs = append(errs, err)
			}
		}
		if b.Question != nil {
			errs = append(errs, b.Question.verify(session))
		}
	}
	e := l.exercise()
	if right, say := e.judge(ctx, boot, l.Boot, e.Solution); !right {
		errs = append(errs, fmt.Errorf("the solution is refused: %s", say))
	}
	for _, m := range e.Mistakes {
		right, say := e.judge(ctx, boot, l.Boot, m.Try)
		if right || !strings.Contains(say, m.Say) {
			errs = append(errs, fmt.Errorf("the mistake %q gets: %v, %s", m.Try, right, say))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("lessons: lesson %d: %w", l.Number, err)
	}
	return nil
}

func (q *Question) verify(session string) error {
	for _, s := range q.Shown {
		got, err := s.find(session)
		if err != nil {
			return fmt.Errorf("%s: %w", q.ID, err)
		}
		if got != "" && q.Kind != Choices && !q.accepts(got) {
			return fmt.Errorf("%s: the lesson says %s, and the engine %s", q.ID, q.Answer, got)
		}
	}
	return nil
}

// judge looks at what a learner has reached, and says why it is not what was asked for.
func (e *Exercise) judge(ctx context.Context, boot Boot, flags []string, given string) (right bool, say string) {
	if e.Kind == Places {
		r, err := play(given)
		if err != nil {
			return false, err.Error()
		}
		return e.judgeState(func(c Check) (string, error) { return draw(r, c.View, 0) })
	}
	m, err := boot(flags)
	if err != nil {
		return false, err.Error()
	}
	for _, c := range append(e.Setup[:len(e.Setup):len(e.Setup)], given) {
		if _, err := m.Run(ctx, c); err != nil {
			return false, err.Error()
		}
	}
	return e.judgeMachine(ctx, m)
}

// judgeMachine looks at the machine of a learner.
func (e *Exercise) judgeMachine(ctx context.Context, m Machine) (right bool, say string) {
	return e.judgeState(func(c Check) (string, error) { return m.Run(ctx, c.Run) })
}

func (e *Exercise) judgeState(look func(Check) (string, error)) (right bool, say string) {
	for _, c := range e.Checks {
		text, err := look(c)
		if err != nil {
			return false, err.Error()
		}
		if c.Match != "" && !regexp.MustCompile(c.Match).MatchString(text) ||
			c.Absent != "" && regexp.MustCompile(c.Absent).MatchString(text) {
			return false, c.Say
		}
	}
	return true, e.Right
}
