//go:build !js

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ftracelab/lab/lessons"
)

type learnFlags struct {
	list, json bool
	answers    []string
	documents  string
}

func learnCommand() *cobra.Command {
	var f learnFlags
	cmd := &cobra.Command{
		Use:   "learn [N]",
		Short: "Ten lessons about ftrace, with questions, exercises and checked answers",
		Long: `learn shows a lesson, runs its commands on a simulated machine, asks what happens next,
and says why an answer is right or wrong. Each lesson ends with something to break. It
reads one answer a line, from a terminal or from a pipe.

With --answers it grades a file instead, without asking anything. The file is YAML: the
id of a question, a colon and the answer; what was typed in the exercise stands below
"exercise: |", indented. - is the standard input. --answers may be given several times,
for several learners. --json prints the grades as docs/schema/learn.json describes them.
The exit status says whether the answers were graded, not whether they were right.`,
		Example: `  ftracelab learn --list
  ftracelab learn 1
  ftracelab learn 6 --answers alice.yaml --answers bob.yaml --json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.run(cmd, args); err != nil {
				return fmt.Errorf("learn: %w", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.list, "list", false, "list the lessons")
	fl.StringArrayVar(&f.answers, "answers", nil, "grade the answers of this file, or with - of the standard input")
	fl.StringVar(&f.documents, "documents", "", "write all lessons to this folder, as pages of Markdown with what their commands print")
	fl.BoolVar(&f.json, "json", false, "print the grades as JSON; needs --answers")
	return cmd
}

func (f *learnFlags) run(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	if f.documents != "" {
		return writeLessons(cmd.Context(), f.documents)
	}
	if f.list || len(args) == 0 && f.answers == nil && !f.json {
		return listLessons(out)
	}
	if f.json && f.answers == nil {
		return usageError{errors.New("--json needs --answers")}
	}
	if len(args) == 0 {
		return usageError{errors.New("which lesson? learn --list shows them")}
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return usageError{fmt.Errorf("%q is not the number of a lesson; learn --list shows them", args[0])}
	}
	l, err := lessons.Find(n)
	if err != nil {
		return usageError{err}
	}
	if f.answers != nil {
		return f.grade(cmd, l)
	}
	w := lessons.Walk{Boot: bootLesson, In: cmd.InOrStdin(), Out: out, Width: columns(out)}
	if in, ok := w.In.(*os.File); ok {
		w.Terminal = term.IsTerminal(int(in.Fd()))
	}
	_, err = w.Lesson(cmd.Context(), l)
	return err
}

func listLessons(w io.Writer) error {
	for _, l := range lessons.All() {
		if _, err := fmt.Fprintf(w, "%2d  %-44s %2d min  %s\n", l.Number, l.Title, l.Minutes, l.Goal); err != nil {
			return err
		}
	}
	return nil
}

// writeLessons makes docs/lessons.
func writeLessons(ctx context.Context, dir string) error {
	docs, err := lessons.Documents(ctx, bootLesson)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range docs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// maxAnswers is how large a file of answers may be.
const maxAnswers = 1 << 20

func (f *learnFlags) grade(cmd *cobra.Command, l *lessons.Lesson) error {
	report := lessons.Report{Lesson: l.Number, Title: l.Title}
	for _, name := range f.answers {
		text, err := readAnswers(cmd.InOrStdin(), name)
		if err != nil {
			return err
		}
		answers, err := lessons.ParseAnswers(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		g, err := l.Grade(cmd.Context(), bootLesson, name, answers)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		report.Grades = append(report.Grades, g)
	}
	out := cmd.OutOrStdout()
	if f.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	return printGrades(out, report)
}

func readAnswers(in io.Reader, name string) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, maxAnswers))
}

func printGrades(w io.Writer, r lessons.Report) error {
	for _, g := range r.Grades {
		if _, err := fmt.Fprintf(w, "%s: lesson %d, %d of %d right\n", g.Name, r.Lesson, g.Right, g.Of); err != nil {
			return err
		}
		for _, a := range g.Answers {
			mark, say := "wrong", a.Say
			switch {
			case !a.Answered:
				mark, say = "open", "not answered"
			case a.Right:
				mark = "right"
			}
			if _, err := fmt.Fprintf(w, "  %-5s  %s: %s\n", mark, a.ID, say); err != nil {
				return err
			}
		}
	}
	return nil
}
