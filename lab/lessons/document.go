package lessons

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"ftracelab/internal/strictyaml"
)

// indexName is the file of texts that is no lesson: the ten questions.
const indexName = "index.yaml"

// made is the first line of each document.
const made = "<!-- Made by go generate ./lab/lessons from lab/lessons/texts. -->\n"

// An Entry of the index is a question that a lesson and a place answer.
type Entry struct {
	Question string `yaml:"question"`
	Lesson   int    `yaml:"lesson"`
	Place    string `yaml:"place"`
	View     string `yaml:"view"`
	Quote    string `yaml:"quote"` // stands there
}

// Index are the questions that the lessons answer, and where.
//
// An error is that of an entry whose lesson, place or quote there is not. A place of the
// scenario tracefs, which needs a machine, is not looked at here.
func Index() ([]Entry, error) {
	text, err := texts.ReadFile("texts/" + indexName)
	if err != nil {
		return nil, err
	}
	var all []Entry
	if err := strictyaml.Decode(text, &all); err != nil {
		return nil, fmt.Errorf("lessons: %s: %w", indexName, err)
	}
	for _, e := range all {
		_, err := Find(e.Lesson)
		if err == nil && !strings.HasPrefix(e.Place, "tracefs?") {
			s := Sight{Place: e.Place, View: e.View, Match: regexp.QuoteMeta(e.Quote)}
			_, err = s.find("")
		}
		if err != nil {
			return nil, fmt.Errorf("lessons: %s: %s: %w", indexName, e.Question, err)
		}
	}
	return all, nil
}

// command is what shows the answer.
func (e *Entry) command() string {
	s := Sight{Place: e.Place, View: e.View}
	return s.command()
}

// Document names the file of the lesson in docs/lessons.
func (l *Lesson) Document() string {
	word := strings.ToLower(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(l.Title, "-"))
	return fmt.Sprintf("%02d-%s.md", l.Number, strings.Trim(word, "-"))
}

// Documents are the files of docs/lessons by their names: a page of Markdown for each
// lesson, with what its commands print, and a README with the ten questions.
func Documents(ctx context.Context, boot Boot) (map[string]string, error) {
	docs := map[string]string{}
	for _, l := range All() {
		text, err := l.markdown(ctx, boot)
		if err != nil {
			return nil, fmt.Errorf("lessons: lesson %d: %w", l.Number, err)
		}
		docs[l.Document()] = text
	}
	index, err := Index()
	if err != nil {
		return nil, err
	}
	docs["README.md"] = readme(index)
	return docs, nil
}

func readme(index []Entry) string {
	var s strings.Builder
	s.WriteString(made + `
# Ten lessons

Each lesson takes 10 to 20 minutes and needs nothing but this program. Read it here, or let
` + "`ftracelab learn N`" + ` show it, ask its questions and check the answers. Nothing in a lesson needs
one that comes later.

| lesson | minutes | what you can do after it |
|---|---|---|
`)
	for _, l := range All() {
		fmt.Fprintf(&s, "| [%d. %s](%s) | %d | %s |\n", l.Number, l.Title, l.Document(), l.Minutes, l.Goal)
	}
	s.WriteString(`
## Ten questions, and where they are answered

Each question has a lesson. The command below it opens the place where the answer can be seen, a
step of a scenario, and what is quoted stands there. What begins with # is the same place in the
page of ` + "`ftracelab serve`" + `, behind its address.

`)
	for i, e := range index {
		l, _ := Find(e.Lesson) // Index has found it
		fmt.Fprintf(&s, "%d. **%s** [Lesson %d](%s)\n\n   `%s`\n\n   `#step/%s`\n\n   > %s\n\n", i+1, e.Question, e.Lesson, l.Document(), e.command(), e.Place, e.Quote)
	}
	s.WriteString(`## For a teacher

` + "`ftracelab learn N --answers FILE --json`" + ` grades what a learner hands in, without anybody at the
terminal. The file has one answer a line, and below "exercise" what was typed:

` + "```text\n" + All()[0].solutionFile() + "```" + `

Several files may be given, each with an --answers of its own. The form of the JSON is in
[learn.json](../schema/learn.json).

A lesson is one file of Markdown in lab/lessons/texts. Its questions, their explanations and
the checks of its exercise are YAML in fenced blocks. ` + "`go test ./cmd/ftracelab -run TestLessons`" + `
plays each lesson and refuses a claim that the engine does not bear out.
`)
	return s.String()
}

// solutionFile has the right answer to everything, as ParseAnswers reads it.
func (l *Lesson) solutionFile() string {
	var s strings.Builder
	for _, q := range l.questions() {
		fmt.Fprintf(&s, "%s: %s\n", q.ID, q.solutionWord())
	}
	s.WriteString(exerciseID + ": |\n")
	for line := range strings.Lines(l.exercise().Solution) {
		s.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	return s.String()
}

// markdown is the lesson as a page to read, with what its commands print.
func (l *Lesson) markdown(ctx context.Context, boot Boot) (string, error) {
	var m Machine
	var err error
	if l.commands() != nil {
		if m, err = boot(l.Boot); err != nil {
			return "", err
		}
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n# Lesson %d: %s\n\n%s About %d minutes.\n\n`ftracelab learn %d` asks the questions and checks the answers.\n",
		made, l.Number, l.Title, l.Goal, l.Minutes, l.Number)
	for _, b := range l.Blocks {
		switch {
		case b.Text != "":
			s.WriteString("\n" + b.Text + "\n")
		case b.Run != nil:
			s.WriteString("\n```console\n")
			for _, c := range b.Run {
				out, err := m.Run(ctx, c)
				if err != nil {
					return "", err
				}
				s.WriteString("# " + c + "\n" + out)
			}
			s.WriteString("```\n")
		case b.Show != nil:
			text, err := b.Show.text("", 0)
			if err != nil {
				return "", err
			}
			s.WriteString("\n```sh\n" + b.Show.command() + "\n```\n\n```text\n" + text + "```\n")
		case b.Question != nil:
			s.WriteString("\n" + strings.TrimRight(b.Question.text(), "\n") + "\n\n<details><summary>Answer</summary>\n\n" + b.Question.solution() + "\n\n</details>\n")
		default:
			e := b.Exercise
			s.WriteString("\n**Break it.** " + e.Ask + "\n\n<details><summary>Hint</summary>\n\n" + e.Hint + "\n\n</details>\n\n" +
				"<details><summary>Solution</summary>\n\n```text\n" + strings.TrimRight(e.Solution, "\n") + "\n```\n\n" + e.Right + "\n\n</details>\n")
		}
	}
	name := func(n int) string {
		for _, o := range All() {
			if o.Number == n {
				return fmt.Sprintf("[Lesson %d](%s)", n, path.Base(o.Document()))
			}
		}
		return ""
	}
	s.WriteString("\nNext: " + l.Next + "\n\n[All lessons](README.md)")
	for _, n := range []int{l.Number - 1, l.Number + 1} {
		if link := name(n); link != "" {
			s.WriteString(" · " + link)
		}
	}
	s.WriteString("\n")
	return s.String(), nil
}
