package fusefs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
)

// TestKnowsNoFile: the source of the package names no file of the tree, so that a file
// is served as its traits say, whatever it is called. Two folders of the root are known:
// events, which is the largest that stays as it is, and instances, whose folders belong to
// whoever makes them.
func TestKnowsNoFile(t *testing.T) {
	m, err := machine.New(machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ft, err := tracer.New(m, tracer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	err = fs.WalkDir(tracefsfs.New(ft.Root()), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		names[d.Name()] = true
		if path == "events" {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || !names["trace_pipe_raw"] || !names["current_tracer"] {
		t.Fatalf("%d names, %v", len(names), err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, known := range namedFiles(file, names) {
			if known != "events" && known != "instances" && known != "mode" { // an option of mount(8)
				t.Errorf("%s knows the file %s by its name", name, known)
			}
		}
	}
	planted, err := parser.ParseFile(token.NewFileSet(), "planted.go", `package p; var x = map[string]bool{"trace_pipe": true}`, 0)
	if err != nil || len(namedFiles(planted, names)) != 1 {
		t.Errorf("a file that is named is not found: %v", err)
	}
}

// namedFiles are the strings in a source that are names of files.
func namedFiles(f *ast.File, names map[string]bool) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && names[text] && text != "" && text != "." {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}
