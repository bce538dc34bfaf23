//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ftracelab/tracefsfs/shell"
)

func shellCommand() *cobra.Command {
	f := shellFlags{memory: shell.DefaultMemory}
	cmd := &cobra.Command{
		Use:   "shell [SCRIPT [ARG]…]",
		Short: "A POSIX shell whose working folder is the tracefs of a simulated machine",
		Long: `shell starts a simulated machine and a shell in its tracefs,
/sys/kernel/tracing. It has its own cat, grep, awk and so on (see help in it)
and runs no program of this computer. Time stands still while you type:
sleep 1 is one simulated second.

In a terminal, lines are edited with the keys of Emacs, may be as long as you
like and hold any characters:

  Tab                     completes, or lists what may be meant
  Up, Down, Alt-<, Alt->  older and newer lines; they are kept between sessions
  Ctrl-R, Ctrl-S          search them while you type; Ctrl-G gives that up
  Ctrl-A, Ctrl-E          to the beginning and the end (or Home, End)
  Alt-B, Alt-F            by a word (or Ctrl with the arrows)
  Ctrl-W, Ctrl-U, Ctrl-K  cut the word, to the beginning, to the end
  Ctrl-Y, Alt-Y           put in what was cut, what was cut before
  Alt-.                   the last word of the line before
  Ctrl-T, Ctrl-_          swap two characters, take the last change back
  Ctrl-L                  clears the screen
  Ctrl-C, Ctrl-D          drop the line; leave, if the line is empty

Several lines that are pasted run when you press Enter. The lines of earlier
sessions are in $XDG_STATE_HOME/ftracelab/history (or below ~/.local/state).

In a terminal, what commands print shows characters that are not printable as
escapes (\x1b), a printf of your own too; files and pipes get the bytes.`,
		Example: `  ftracelab shell
  ftracelab shell -c 'echo function > current_tracer; sleep .01; head -20 trace'
  ftracelab shell --stackmap v4 test.sh`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args)
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	f.lab.register(fl)
	fl.StringVar(&f.scenario, "scenario", "", "what the machine does (default mix)")
	fl.StringVarP(&f.command, "command", "c", "", "run this and leave")
	fl.BoolVar(&f.hostWrite, "host-write", false, "let the shell write this computer's files")
	fl.Var(&f.memory, "memory", "memory that a script may take, as 256M")
	return cmd
}

func (f *shellFlags) run(cmd *cobra.Command, args []string) error {
	f.lab.console = cmd.ErrOrStderr()
	f.lab.wait = shell.WaitForTime
	l, err := f.lab.build(f.scenario)
	if err != nil {
		return err
	}
	cfg := l.shellConfig(f.lab.cpus)
	cfg.Stdin, cfg.Stdout, cfg.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if s, ok := cfg.Stdout.(tty); ok {
		cfg.Terminal = s.terminal
	}
	cfg.Plain = os.Getenv("TERM") == "dumb"
	cfg.HostWrite, cfg.Seed, cfg.Memory = f.hostWrite, f.lab.seed, int(f.memory)
	defer f.memory.limit()()
	if in, ok := cfg.Stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		typed, done := forCommands(in)
		defer done()
		cfg.Typed = typed
	}
	if !cmd.Flags().Changed("command") && len(args) == 0 && cfg.Typed != nil {
		cfg.History, cfg.Keep = keptLines(historyFile())
	}
	sh, err := shell.New(cfg)
	if err != nil {
		return err
	}
	var status int
	switch {
	case cmd.Flags().Changed("command"):
		status, err = sh.Run(cmd.Context(), strings.NewReader(f.command), "sh", args...)
	case len(args) > 0:
		status, err = runScript(cmd.Context(), sh, args)
	default:
		status, err = f.interactive(cmd, sh)
	}
	if err != nil {
		return fmt.Errorf("shell: %w", err)
	}
	if status != 0 {
		return exitStatus(status)
	}
	return nil
}

// interactive runs a session. If there is a terminal, an interrupt ends the command in
// the shell and not the shell. When the shell ends, the terminal is as it was.
func (f *shellFlags) interactive(cmd *cobra.Command, sh *shell.Shell) (status int, err error) {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return sh.Interactive(cmd.Context())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "seed %d, %d CPUs; help lists the commands, explain says what a thing is\n", f.lab.seed, f.lab.cpus)
	l := lifetimeOf(cmd.Context())
	l.keep(os.Interrupt)
	var state *term.State
	done, err := l.atEnd(func() (err error) {
		state, err = term.GetState(int(in.Fd()))
		return err
	}, func() { _ = term.Restore(int(in.Fd()), state) })
	if err != nil {
		return 1, err
	}
	status, err = sh.Interactive(cmd.Context())
	return status, errors.Join(err, done(func() error { return nil }))
}

func runScript(ctx context.Context, sh *shell.Shell, args []string) (status int, err error) {
	var script io.ReadCloser
	if script, err = os.Open(args[0]); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, script.Close()) }()
	return sh.Run(ctx, script, args[0], args[1:]...)
}
