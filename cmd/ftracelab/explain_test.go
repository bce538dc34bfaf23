package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/explain"
	"ftracelab/tracer/clock"
	options "ftracelab/tracer/option"
)

// explainedNames gives the names of a kind, and the other words of its rows if also.
func explainedNames(kind string, also bool) map[string]bool {
	names := map[string]bool{}
	for _, r := range explain.OfKind(kind) {
		names[r.Name] = true
		for _, name := range r.Also {
			names[name] = names[name] || also
		}
	}
	maps.DeleteFunc(names, func(_ string, in bool) bool { return !in })
	return names
}

var numberedFolder = regexp.MustCompile(`^(cpu|function)[0-9]+$`)

// treeNames gives the names of files and folders of the tree, except those of events,
// instances' own and options.
func treeNames(t *testing.T) map[string]bool {
	t.Helper()
	f := labFlags{cpus: 2, seed: 1, preset: "documented", console: io.Discard}
	l, err := f.build("")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	err = fs.WalkDir(l.fs, ".", func(at string, _ fs.DirEntry, err error) error {
		parts := strings.Split(at, "/")
		switch {
		case err != nil || at == ".":
			return err
		case parts[0] == "options" && len(parts) > 1, parts[0] == "events" && len(parts) == 3 && parts[2] != "enable" && parts[2] != "filter":
			return nil // an option, an event
		case parts[0] == "events" && len(parts) == 2 && !strings.HasPrefix(parts[1], "header_") && parts[1] != "enable":
			return nil // a system
		case parts[0] == "rv" && len(parts) == 3 && parts[1] == "monitors":
			return nil // a monitor
		}
		name := path.Base(at)
		if m := numberedFolder.FindStringSubmatch(name); m != nil {
			name = m[1] + "N"
		}
		names[name] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// sourceTexts gives the texts of the constants in a file whose names begin with a prefix.
func sourceTexts(t *testing.T, file, prefix string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts[text] = true
		}
		return true
	})
	return texts
}

// TestExplainTable: each option, file, tracer, clock, trigger, sysctl, type, common field,
// count of a stats file and error that there is has a row, and no row is about
// one that is not there.
func TestExplainTable(t *testing.T) {
	words := func(command string) map[string]bool {
		names := map[string]bool{}
		status, out, errs := runLine(t, "shell", "-c", command)
		if status != 0 {
			t.Fatalf("%s: %s", command, errs)
		}
		for line := range strings.Lines(out) {
			names[strings.TrimSpace(line)] = true
		}
		return names
	}
	there := map[string]map[string]bool{
		"file":    treeNames(t),
		"option":  {},
		"clock":   {},
		"error":   {},
		"tracer":  words(`for t in $(cat available_tracers); do echo $t; done`),
		"trigger": words(`for t in $(sed -n 2p events/sched/sched_switch/trigger); do echo $t; done | grep -v '#'`),
		"sysctl":  words(`ls /proc/sys/kernel /proc/sys/debug | grep '^[a-z]' | grep -v :`),
		"stat":    words(`cat per_cpu/cpu0/stats stack_map_stat | sed 's/:.*//'`),
	}
	for _, row := range options.Table {
		there["option"][row.Name] = true
	}
	for _, c := range clock.All {
		there["clock"][c.Name] = true
	}
	for file, prefix := range map[string]string{
		"tracer/event/filter/error.go": "msg", "tracer/event/hist/error.go": "msg",
		"tracer/event/probe/fault.go": "err", "tracer/event/synth/parse.go": "msg",
	} {
		texts := sourceTexts(t, file, prefix)
		if len(texts) < 9 {
			t.Errorf("%s has %d errors only", file, len(texts))
		}
		maps.Copy(there["error"], texts)
	}
	for kind, names := range there {
		rows := explainedNames(kind, false)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !rows[name] {
				t.Errorf("%s %q has no row", kind, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			if !names[name] {
				t.Errorf("the row of %s %q is about nothing", kind, name)
			}
		}
	}
	// What a row also stands for, or rows that the tree does not list.
	for kind, command := range map[string]string{
		"field": `sed -n 's/.*\(common_[a-z_]*\);.*/\1/p' events/sched/sched_switch/format`,
		"type":  `for k in u8 u16 u32 u64 s8 s16 s32 s64 x8 x16 x32 x64 char string ustring symbol symstr; do echo "p vfs_read a=+0(%di):$k" > kprobe_events && echo $k; done`,
		"probe": `for k in p r f t e s; do echo $k; done`,
	} {
		rows := explainedNames(kind, true)
		for name := range words(command) {
			if !rows[name] {
				t.Errorf("%s %q has no row", kind, name)
			}
		}
	}
}

// TestExplainExamples: each row's command works in the shell and prints something; that of
// an error is refused with that error.
func TestExplainExamples(t *testing.T) {
	for _, r := range explain.All() {
		if r.Try == "" {
			continue
		}
		status, out, errs := runLine(t, "shell", "-c", r.Try)
		switch {
		case status != 0:
			t.Errorf("%s %s: %s: status %d: %s", r.Kind, r.Name, r.Try, status, errs)
		case r.Kind == "error" && !strings.Contains(out, "error: "+r.Name+"\n"):
			t.Errorf("error %s: %s: %s", r.Name, r.Try, out)
		case r.Kind != "error" && errs != "" && !strings.Contains(r.Try, "||"):
			t.Errorf("%s %s: %s: %s", r.Kind, r.Name, r.Try, errs)
		case strings.TrimSpace(out) == "" && !strings.Contains(r.Try, "; echo"):
			t.Errorf("%s %s: %s: prints nothing", r.Kind, r.Name, r.Try)
		}
	}
}

// TestExplainWrong: what cannot be explained is told, with what is near it.
func TestExplainWrong(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"explain"}, exitUsage, "of what?"},
		{[]string{"explain", "overwritte"}, exitFailed, `nothing is called "overwritte"; near it: overwrite`},
		{[]string{"explain", "qqqqqqqqqq"}, exitFailed, "explain --list has all names"},
		{[]string{"explain", "\x1b[31m\u202e"}, exitFailed, `\x1b[31m\u202e`},
		{[]string{"explain", "--list", "nosuch"}, exitUsage, "there are: mark, option"},
	} {
		status, _, errs := runLine(t, c.args...)
		if status != c.status || !strings.Contains(errs, c.says) || strings.ContainsAny(errs, "\x1b\u202e") {
			t.Errorf("%q: status %d, %q", c.args, status, errs)
		}
	}
}
