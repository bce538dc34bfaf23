package lessons

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// tries are how often a question is asked before its answer is told.
const tries = 3

// A Walk is how one learner goes through a lesson.
type Walk struct {
	Boot Boot
	In   io.Reader
	Out  io.Writer
	// Width is how long a line of text may be; 0 is 80.
	Width int
	// Terminal says that a person types: there is a pause before each section, and what
	// is typed is not printed once more.
	Terminal bool

	ctx    context.Context
	lines  *bufio.Scanner
	ended  bool // the input is at its end
	lesson *Lesson
	err    error // of Out, the machine or the context
}

// Lesson shows the lesson, asks its questions and reads the answers, one a line. A
// question is asked up to three times; the first answer counts. Without any input the
// lesson is shown, and nothing is answered.
func (w *Walk) Lesson(ctx context.Context, l *Lesson) (Grade, error) {
	w.ctx, w.lesson, w.lines = ctx, l, bufio.NewScanner(w.In)
	w.lines.Buffer(nil, maxText)
	var g Grade
	w.prose(fmt.Sprintf("# Lesson %d: %s\n\n%s About %d minutes.", l.Number, l.Title, l.Goal, l.Minutes))
	var m Machine
	if l.commands() != nil {
		if m, w.err = w.Boot(l.Boot); w.err != nil {
			return g, w.err
		}
	}
	for _, b := range l.Blocks {
		switch {
		case b.Text != "":
			w.prose(b.Text)
		case b.Run != nil:
			for _, c := range b.Run {
				w.command(m, c)
			}
			w.printf("\n")
		case b.Show != nil:
			w.show(b.Show)
		case b.Question != nil:
			g.add(w.question(b.Question))
		default:
			g.add(w.exercise(b.Exercise))
		}
		if w.err == nil {
			w.err = ctx.Err()
		}
		if w.err != nil {
			return g, w.err
		}
	}
	w.prose("Next: " + l.Next)
	answered := 0
	for _, a := range g.Answers {
		if a.Answered {
			answered++
		}
	}
	w.prose(fmt.Sprintf("%d of %d right at the first try; %d not answered.", g.Right, g.Of, g.Of-answered))
	if w.err == nil {
		w.err = w.lines.Err()
	}
	return g, w.err
}

func (w *Walk) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.Out, format, args...)
	}
}

// prose prints Markdown as a terminal can show it.
func (w *Walk) prose(text string) {
	width := w.Width
	if width <= 0 {
		width = 80
	}
	for i, part := range sections(strings.TrimLeft(text, "\n")) {
		if w.Terminal && i > 0 {
			w.printf("(Enter goes on.) ")
			w.line()
		}
		if part != "" { // a text may begin with a heading
			w.printf("%s\n", wrap(part, width))
		}
	}
}

// sections are the parts of a text, each of which but the first begins with a heading.
func sections(text string) []string {
	parts := []string{""}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") {
			parts = append(parts, "")
		}
		parts[len(parts)-1] += line
	}
	return parts
}

// wrap breaks the paragraphs of a text into lines, and takes the marks of Markdown
// away.
func wrap(text string, width int) string {
	var out strings.Builder
	at, fenced, indent := 0, false, ""
	end := func() {
		if at > 0 {
			out.WriteByte('\n')
		}
		at, indent = 0, ""
	}
	for line := range strings.Lines(text + "\n") {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			end()
			fenced = !fenced
			continue
		case fenced:
			out.WriteString("    " + line + "\n")
			continue
		case strings.TrimSpace(line) == "":
			end()
			out.WriteByte('\n')
			continue
		case strings.HasPrefix(line, "#"):
			end()
			out.WriteString(strings.TrimLeft(line, "# ") + "\n")
			continue
		case strings.HasPrefix(line, "* "), strings.HasPrefix(line, "|"):
			end()
			indent = "  "
		}
		for _, word := range strings.Fields(strings.ReplaceAll(line, "**", "")) {
			n := len([]rune(word))
			switch {
			case at == 0:
			case at+1+n > width:
				out.WriteString("\n" + indent)
				at = len(indent)
			default:
				out.WriteByte(' ')
				at++
			}
			out.WriteString(word)
			at += n
		}
	}
	end()
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// line reads one line of the learner.
func (w *Walk) line() (string, bool) {
	if w.ended || w.err != nil || !w.lines.Scan() {
		w.ended = true
		return "", false
	}
	s := w.lines.Text()
	if !w.Terminal {
		w.printf("%s\n", s)
	}
	return s, true
}

