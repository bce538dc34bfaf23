//go:build !js

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ftracelab/budget"
	"ftracelab/report"
	"ftracelab/report/model"
	"ftracelab/report/model/scenarios"
)

// isModel reports whether a path is that of a model. It goes by the name, so that a
// mistake in the file is told as one in a model.
func isModel(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// isShipped reports whether a model is one that comes with the program.
func isShipped(name string) bool { return slices.Contains(scenarios.Names(), name) }

// readModel reads the file of a model, or gives the one of that name that comes with the
// program.
func readModel(name string, memory *budget.Budget) (*model.Model, error) {
	read := func(name string) ([]byte, error) { return readText(name, "a model", model.MaxBytes) }
	if isShipped(name) {
		read = scenarios.Text
	}
	text, err := read(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w, and no model of that name comes with ftracelab; there are %s", err, strings.Join(scenarios.Names(), ", "))
	}
	if err != nil {
		return nil, err
	}
	m, err := model.Parse(text, memory)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// openModel begins to draw from the model of a file or name.
func openModel(name string, opt model.RunOptions, memory *budget.Budget) (*model.Source, error) {
	m, err := readModel(name, memory)
	if err != nil {
		return nil, err
	}
	s, err := m.Open(opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// readText reads a file of at most limit bytes; what says what such a file is.
func readText(name, what string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s: %s has %d bytes at most", name, what, limit)
	}
	return text, nil
}

// readAbout reads what --about names.
func (f *modelFlags) readAbout() (*model.About, error) {
	if f.about == "" {
		return nil, nil
	}
	text, err := readText(f.about, "what a person says of a model", model.MaxBytes)
	if err != nil {
		return nil, err
	}
	a, err := model.ParseAbout(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.about, err)
	}
	return a, nil
}

// printModel writes a model that comes with the program, as its file would be.
func (f *modelFlags) printModel(cmd *cobra.Command) (err error) {
	text, err := scenarios.Text(f.print)
	if err != nil {
		return usageError{fmt.Errorf("model: --print: %w", err)}
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("model: %w", err)
		}
	}()
	out, err := createOutput(cmd.Context(), f.output, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.discard()) }()
	return writeOutput(out, func(w *os.File) error {
		_, err := w.Write(text)
		return err
	})
}

// listModels writes the title of each model that comes with the program, and below it
// what it was learned from and how well it predicts.
func listModels(w io.Writer) error {
	const indent = 17
	width := min(cmp.Or(columns(w), 100), 100)
	var b strings.Builder
	for _, name := range scenarios.Names() {
		m, err := scenarios.Model(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%-*s%s\n", indent, name, m.About.Title)
		for _, text := range modelFacts(m) {
			writeFolded(&b, text, indent, width)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// modelFacts are the sentences about a model in a list.
func modelFacts(m *model.Model) []string {
	a, l := m.About, &m.Learned
	facts := []string{
		fmt.Sprintf("from %s", a.Source),
		fmt.Sprintf("%s events in %.1f s, %s different stacks; date: %s; kernel: %s",
			report.Group(l.Events), l.Seconds, report.Group(m.Kernel.Unique()+m.User.Unique()), a.Date, a.Kernel),
		"lacks " + a.Lacks,
	}
	return append(facts, predictions(l)...)
}

// writeFolded writes a text in lines of a width, indented.
func writeFolded(b *strings.Builder, text string, indent, width int) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && indent+len(line)+1+len(word) > width {
			fmt.Fprintf(b, "%*s%s\n", indent, "", line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintf(b, "%*s%s\n", indent, "", line)
}
