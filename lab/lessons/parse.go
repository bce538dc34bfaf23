package lessons

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ftracelab/internal/strictyaml"
	"ftracelab/lab"
)

// maxText is how large the file of a lesson may be.
const maxText = 256 << 10

// exerciseID is the name of the exercise among the answers of a learner.
const exerciseID = "exercise"

// Parse reads the file of a lesson; name is what errors call it.
//
// An error names the line where the faulty block begins, and what is wrong in it.
func Parse(name string, text []byte) (*Lesson, error) {
	l, line, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("lessons: %s:%d: %w", name, line, err)
	}
	return l, nil
}

// parse reads a lesson. With an error comes the line to which it belongs.
func parse(text []byte) (*Lesson, int, error) {
	if len(text) > maxText {
		return nil, 1, fmt.Errorf("the lesson is larger than %d bytes", maxText)
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if lines[0] != "---" {
		return nil, 1, errors.New("a lesson begins with a line ---, then number, title, minutes, goal and next, then --- again")
	}
	end := 1
	for end < len(lines) && lines[end] != "---" {
		end++
	}
	if end == len(lines) {
		return nil, 1, errors.New("there is no second line ---")
	}
	// Only the keys above stand here, so the blocks are not a part of what is decoded.
	var head struct {
		Number  int      `yaml:"number"`
		Title   string   `yaml:"title"`
		Minutes int      `yaml:"minutes"`
		Goal    string   `yaml:"goal"`
		Next    string   `yaml:"next"`
		Boot    []string `yaml:"boot"`
	}
	if err := strictyaml.Decode([]byte(strings.Join(lines[1:end], "\n")), &head); err != nil {
		return nil, 1, err
	}
	l := &Lesson{Number: head.Number, Title: head.Title, Minutes: head.Minutes, Goal: head.Goal, Next: head.Next, Boot: head.Boot}
	if l.Number < 1 || l.Minutes < 1 || l.Title == "" || l.Goal == "" || l.Next == "" {
		return nil, 1, errors.New("number, title, minutes, goal and next must be given")
	}
	var prose []string
	flush := func() {
		if s := strings.Trim(strings.Join(prose, "\n"), "\n"); s != "" {
			l.Blocks = append(l.Blocks, Block{Text: s})
		}
		prose = nil
	}
	for at := end + 1; at < len(lines); at++ {
		kind, fence := strings.CutPrefix(lines[at], "```")
		if !fence {
			prose = append(prose, lines[at])
			continue
		}
		from := at
		for at++; at < len(lines) && lines[at] != "```"; at++ {
		}
		if at == len(lines) {
			return nil, from + 1, errors.New("the block does not end; its last line is ```")
		}
		body := lines[from+1 : at]
		if kind == "text" {
			prose = append(prose, lines[from:at+1]...)
			continue
		}
		flush()
		b, err := parseBlock(kind, body)
		if err != nil {
			return nil, from + 1, err
		}
		l.Blocks = append(l.Blocks, b)
	}
	flush()
	return l, 1, l.check()
}

func parseBlock(kind string, body []string) (b Block, err error) {
	text := []byte(strings.Join(body, "\n"))
	switch kind {
	case "run":
		for _, line := range body {
			if strings.TrimSpace(line) != "" {
				b.Run = append(b.Run, line)
			}
		}
		if b.Run == nil {
			return b, errors.New("run: there is no command")
		}
		return b, nil
	case "show":
		b.Show = &Sight{}
		if err = strictyaml.Decode(text, b.Show); err == nil {
			err = b.Show.check()
		}
		if err == nil && b.Show.Place == "" {
			err = errors.New("there is no place")
		}
	case "question":
		b.Question = &Question{}
		if err = strictyaml.Decode(text, b.Question); err == nil {
			err = b.Question.check()
		}
	case "exercise":
		b.Exercise = &Exercise{}
		if err = strictyaml.Decode(text, b.Exercise); err == nil {
			err = b.Exercise.check()
		}
	default:
		return b, fmt.Errorf("a block %q; there are run, show, question, exercise and text", kind)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", kind, err)
	}
	return b, err
}

func (l *Lesson) check() error {
	seen, exercises := map[string]bool{exerciseID: true}, 0
	for _, b := range l.Blocks {
		if b.Exercise != nil {
			exercises++
		}
		if q := b.Question; q != nil {
			if seen[q.ID] {
				return fmt.Errorf("two questions are called %s", q.ID)
			}
			seen[q.ID] = true
		}
	}
	if exercises != 1 {
		return fmt.Errorf("there are %d exercises; a lesson has one", exercises)
	}
	return nil
}

func (s *Sight) check() error {
	if s.Place != "" {
		if _, err := lab.ParsePlace(s.Place); err != nil {
			return err
		}
		if s.View == "" {
			return errors.New("a place needs a view")
		}
	}
	_, err := regexp.Compile(s.Match)
	return err
}

var ids = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func (q *Question) check() error {
	if !ids.MatchString(q.ID) {
		return fmt.Errorf("id %q; it is a word of small letters", q.ID)
	}
	if q.Ask == "" {
		return errors.New("there is no ask")
	}
	if q.Shown == nil && q.Source == "" {
		return errors.New("neither shown nor source says where the answer is from")
	}
	for _, s := range q.Shown {
		if err := s.check(); err != nil {
			return err
		}
		if s.Match == "" {
			return errors.New("shown: there is no match")
		}
	}
	switch q.Kind {
	case Choices:
		return q.checkChoices()
	case Number, Word:
		if q.Choices != nil {
			return fmt.Errorf("a %s has no choices", q.Kind)
		}
		if q.Answer == "" || q.Right == "" || q.Otherwise == "" {
			return fmt.Errorf("a %s needs answer, right and otherwise", q.Kind)
		}
		if _, err := number(q.Answer); q.Kind == Number && err != nil {
			return err
		}
		return q.checkWrong()
	}
	return fmt.Errorf("kind %q; there are choice, number and word", q.Kind)
}

// checkWrong lets no two answers that mean the same have an explanation of their own.
func (q *Question) checkWrong() error {
	wrong := slices.Sorted(maps.Keys(q.Wrong))
	for i, w := range wrong {
		if q.accepts(w) {
			return fmt.Errorf("the answer %s is both right and wrong", w)
		}
		if _, err := number(w); q.Kind == Number && err != nil {
			return fmt.Errorf("wrong: %w", err)
		}
		for _, v := range wrong[:i] {
			if q.same(v, w) {
				return fmt.Errorf("the wrong answer %s is there twice", w)
			}
		}
	}
	return nil
}

func (q *Question) checkChoices() error {
	right := 0
	for _, c := range q.Choices {
		if c.Text == "" || c.Say == "" {
			return errors.New("a choice needs text and say")
		}
		if c.Right {
			right++
		}
	}
	switch {
	case right != 1 || len(q.Choices) < 2 || len(q.Choices) > 26:
		return fmt.Errorf("%d of %d choices are right; one of two or more has to be", right, len(q.Choices))
	case q.Answer != "" || q.Right != "" || q.Wrong != nil || q.Otherwise != "":
		return errors.New("a choice says in each of its choices whether it is right, and why")
	}
	return nil
}

func (e *Exercise) check() error {
	if e.Kind != Places && e.Kind != Commands {
		return fmt.Errorf("kind %q; there are place and commands", e.Kind)
	}
	if e.Ask == "" || e.Hint == "" || e.Right == "" || e.Solution == "" || e.Checks == nil || e.Mistakes == nil {
		return errors.New("ask, hint, right, solution, checks and mistakes must be given")
	}
	if e.Kind == Places && e.Setup != nil {
		return errors.New("only commands have a setup")
	}
	for _, c := range e.Checks {
		_, match := regexp.Compile(c.Match)
		_, absent := regexp.Compile(c.Absent)
		switch {
		case match != nil || absent != nil:
			return errors.Join(match, absent)
		case c.Say == "" || c.Match == "" && c.Absent == "":
			return errors.New("a check needs say, and match or absent")
		case e.Kind == Places && (c.View == "" || c.Run != ""):
			return errors.New("a check of a place needs a view, and no run")
		case e.Kind == Commands && (c.Run == "" || c.View != ""):
			return errors.New("a check of commands needs a run, and no view")
		}
	}
	for _, m := range e.Mistakes {
		if m.Try == "" || m.Say == "" {
			return errors.New("a mistake needs try and say")
		}
	}
	return nil
}