// answer reads lines until one is not empty.
func (w *Walk) answer(prompt string) (string, bool) {
	for {
		w.printf("%s", prompt)
		s, ok := w.line()
		if !ok {
			w.printf("\n")
			return "", false
		}
		if s = strings.TrimSpace(s); s != "" {
			return s, true
		}
	}
}

// command runs a command of the session.
func (w *Walk) command(m Machine, c string) {
	w.printf("# %s\n", c)
	out, err := m.Run(w.ctx, c)
	if w.err == nil {
		w.err = err
	}
	w.printf("%s", out)
}

func (w *Walk) show(s *Sight) {
	width := 0
	if w.Terminal {
		width = w.Width
	}
	text, err := s.text("", width)
	if err != nil {
		w.err = err
		return
	}
	w.printf("%s\n%s\n", s.command(), text)
}

// command is what prints a sight.
func (s *Sight) command() string {
	if s.View == "steps" {
		return fmt.Sprintf("ftracelab step --url '%s' --steps", s.Place)
	}
	return fmt.Sprintf("ftracelab step --url '%s' --view %s", s.Place, s.View)
}

func (w *Walk) question(q *Question) Graded {
	g := Graded{ID: q.ID, Kind: q.Kind}
	w.prose(q.text())
	for n := range tries {
		given, ok := w.answer("> ")
		if !ok || given == "skip" {
			break
		}
		right, say := q.judge(given)
		if n == 0 {
			g.Answered, g.Given, g.Right, g.Say = true, given, right, say
		}
		if right {
			w.prose("Yes. " + say)
			return g
		}
		w.prose("No. " + say)
	}
	if !w.ended {
		w.prose("The answer is " + q.solution())
	}
	return g
}

// text is the question and its choices.
func (q *Question) text() string {
	s := "**Question.** " + q.Ask + "\n"
	for i, c := range q.Choices {
		s += fmt.Sprintf("\n* %s: %s", letter(i), c.Text)
	}
	return s
}

// solution is the right answer and its explanation.
func (q *Question) solution() string {
	word := q.solutionWord()
	_, say := q.judge(word)
	return word + ". " + say
}

// solutionWord is the first of the right answers.
func (q *Question) solutionWord() string {
	first, _, _ := strings.Cut(q.answer(), "|")
	return first
}

func (w *Walk) exercise(e *Exercise) Graded {
	g := Graded{ID: exerciseID, Kind: e.Kind}
	how := "Give a place, as ftracelab step prints it."
	prompt := "place> "
	if e.Kind == Commands {
		how, prompt = "Type commands, one a line, then check. The word again boots a fresh machine.", "# "
	}
	w.prose("**Break it.** " + e.Ask + "\n\n" + how + " Type hint for a hint, and skip to go on without.")
	var m Machine
	boot := func() {
		if e.Kind == Commands && w.err == nil {
			if m, w.err = w.Boot(w.lesson.Boot); w.err != nil {
				return
			}
			for _, c := range e.Setup {
				w.command(m, c)
			}
			g.Given = ""
		}
	}
	if w.Terminal || e.Kind == Places {
		boot()
	}
	for {
		given, ok := w.answer(prompt)
		if !ok || given == "skip" {
			break
		}
		if m == nil {
			boot()
		}
		if w.err != nil {
			return g
		}
		right, say := false, ""
		switch {
		case given == "hint":
			w.prose(e.Hint)
			continue
		case e.Kind == Places:
			g.Given = given
			right, say = e.judge(w.ctx, w.Boot, w.lesson.Boot, given)
		case given == "again":
			boot()
			continue
		case given == "check":
			right, say = e.judgeMachine(w.ctx, m)
		default:
			g.Given += given + "\n"
			out, err := m.Run(w.ctx, given)
			w.printf("%s", out)
			if err != nil { // the commands did too much; the learner can begin again
				w.prose(fmt.Sprintf("%v. A fresh machine is booted.", err))
				boot()
			}
			continue
		}
		g.Answered, g.Right, g.Say = true, right, say
		if right {
			w.prose("Yes. " + say)
			return g
		}
		w.prose("No. " + say)
	}
	if !w.ended {
		w.prose("This would have done it:\n\n```text\n" + strings.TrimRight(e.Solution, "\n") + "\n```")
	}
	return g
}
