//go:build !js

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ftracelab/internal/explain"
)

func explainCommand() *cobra.Command {
	var list, asJSON bool
	cmd := &cobra.Command{
		Use:   "explain WHAT | --list [KIND]",
		Short: "Say what a mark, option, file, tracer, error and so on of ftrace is",
		Long: `explain says in two or three sentences what something of ftrace is: a mark or a flag
of a line of trace, an option, file, tracer, clock, trigger, probe, type, error, field,
count of a stats file, or sysctl. It names the kernel's function, gives a command to try
in ftracelab shell, and tells what was otherwise in older kernels where that matters.

--list lists all names with their kinds, --list KIND those of one kind.`,
		Example: `  ftracelab explain need-resched
  ftracelab explain '#'
  ftracelab explain Field not found
  ftracelab explain --list tracer`,
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := explained(list, args)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				err = json.NewEncoder(out).Encode(rows)
			case list:
				err = explain.WriteList(out, rows)
			default:
				err = explain.Write(out, rows, columns(out))
			}
			if err != nil {
				return fmt.Errorf("explain: %w", err)
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			if list {
				return explain.Kinds(), cobra.ShellCompDirectiveNoFileComp
			}
			return explain.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the names, one a line, behind their kinds")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON (docs/schema/explain.json)")
	return cmd
}

// explained gives the rows that a command line asks for.
func explained(list bool, args []string) ([]explain.Row, error) {
	switch {
	case !list && len(args) == 0:
		return nil, usageError{errors.New("explain: of what? --list has all names")}
	case !list:
		word := strings.Join(args, " ")
		rows := explain.Lookup(word)
		if len(rows) == 0 {
			return nil, errors.New("explain: " + explain.Unknown(word))
		}
		return rows, nil
	case len(args) > 1:
		return nil, usageError{errors.New("explain: --list takes one kind")}
	case len(args) == 1 && !slices.Contains(explain.Kinds(), args[0]):
		return nil, usageError{fmt.Errorf("explain: no kind %q; there are: %s", args[0], strings.Join(explain.Kinds(), ", "))}
	case len(args) == 1:
		return explain.OfKind(args[0]), nil
	}
	return explain.OfKind(""), nil
}
