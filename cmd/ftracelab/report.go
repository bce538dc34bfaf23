//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ftracelab/capture"
)

// reportFlags are the flags of report.
type reportFlags struct {
	memory    *memoryFlag
	kernel    string
	options   []string
	stackMap  string
	stackIDs  bool
	cpu       int
	instance  string
	as        string
	keepGoing bool
	join      bool
	folded    bool
	programs  []string
}

const stackMapUsage = "stack_map or stack_map_bin of a capture made with a stackmap (default: the one in its folder)"

func reportCommand(memory *memoryFlag) *cobra.Command {
	f := reportFlags{memory: memory, cpu: -1}
	cmd := &cobra.Command{
		Use:   "report DIR|FILE.dat",
		Short: "Print a capture as the file trace, or as trace-cmd report does",
		Long: `report prints a trace.dat as trace-cmd report would. Of a capture folder, and
with --as trace of a buffer of a trace.dat, it prints what the kernel would have
shown in the file trace, or with --cpu in per_cpu/cpuN/trace.

A capture folder has the pages of each CPU (cpuN.raw, what trace_pipe_raw gives)
and what belongs to the moment: state.txt with lines FILE: CONTENT, or the files
trace_options, current_tracer and trace_clock themselves; saved_cmdlines,
saved_tgids, stats.cpuN, printk_formats, dynamic_events, formats of events that
the kernel's files do not have (events/*/*/format), and for sym-userobj maps.PID,
copies of /proc/PID/maps. The kernel's formats_all.txt, kallsyms.txt and
header_page.txt are looked for there, in a folder static beside it, in the
folders above, or where --kernel says.

Each --trace-option is written to trace_options before reading: OPTION or
noOPTION, starting from what the capture had.

A capture of a kernel with a stackmap has ids for its stacks. Where its stack_map_bin
or stack_map is in the folder, or named, the stacks are printed as a kernel without
a map would have; with --stack-ids, or without the map, <stack_id N> as that kernel.

Of a capture with options/userstacktrace_delay, --join prints each user stack where its
cookies stand, also if the task was on another CPU by then, and at the end how many events
have theirs and why the others have none: lost in an overrun, task exited, still inside
the kernel. --folded prints folded stacks instead, for flame graphs.

Pointers that the kernel would have hashed are printed as they are. What only
the kernel can compute stands as [unknown NAME] in the text.`,
		Example: `  ftracelab report capture/
  ftracelab report --trace-option sym-offset --trace-option noirq-info capture/
  ftracelab report --cpu 1 capture/
  ftracelab report --join capture/
  ftracelab report trace.dat
  ftracelab report --as trace --instance foo trace.dat`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, flush, err := loadSymbols(cmd.OutOrStdout(), f.programs, f.join, f.folded)
			if err != nil {
				return fmt.Errorf("report: --program: %w", err)
			}
			return errors.Join(f.run(cmd.Context(), out, cmd.ErrOrStderr(), args[0]), flush())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.kernel, "kernel", "", "folder with the kernel's formats_all, kallsyms and header_page")
	fl.StringArrayVar(&f.options, "trace-option", nil, "write OPTION or noOPTION to trace_options first")
	fl.StringVar(&f.stackMap, "stack-map", "", stackMapUsage)
	fl.BoolVar(&f.stackIDs, "stack-ids", false, "print <stack_id N>, as a kernel with a stackmap does, and not the stack")
	fl.IntVar(&f.cpu, "cpu", f.cpu, "only this CPU, as per_cpu/cpuN/trace")
	fl.StringVar(&f.as, "as", "", "trace or trace-cmd (default: trace-cmd for a trace.dat)")
	fl.StringVar(&f.instance, "instance", "", "of a trace.dat with --as trace: the instance")
	fl.BoolVar(&f.join, "join", false, "put user stacks that were unwound later where their cookies stand")
	fl.BoolVar(&f.folded, "folded", false, "with --join: folded stacks, a line for each different one")
	fl.StringArrayVar(&f.programs, "program", nil, "name the functions of the ELF file FILE that user stacks are in, "+
		"at its addresses on a simulated machine or in the form of sym-userobj")
	fl.BoolVar(&f.keepGoing, "keep-going", false, "skip what is damaged, and count it")
	return cmd
}

func (f *reportFlags) run(ctx context.Context, stdout, stderr io.Writer, dir string) (err error) {
	defer f.memory.limit()()
	opt := capture.Options{Context: ctx, Kernel: f.kernel, KeepGoing: f.keepGoing, Instance: f.instance, StackMap: f.stackMap, StackIDs: f.stackIDs, Memory: f.memory.budget()}
	switch {
	case f.folded && !f.join:
		return usageError{errors.New("--folded needs --join; estimate and other programs count the stacks of other captures")}
	case f.join && f.as == "trace-cmd":
		return usageError{errors.New("--join prints the text of trace, not that of trace-cmd")}
	case f.join:
		if err := f.joined(ctx, stdout, dir, opt); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		return nil
	}
	if asTraceCmd, err := f.asTraceCmd(dir); err != nil {
		return err
	} else if asTraceCmd {
		if err := reportTraceDat(ctx, stdout, dir, opt); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		return nil
	}
	// What is read before the first line stays in use, and lines allocate nothing, so
	// an early garbage collection would find nothing.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	t, err := capture.OpenTrace(dir, opt)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for _, word := range f.options {
		if err := t.SetOption(word); err != nil {
			return usageError{fmt.Errorf("--trace-option %s: %w", word, err)}
		}
	}
	if err := t.WriteText(ctx, stdout, f.cpu); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if t.Hashed() {
		fmt.Fprintln(stderr, "report: pointers are not hashed: no capture has the kernel's key")
	}
	for _, doubt := range t.Doubts() {
		fmt.Fprintf(stderr, "report: %s\n", doubt)
	}
	for _, err := range t.Incomplete() {
		complain(stderr, "report: %v", err)
	}
	return leftOut("report", t.Info())
}

// leftOut is the error of a command that came to its end because of --keep-going.
func leftOut(command string, info capture.Info) error {
	if err := info.NothingLeft(); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if err := info.Skipped(); err != nil {
		return skippedError{fmt.Errorf("%s: %w", command, err)}
	}
	return nil
}

// asTraceCmd reports whether path is printed in the form of trace-cmd; otherwise it is
// printed in that of the kernel.
func (f *reportFlags) asTraceCmd(path string) (bool, error) {
	is, err := isTraceDat(path)
	switch {
	case err != nil:
		return false, fmt.Errorf("report: %w", err)
	case f.as != "" && f.as != "trace" && f.as != "trace-cmd":
		return false, usageError{fmt.Errorf("--as %q: there are trace and trace-cmd", f.as)}
	case f.as == "trace-cmd" && !is:
		return false, usageError{fmt.Errorf("--as trace-cmd needs a trace.dat: see ftracelab convert")}
	}
	if !is || f.as == "trace" {
		return false, nil
	}
	if len(f.options) > 0 || f.cpu >= 0 || f.instance != "" || f.stackMap != "" || f.stackIDs {
		return false, usageError{fmt.Errorf("--trace-option, --cpu, --instance, --stack-map and --stack-ids need --as trace")}
	}
	return true, nil
}
