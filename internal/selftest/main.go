//go:build unix

// Command selftest runs the Linux kernel's own selftests for ftrace against ftracelab,
// and prints their results beside those of real kernels.
//
//	go run ./internal/selftest -suite linux-6.12/tools/testing/selftests/ftrace
//	go run ./internal/selftest -suite DIR -strict -json 00basic trigger/trigger-hist.tc
//	go run ./internal/selftest -suite DIR -runner runner
//	go run ./internal/selftest -suite DIR -without filter
//
// The suite comes from a kernel's source. A copy of it runs unmodified in a cell
// (ftracelab exec). If no tests are named, all of them run, in a single run of
// ftracetest as on a kernel. Tests with the flag instance run a second time in an
// instance.
//
// With -strict, a weakness of the suite is mended in the copy: under "set -e", a line
// "! command" never makes a script fail. Each such line becomes an assertion (see
// strict.go). If no tests are named, only those with such lines run.
//
// With -runner, ftracetest runs under another name. Nothing may depend on its name, so the
// same results are expected.
//
// With -without, a part of ftracelab is taken out before it is built (see without.go), and
// only the tests whose results change are printed, as lines of needs.txt: the others would
// pass although the part did nothing. docs/selftests.md is made of these lines.
//
// The exit status is 1 if a result differs from the table expected.txt (a test that is
// not supported here, or lacks a program, counts as failed). With -strict it is also 1
// if a test passed without reaching one of its assertions, or if an assertion was never
// compared with the kernel.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "selftest:", err)
		os.Exit(1)
	}
}

type flags struct {
	suite, binary, logs, oracle string
	add, expected, runner       string
	without                     string
	strict, json                bool
	stall                       time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var f flags
	fl := flag.NewFlagSet("selftest", flag.ContinueOnError)
	fl.SetOutput(stderr)
	fl.StringVar(&f.suite, "suite", os.Getenv("FTRACELAB_SELFTESTS"), "tools/testing/selftests/ftrace of a kernel's source")
	fl.StringVar(&f.binary, "ftracelab", "", "the program to test (default: built from this tree)")
	fl.StringVar(&f.logs, "logs", "", "folder to keep the tests' logs in (default: none are kept)")
	fl.StringVar(&f.oracle, "oracle", os.Getenv("FTRACELAB_ORACLE"), "folder with the captures of real kernels, to compare with")
	fl.StringVar(&f.add, "add", "", "a test that is not in the suite, FILE.tc; it becomes added/FILE")
	fl.StringVar(&f.expected, "expected", "", "file with the results that are expected (default: those for Linux 6.12)")
	fl.StringVar(&f.runner, "runner", runner, "the name under which ftracetest runs")
	fl.StringVar(&f.without, "without", "", "a part of ftracelab that is taken out; the tests that notice are printed")
	fl.BoolVar(&f.strict, "strict", false, "every line \"! command\" of a test is an assertion")
	fl.BoolVar(&f.json, "json", false, "results as JSON")
	fl.DurationVar(&f.stall, "stall", 10*time.Minute, "how long one test may take before the run counts as hung")
	if err := fl.Parse(args); err != nil {
		return err
	}
	if f.suite == "" {
		return errors.New("-suite DIR is needed: tools/testing/selftests/ftrace of a kernel's source")
	}
	expected, err := readExpected(f.expected)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "selftest-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if f.binary == "" {
		f.binary = filepath.Join(scratch, "ftracelab")
		if err := build(ctx, f.without, scratch, f.binary, stderr); err != nil {
			return err
		}
	} else if f.without != "" {
		return errors.New("-without builds ftracelab itself: leave -ftracelab out")
	}
	s, err := copySuite(f.suite, f.add, filepath.Join(scratch, "suite"), f.strict)
	if err != nil {
		return err
	}
	if err := s.rename(f.runner); err != nil {
		return err
	}
	cases, err := s.choose(fl.Args(), f.strict)
	if err != nil {
		return err
	}
	if f.logs == "" {
		f.logs = filepath.Join(scratch, "logs")
	}
	if err := s.run(ctx, f, cases, stderr); err != nil {
		return err
	}
	if f.without != "" {
		printNoticed(stdout, f.without, cases, expected)
		return nil
	}
	real, err := readOracle(f.oracle)
	if err != nil {
		return err
	}
	if f.json {
		err = printJSON(stdout, cases)
	} else {
		printTable(stdout, cases, real)
	}
	if err != nil {
		return err
	}
	bad := s.compare(cases, expected)
	if f.strict {
		more, err := s.printStrict(stderr, cases)
		if err != nil {
			return err
		}
		bad = append(bad, more...)
	}
	if len(bad) > 0 {
		return fmt.Errorf("not as expected:\n  %s", strings.Join(bad, "\n  "))
	}
	return nil
}

func printJSON(w io.Writer, cases []*testCase) error {
	out := struct {
		Results []*testCase `json:"results"`
	}{cases}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// printTable prints a line per test and the sums.
func printTable(w io.Writer, cases []*testCase, real oracle) {
	fmt.Fprintf(w, "%-4s %-66s %-12s %-12s %s\n", "#", "test", "ftracelab", "Debian 6.12", "full 6.12")
	for _, c := range cases {
		name := c.Test
		if c.Instance {
			name += " (instance)"
		}
		debian, full := real.of(c)
		fmt.Fprintf(w, "%-4d %-66s %-12s %-12s %s\n", c.number, name, c.Result, debian, full)
	}
	fmt.Fprintf(w, "\n%d results:", len(cases))
	for _, r := range []string{"PASS", "XFAIL", "FAIL", "UNRESOLVED", "UNSUPPORTED", "UNTESTED", hung, notRun} {
		if n := count(cases, r); n > 0 {
			fmt.Fprintf(w, " %d %s", n, r)
		}
	}
	fmt.Fprintln(w)
}

func count(cases []*testCase, result string) int {
	n := 0
	for _, c := range cases {
		if c.Result == result {
			n++
		}
	}
	return n
}
