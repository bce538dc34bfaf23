package browsertest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var pictures = flag.String("pictures", "", "folder for pictures of the pages")

// The pages, and the program that made them. TestMain fills them in.
var (
	program string // path of ftracelab
	folder  string // where the pages are
)

// pages are the files of all pages.
var pages = []string{"capture.html", "fleet.html", "experiment.html"}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "ftracelab-pages"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "ftracelab")
	if path := chromium(); path != "" {
		stop, err := startBrowser(path, filepath.Join(folder, "browser"))
		defer stop()
		if err := errors.Join(err, makePages()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	defer func() {
		if server != nil && server.Process != nil {
			_ = server.Process.Kill() // it serves only these tests
			_ = server.Wait()
		}
	}()
	return m.Run()
}

// makePages builds ftracelab and makes a page of a capture, of a fleet and of an experiment.
func makePages() error {
	if out, err := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-o", program, "./cmd/ftracelab").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	// A machine has the example, and eight others a load of their own. On one of these the
	// function tracer runs, which makes it unlike the others.
	commands := [][]string{
		{"estimate", "--html", "capture.html"},
		{"experiment", "--capture", "example", "--scenario", "mix", "--set", "set_event=kmem", "--set", "options/stacktrace=1", "--duration", "50ms", "--seeds", "3", "--designs", "full-stacks,stackmap:bits=10,stackmap:bits=12,no-stacks", "--html", "experiment.html"},
		{"estimate", "--summary", "m0.ftls", "--machine", "example"},
	}
	merge := []string{"merge", "-o", "fleet.ftls", "m0.ftls"}
	for n := 1; n <= 8; n++ {
		name := fmt.Sprintf("m%d", n)
		load := []string{"run", "mix", "--seed", fmt.Sprint(n), "--out", name, "--set", "set_event=kmem", "--set", "options/stacktrace=1", "--duration", "50ms"}
		if n == 8 {
			load = []string{"run", "busy", "--out", name, "--set", "current_tracer=function", "--set", "options/func_stack_trace=1", "--duration", "5ms"}
		}
		commands = append(commands, load, []string{"estimate", "--summary", name + ".ftls", "--machine", name, name})
		merge = append(merge, name+".ftls")
	}
	commands = append(commands, merge, []string{"estimate", "fleet.ftls", "--html", "fleet.html"})
	for _, args := range commands {
		if _, err := ftracelab(args...); err != nil {
			return err
		}
	}
	return nil
}

// ftracelab runs the program in the folder of the pages and returns what it prints.
func ftracelab(args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("ftracelab %q: %w\n%s", args, err, exit.Stderr)
	}
	return out, err
}
