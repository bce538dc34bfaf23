//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ftracelab/budget"
	"ftracelab/report/summary"
)

func mergeCommand(memory *memoryFlag) *cobra.Command {
	to := stdoutName
	cmd := &cobra.Command{
		Use:   "merge [-o OUT] FILE…",
		Short: "Add the summaries of many captures",
		Long: `merge adds summaries, which estimate --summary writes, and writes the summary of
all their machines. estimate reads it. The order of the files makes no difference,
nor what was added to what before: the bytes are the same. - is standard input.

A file that is damaged is named and left out; the exit status is then 3.

A million machines (1,048,576) can be added. If --memory is too little for their
rows, of some 800 bytes each, an error says how much is needed. Of more than 262,144
different stacks a sample is kept: one of two, of four and so on, chosen by its hash.`,
		Example: `  ftracelab estimate --summary web1.ftls web1/trace.dat
  ftracelab merge -o fleet.ftls web*.ftls
  ftracelab estimate fleet.ftls`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer memory.limit()()
			err := merge(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), to, args, memory.budget())
			if err != nil {
				return fmt.Errorf("merge: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", to, "write to this file; - is the standard output")
	return cmd
}

func merge(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, to string, paths []string, memory *budget.Budget) error {
	out, err := createOutput(ctx, to, stdout, paths...)
	if err != nil {
		return err
	}
	defer func() { _ = out.discard() }()
	m := summary.NewMerger(memory)
	progress := newProgress(stderr)
	defer progress.end()
	var skipped []error
	for n, path := range paths {
		progress.say(func() string { return fmt.Sprintf("%d of %d summaries", n, len(paths)) }, float64(n)/float64(len(paths)))
		err := readSummary(ctx, stdin, path, m.Read)
		var damaged *summary.Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &damaged):
			skipped = append(skipped, err)
		case err != nil:
			return err
		}
	}
	left := errors.Join(skipped...)
	if len(skipped) == len(paths) {
		return left
	}
	if err := writeOutput(out, func(w *os.File) error { return summary.Encode(w, m.Sum()) }); err != nil {
		return err
	}
	if left != nil {
		return skippedError{left}
	}
	return nil
}

// readSummary hands the file at path to read, and names it in errors. One that cannot
// be opened counts as damaged.
func readSummary(ctx context.Context, stdin io.Reader, path string, read func(io.Reader) error) error {
	in, shown := stdin, "standard input"
	if path != stdoutName {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, &summary.Error{Offset: -1, What: "cannot open", Err: cause(err)})
		}
		defer f.Close()
		in, shown = f, path
	}
	if err := read(underContext(ctx, in)); err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	return nil
}
