package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// TestExportedIsUsed: what the packages that others import export is used by another
// package of this module, or an example shows a stranger how to use it. A method that an
// interface of the standard library asks for is used by that library.
func TestExportedIsUsed(t *testing.T) {
	files := sources(t)
	for _, dir := range []string{"ringbuf", "stackmap", "fgraph", "unwind", "unwind/cookie", "unwind/sframe", "unwind/user", "tracer/record", "report"} {
		used := usedOutside(files, dir)
		for _, s := range product(files) {
			if s.dir != dir {
				continue
			}
			for _, d := range s.file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !f.Name.IsExported() || f.Recv != nil && !exportedReceiver(f.Recv) {
					continue
				}
				switch f.Name.Name {
				case "String", "Error", "Unwrap", "MarshalText", "UnmarshalText", "UnmarshalJSON", "MarshalJSON", "Set", "Type":
					continue
				}
				if !used[f.Name.Name] {
					t.Errorf("%s: %s is used by no other package, and no example shows it", s.name, f.Name.Name)
				}
			}
		}
	}
}

// usedOutside has the names that come behind a dot in the files of other packages, and
// in the examples of dir.
func usedOutside(files []source, dir string) map[string]bool {
	used := map[string]bool{}
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				used[sel.Sel.Name] = true
			}
			return true
		})
	}
	for _, s := range files {
		test := strings.HasSuffix(s.name, "_test.go")
		if !test && s.dir != dir {
			look(s.file)
		}
		if !test && s.dir == dir {
			calls(s.file, used)
		}
		if !test || s.dir != dir {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
				look(f)
			}
		}
	}
	return used
}

// calls adds the functions of the package itself that a file calls: a function that fills
// a row of a table which others use.
func calls(f *ast.File, used map[string]bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if fn, ok := call.Fun.(*ast.Ident); ok {
				used[fn.Name] = true
			}
		}
		return true
	})
}
