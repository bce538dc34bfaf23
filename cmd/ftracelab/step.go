//go:build !js

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	stepping "ftracelab/lab"
)

// stepFlags are the flags of step.
type stepFlags struct {
	list, steps, back bool
	at, view          string
	format, place     string
	do, until, wrote  string
	find, with        string
	runs              int
}

func stepCommand() *cobra.Command {
	var f stepFlags
	stepping.UseConsole(bootConsole)
	cmd := &cobra.Command{
		Use:   "step [SCENARIO]",
		Short: "Walk through the ring buffer, the stack map or the shadow stack step by step",
		Long: `step shows one step of a scenario: what happened, why, and the state that it has led
to. Every step is named by a short string, its place, which leads back to it in every
version that shows the same steps, and may be shared:

  ftracelab step nested --at 12 --view page
  ftracelab step --url 'nested?do=9i&step=12'

--do makes an interrupt or a reader come after a step: 9i is an irq after step 9, s a
softirq, n an NMI, r a reader that takes an event, p one that takes a page, c the other
of two CPUs that goes on, z a reset of the stack map, m a task's move to the other CPU,
a the next operation of a reader beside the writer that takes an event, b of one that
takes a page. The view "step" says which of them may come.

--until CONDITION goes on to the next step of which the condition holds, and --find
CONDITION looks for choices that lead to one, the fewest first; both print the place. A
condition is a kind of step, who makes it (task, softirq, irq, nmi, reader, user, cpu0,
cpu1), "says WORD", or a number of the state, and " and " may stand between several:

  ftracelab step overwrite --until 'overrun >= 6'
  ftracelab step nested --find 'irq and left'          an event is left to the outer writer
  ftracelab step beside --find swap-fails              the reader's exchange fails
  ftracelab step race --find drop                      two CPUs use up the slots

The kinds:
` + kindTable() + `

On a terminal, without --view, --format, --until, --wrote and --steps, step shows the
whole window: arrow keys walk and scroll, Tab changes the view, i, s, n, r and p make
something come (and so do a, b, c, z and m), u takes that back, / and f ask for a
condition, v lists the steps, a click chooses a cell and a second one asks who wrote the
byte, ? lists all keys, q ends and prints the place.`,
		Example: `  ftracelab step --list
  ftracelab step overwrite --until overwrite --view ring
  ftracelab step nested --do 6i --at last --view page --format svg
  ftracelab step event --at last --wrote 0:16`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return listScenarios(cmd.OutOrStdout())
			}
			place, err := f.from(args)
			if err != nil {
				return usageError{fmt.Errorf("step: %w", err)}
			}
			changed := cmd.Flags().Changed
			if in, out, ok := f.terminal(cmd); ok && !changed("view") && !changed("format") {
				err = f.walk(cmd.Context(), in, out.(tty), place)
			} else {
				err = f.print(out, place)
			}
			if err != nil {
				return fmt.Errorf("step: %w", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.list, "list", false, "list the scenarios, with the question that each answers")
	fl.StringVar(&f.at, "at", "0", "number of the step, or last")
	fl.StringVar(&f.view, "view", "", "step, ring, page, bits, counters, invariants, algorithm, map, shadow, timeline, hist, command or files; without it, the step and its main view")
	fl.StringVar(&f.format, "format", "text", "text, svg or json")
	fl.StringVar(&f.place, "url", "", "the place of a step, as step prints it; a whole URL may stand around it")
	fl.StringVar(&f.do, "do", "", "what comes after which steps, as in 9i.12n")
	fl.StringVar(&f.until, "until", "", "go on to the next step of a kind, or of which another condition holds")
	fl.BoolVar(&f.back, "back", false, "with --until: go back to the one before")
	fl.StringVar(&f.find, "find", "", "look for choices that lead to a step of which this condition holds")
	fl.IntVar(&f.runs, "runs", stepping.DefaultRuns, "with --find: how many runs to play at most")
	fl.StringVar(&f.with, "with", "", "with --find: the letters of what may be chosen, as in ia; without it, whatever is possible")
	fl.StringVar(&f.wrote, "wrote", "", "PAGE:OFFSET: go back to the step that wrote this byte last")
	fl.BoolVar(&f.steps, "steps", false, "list all steps instead")
	return cmd
}

func listScenarios(w io.Writer) error {
	for _, s := range stepping.Scenarios() {
		if _, err := fmt.Fprintf(w, "%-16s %s\n", s.Name, s.Question); err != nil {
			return err
		}
	}
	return nil
}

// from is the place that the flags and the argument name.
func (f *stepFlags) from(args []string) (stepping.Place, error) {
	if f.place != "" {
		if len(args) > 0 {
			return stepping.Place{}, errors.New("--url and a SCENARIO exclude each other")
		}
		return stepping.ParsePlace(f.place)
	}
	if len(args) == 0 {
		return stepping.Place{}, errors.New("which scenario? step --list shows them")
	}
	text := args[0] + "?step=" + f.at
	if f.do != "" {
		text += "&do=" + f.do
	}
	if strings.ContainsAny(args[0]+f.at+f.do, "?&=#/%;") {
		return stepping.Place{}, fmt.Errorf("%q is not the name of a scenario, a step or choices", strings.Join([]string{args[0], f.at, f.do}, " "))
	}
	return stepping.ParsePlace(text)
}

// terminal is where step reads keys and draws, if both are a terminal that can place its
// cursor and no flag asks for something that is printed.
func (f *stepFlags) terminal(cmd *cobra.Command) (in *os.File, out io.Writer, ok bool) {
	out = cmd.OutOrStdout()
	in, ok = cmd.InOrStdin().(*os.File)
	ok = ok && term.IsTerminal(int(in.Fd())) && columns(out) > 0 && os.Getenv("TERM") != "dumb"
	return in, out, ok && f.until == "" && f.find == "" && f.wrote == "" && !f.steps
}

// print moves on from place as the flags say, and shows what is there.
func (f *stepFlags) print(w io.Writer, place stepping.Place) error {
	run, err := stepping.Play(place)
	if err != nil {
		return err
	}
	if f.until != "" {
		c, err := stepping.ParseCondition(f.until)
		if err != nil {
			return usageError{err}
		}
		next, err := stepping.Until(run.Place, c, f.back)
		if err != nil {
			return err
		}
		if run, err = stepping.Play(next); err != nil {
			return err
		}
	}
	if f.find != "" {
		found, err := f.search(run.Place)
		if err != nil {
			return err
		}
		if run, err = stepping.Play(found); err != nil {
			return err
		}
	}
	if f.wrote != "" {
		page, offset, err := parseByte(f.wrote)
		if err != nil {
			return err
		}
		at, err := stepping.Wrote(run.Place, page, offset)
		if err != nil {
			return err
		}
		if run, err = stepping.Play(at); err != nil {
			return err
		}
	}
	if f.steps {
		for i, s := range run.Steps {
			if _, err := fmt.Fprintf(w, "%6d  %-8s %s\n", i+1, s.Who, s.What); err != nil {
				return err
			}
		}
		return nil
	}
	views := []string{f.view}
	if f.view == "" {
		views = run.Moment.Views()[:min(2, len(run.Moment.Views()))]
	}
	var all stepping.Picture
	for i, view := range views {
		p, err := run.Moment.Picture(view)
		if err != nil {
			return err
		}
		if i == 0 {
			all.Title = p.Title
		}
		all.Sections = append(all.Sections, p.Sections...)
	}
	return writePicture(w, all, f.format)
}

// search looks for choices after place.
func (f *stepFlags) search(place stepping.Place) (stepping.Place, error) {
	c, err := stepping.ParseCondition(f.find)
	if err != nil {
		return place, usageError{err}
	}
	if f.runs < 1 {
		return place, usageError{fmt.Errorf("--runs %d: want 1 or more", f.runs)}
	}
	acts, err := stepping.ParseActs(f.with)
	if err != nil {
		return place, usageError{err}
	}
	found, err := stepping.Find(place, c, stepping.Search{Runs: f.runs, Acts: acts})
	return found.Place, err
}

// kindTable says what each kind of step is.
func kindTable() string {
	var s strings.Builder
	for _, name := range stepping.KindNames() {
		fmt.Fprintf(&s, "  %-11s %s\n", name, stepping.KindAbout(name))
	}
	return strings.TrimRight(s.String(), "\n")
}

// parseByte reads PAGE:OFFSET; the offset may be hexadecimal with 0x.
func parseByte(s string) (page, offset int, err error) {
	before, after, ok := strings.Cut(s, ":")
	p, err1 := strconv.ParseUint(before, 10, 24)
	o, err2 := strconv.ParseUint(after, 0, 24)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("--wrote %q: want the number of a page and an offset on it, as 0:0x10", s)
	}
	return int(p), int(o), nil
}
