//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A part of ftracelab can be taken out, to see which tests notice. The first statement of
// each function that is named here then ends it. Only the copy that is built is changed.
type part struct {
	name string
	what string // what no longer happens
	cuts []cut
}

type cut struct {
	file     string // from the top of the tree
	function string // with its receiver's type: Filter.Match
	ends     string // a statement
}

var parts = []part{
	{"record", "nothing gets into a ring buffer", []cut{
		{"ringbuf/write.go", "Buffer.Reserve", "return Event{}, ErrFull"},
	}},
	{"function", "the tracers function and function_graph record no call", []cut{
		{"tracer/function.go", "Instance.recordFunction", "return"},
		{"tracer/function_graph.go", "Instance.recordCall", "return true"},
		{"tracer/function_graph.go", "Instance.recordReturn", "return"},
	}},
	{"stack", "an event has no kernel stack", []cut{
		{"tracer/record/recorder.go", "Recorder.WriteKernelStack", "return 0, nil"},
	}},
	{"probe", "a kprobe, uprobe, fprobe or eprobe records nothing", []cut{
		{"tracer/dynevent/traceprobe.go", "traceProbe.write", "return"},
		{"tracer/dynevent/eprobe.go", "Eprobe.Fire", "return"},
	}},
	{"trigger", "no trigger acts, and no histogram counts", []cut{
		{"tracer/event/trigger/command.go", "Trigger.fire", "return"},
		{"tracer/hist.go", "Instance.callHists", "return"},
	}},
	{"filter", "a filter of an event keeps every record", []cut{
		{"tracer/event/filter/filter.go", "Filter.Match", "return true"},
	}},
	{"select", "set_ftrace_filter and set_ftrace_notrace select every function", []cut{
		{"tracer/functions/ops.go", "Ops.Traces", "return true"},
	}},
	{"error", "error_log stays empty", []cut{
		{"tracer/errorlog.go", "errorLog.add", "return"},
	}},
}

// findPart returns the part of that name.
func findPart(name string) (part, error) {
	var names []string
	for _, p := range parts {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return part{}, fmt.Errorf("-without %q: there is only %s", name, strings.Join(names, ", "))
}

// overlay writes the changed files into dir, and the file for the flag -overlay of go build,
// whose name it returns. top is the top of the tree.
func (p part) overlay(top, dir string) (string, error) {
	changed := map[string][]byte{}
	for _, c := range p.cuts {
		file := filepath.Join(top, c.file)
		text := changed[file]
		if text == nil {
			var err error
			if text, err = os.ReadFile(file); err != nil {
				return "", err
			}
		}
		text, err := c.apply(text)
		if err != nil {
			return "", err
		}
		changed[file] = text
	}
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for n, file := range slices.Sorted(maps.Keys(changed)) {
		to := filepath.Join(dir, fmt.Sprintf("%d-%s", n, filepath.Base(file)))
		if err := os.WriteFile(to, changed[file], 0o600); err != nil {
			return "", err
		}
		list.Replace[file] = to
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// apply returns the source of a file in which the function ends with its first statement.
func (c cut) apply(text []byte) ([]byte, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, c.file, text, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || functionName(f) != c.function {
			continue
		}
		at := set.Position(f.Body.Lbrace).Offset + 1
		return slices.Concat(text[:at], []byte(" if true { "+c.ends+" };"), text[at:]), nil
	}
	return nil, fmt.Errorf("%s has no function %s", c.file, c.function)
}

// functionName is the name of a function, behind that of its receiver's type and a dot if
// it has one.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if s, ok := of.(*ast.StarExpr); ok {
		of = s.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// build builds ftracelab without the part; without a name, whole.
func build(ctx context.Context, without, scratch, to string, stderr io.Writer) error {
	args := []string{"build", "-o", to}
	if without != "" {
		p, err := findPart(without)
		if err != nil {
			return err
		}
		mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
		if err != nil {
			return fmt.Errorf("where is the tree: %w", err)
		}
		overlay, err := p.overlay(filepath.Dir(strings.TrimSpace(string(mod))), scratch)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "ftracelab/cmd/ftracelab")...)
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build ftracelab: %w", err)
	}
	return nil
}

// printNoticed prints the tests whose result is not the expected one, as lines of needs.txt.
func printNoticed(w io.Writer, without string, cases []*testCase, want map[testRun]string) {
	noticed := 0
	for _, c := range cases {
		r := testRun{c.Test, c.Instance}
		if c.Result == want[r] {
			continue
		}
		noticed++
		fmt.Fprintf(w, "%-8s %s", without, c.Test)
		if c.Instance {
			fmt.Fprint(w, " instance")
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "# without %s: %d of %d notice\n", without, noticed, len(cases))
}
