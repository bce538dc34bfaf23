package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRacesAreLookedFor: .ci/run gives the race detector each package of the product that
// starts goroutines, in its code or in its tests. Code for js/wasm has a single thread, and
// no race detector.
func TestRacesAreLookedFor(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	var looked []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "go test -race") {
			looked = append(looked, strings.Fields(line)...)
		}
	}
	for _, s := range sources(t) {
		if strings.HasPrefix(s.dir, "internal/") || strings.HasSuffix(s.name, "_js.go") || !startsGoroutine(s.file) {
			continue
		}
		found := slices.ContainsFunc(looked, func(pattern string) bool {
			folder, below := strings.CutSuffix(pattern, "/...")
			return "./"+s.dir == pattern || below && strings.HasPrefix("./"+s.dir+"/", folder+"/")
		})
		if !found {
			t.Errorf("%s starts a goroutine, and .ci/run does not test ./%s with -race", s.name, s.dir)
		}
	}
}

// startsGoroutine reports whether a file has a go statement, or calls the Go method of a
// group.
func startsGoroutine(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" {
				found = true
			}
		}
		return !found
	})
	return found
}
