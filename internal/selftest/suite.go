//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// testCase is a test, or its second run in an instance.
type testCase struct {
	Test     string `json:"test"` // path below test.d, without .tc
	Instance bool   `json:"instance"`
	Result   string `json:"result"` // the result that ftracetest prints, or hung, or notRun

	description string
	number      int      // its number in a run of the whole suite
	assertions  []string // with -strict
}

// Results that ftracetest does not have.
const (
	hung   = "HUNG"
	notRun = "NOT RUN"
)

// suite is a copy of the kernel's selftests of ftrace.
type suite struct {
	dir   string
	entry string      // the program that runs the tests
	held  string      // the file in which strict assertions note that they were true
	cases []*testCase // in ftracetest's order
}

// runner is the program of the suite that runs its tests.
const runner = "ftracetest"

// copySuite copies the suite, so that its source stays clean. It adds a test if add
// names one, and with strict makes the copy strict.
func copySuite(from, add, to string, strict bool) (*suite, error) {
	if _, err := os.Stat(filepath.Join(from, runner)); err != nil {
		return nil, fmt.Errorf("%s is not the suite: %w", from, err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return nil, err
	}
	if add != "" {
		if err := addTest(add, filepath.Join(to, "test.d", addedFolder)); err != nil {
			return nil, err
		}
	}
	s := &suite{dir: to, entry: filepath.Join(to, runner), held: filepath.Join(to, "held")}
	tests := filepath.Join(to, "test.d")
	var instances []*testCase
	err := filepath.WalkDir(tests, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tc" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tests, path)
		if err != nil {
			return err
		}
		c := &testCase{Test: strings.TrimSuffix(filepath.ToSlash(rel), ".tc"), Result: notRun, description: header(text, "description")}
		if strict {
			text, c.assertions = makeStrict(c.Test, text, s.held)
		}
		s.cases = append(s.cases, c)
		if strings.Contains(header(text, "flags"), "instance") {
			again := *c
			again.Instance = true
			instances = append(instances, &again)
		}
		if strict {
			return os.WriteFile(path, text, d.Type().Perm())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// find | sort, in the C locale
	order := func(a, b *testCase) int { return strings.Compare(a.Test+".tc", b.Test+".tc") }
	slices.SortFunc(s.cases, order)
	slices.SortFunc(instances, order)
	s.cases = append(s.cases, instances...)
	for i, c := range s.cases {
		c.number = i + 1
	}
	return s, nil
}

// rename gives the program that runs the tests another name. The old name stays as well,
// because a test looks for it.
func (s *suite) rename(name string) error {
	if name == runner {
		return nil
	}
	if name != filepath.Base(name) {
		return fmt.Errorf("-runner %q: want a name without a folder", name)
	}
	renamed := filepath.Join(s.dir, name)
	if err := os.Link(s.entry, renamed); err != nil {
		return fmt.Errorf("-runner %s: %w", name, err)
	}
	s.entry = renamed
	return nil
}

func addTest(file, dir string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644)
}

// header gives a value from the comments at the beginning of a test.
func header(text []byte, name string) string {
	m := regexp.MustCompile(`(?m)^#[ \t]*` + name + `:(.*)$`).FindSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.Join(strings.Fields(string(m[1])), " ")
}

// choose finds the tests that are asked for, by name, with or without .tc, or by
// folder. If no names are given, it chooses all tests, or with strict all tests that
// have assertions.
func (s *suite) choose(names []string, strict bool) ([]*testCase, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(s.cases), func(c *testCase) bool { return strict && c.assertions == nil }), nil
	}
	var chosen []*testCase
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".tc"), "/")
		found := false
		for _, c := range s.cases {
			if c.Test == name || strings.HasPrefix(c.Test, name+"/") || filepath.Base(c.Test) == name {
				found = true
				if !slices.Contains(chosen, c) {
					chosen = append(chosen, c)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no test %s", name)
		}
	}
	slices.SortFunc(chosen, func(a, b *testCase) int { return a.number - b.number })
	return chosen, nil
}

// run runs ftracetest in a cell and fills the results in.
func (s *suite) run(ctx context.Context, f flags, cases []*testCase, stderr io.Writer) error {
	logs, err := filepath.Abs(f.logs)
	if err != nil {
		return err
	}
	args := []string{"exec", "--", s.entry, "-k", "-l", logs}
	if len(cases) < len(s.cases) {
		for _, c := range cases {
			if !c.Instance {
				args = append(args, filepath.Join(s.dir, "test.d", filepath.FromSlash(c.Test)+".tc"))
			}
		}
	}
	cmd := exec.Command(f.binary, args...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// This kills the process group: ftracelab, ftracetest, and the test that is
	// running.
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := s.follow(ctx, f.stall, out, cases, kill, stderr); err != nil {
		return errors.Join(err, cmd.Wait())
	}
	err = cmd.Wait()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return nil // the results tell what happened
	}
	return err
}

// resultLine is "[12] (instance)  description	[PASS]".
var resultLine = regexp.MustCompile(`^\[(\d+)\](?: \(instance\) )?.*\t\[([A-Z]+)\]$`)

// follow reads the output of ftracetest as it comes. If a test does not end, it calls
// kill.
func (s *suite) follow(ctx context.Context, stall time.Duration, out io.Reader, cases []*testCase, kill func(), stderr io.Writer) error {
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(out)
		for in.Scan() {
			lines <- in.Text()
		}
	}()
	next := 0
	timer := time.NewTimer(stall)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			kill()
			return ctx.Err()
		case <-timer.C:
			if next < len(cases) {
				cases[next].Result = hung
			}
			kill()
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			m := resultLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			fmt.Fprintln(stderr, line)
			timer.Reset(stall)
			n, err := strconv.Atoi(m[1])
			if err != nil || n != next+1 || n > len(cases) {
				kill()
				return fmt.Errorf("ftracetest says %q, expected test %d of %d", line, next+1, len(cases))
			}
			cases[next].Result = m[2]
			next++
		}
	}
}
