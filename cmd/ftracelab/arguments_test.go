package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// unsafe finds a path that may lead out of the folder, and a number that asks for more
// memory or time than a test has.
var unsafe = regexp.MustCompile(`\.\.|(^|[^\w.-])/|\d{5}|[0-9]{3}m|[0-9]h`)

// untested are commands that mount, or take long, and a flag that lets the shell write.
var untested = []string{"mount", "exec", "unmount-after", "bench", "--host-write"}

// staysInside says whether a test may run a command line.
func staysInside(args []string) bool {
	for _, arg := range args {
		if unsafe.MatchString(arg) || slices.ContainsFunc(untested, func(u string) bool { return strings.HasPrefix(arg, u) }) {
			return false
		}
	}
	return true
}

// TestUnsafe: what the fuzzer makes up and must not be run.
func TestUnsafe(t *testing.T) {
	for line, want := range map[string]bool{
		"run --out cap/x.dat": true, "run --out a.dat --duration 20ms": true, "estimate cap/cpu0.raw --html page.html": true,
		"run --out /etc/passwd": false, "run --out=/etc/passwd": false, "run --out=a/../../x": false, "run --out ..": false,
		"exec -- sh": false, "mount d": false, "shell --host-write -c true": false, "shell --host-write=1": false,
		"run --set buffer_size_kb=99999": false, "run --duration 100h": false, "run --out a//b": false, "shell -c x>/etc/x": false,
	} {
		if got := staysInside(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// FuzzArguments runs command lines in a folder with captures: none panics, each ends
// with a status that the help names, and nothing is written but what is named.
func FuzzArguments(f *testing.F) {
	inputs := f.TempDir()
	for _, args := range [][]string{
		{"run", "--cpus", "1", "--set", "set_event=sched:sched_switch", "--set", "options/stacktrace=1", "--duration", "20ms", "--out", filepath.Join(inputs, "cap")},
		{"convert", filepath.Join(inputs, "cap"), filepath.Join(inputs, "in.dat")},
	} {
		var out, errs bytes.Buffer
		if status := run(f.Context(), args, strings.NewReader(""), &out, &errs); status != 0 {
			f.Fatal(errs.String())
		}
	}
	if err := os.WriteFile(filepath.Join(inputs, "folded.txt"), []byte("a;b 1\na;c 2\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	for _, c := range rootCommand().Commands() {
		f.Add(c.Name())
		f.Add("help " + c.Name())
		c.Flags().VisitAll(func(flag *pflag.Flag) {
			for _, value := range []string{"", "-1", "x.dat", "-"} {
				f.Add(c.Name() + " --" + flag.Name + " " + value + " cap")
			}
		})
	}
	for _, line := range []string{
		"", "-h", "--version", "nonsense", "run --out x.dat", "run --out cap", "run --out - mix", "run --out no/cap", "convert in.dat in.dat",
		"convert cap out.dat", "convert --compression zlib --file-version 7 in.dat -", "convert cap cap/cpu0.raw", "estimate folded.txt --html page.html",
		"estimate --json --html - cap", "estimate - -", "estimate cap cap in.dat --designs full-stacks,stackmap", "estimate --keep-going cap/kallsyms.txt",
		"report --as trace-cmd in.dat", "report cap --trace-option sym-offset --cpu 0", "report --instance x --as trace in.dat", "report cap/cpu0.raw",
		"stackmap-dump cap/stack_map_bin --json --top 1", "stackmap-dump -", "shell -c exit\u00a03", "shell cap/README", "__complete run --", "completion bash",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		if !staysInside(args) {
			t.Skip("not to be run")
		}
		above := t.TempDir()
		dir, temp := filepath.Join(above, "dir"), filepath.Join(above, "temp")
		if err := os.Mkdir(temp, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(inputs)); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		t.Setenv("TMPDIR", temp)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var out, errs bytes.Buffer
		status := run(ctx, args, strings.NewReader("a;b 1\n"), &out, &errs)
		switch {
		case slices.Contains(args, "shell"): // that of its script
		case status < 0 || status > exitSkipped:
			t.Errorf("status %d: %s", status, errs.String())
		case status != 0 && errs.Len() == 0:
			t.Errorf("status %d, and no word about it", status)
		}
		if got := append(files(t, above), files(t, temp)...); !slices.Equal(got, []string{"dir", "temp"}) {
			t.Errorf("there are %v", got)
		}
		for _, name := range treeOf(t, dir) {
			if strings.Contains(name, ".ftracelab") {
				t.Errorf("it leaves %s", name)
			}
		}
	})
}
