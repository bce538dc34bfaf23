package archtest

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// stringsOf are the string constants that a file spells out.
func stringsOf(file *ast.File) (texts []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}

// Every fuzz target has seeds that a plain go test runs: files in testdata/fuzz/NAME,
// or seeds that it adds itself. Files for a target that does not exist would never run.
func TestFuzzTargetsHaveSeeds(t *testing.T) {
	targets := map[string]bool{} // FOLDER/NAME
	byDir := map[string][]*ast.FuncDecl{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil {
				byDir[s.dir] = append(byDir[s.dir], f)
			}
		}
	}
	for dir, funcs := range byDir {
		adds := adders(funcs)
		for _, f := range funcs {
			if !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			targets[path.Join(dir, f.Name.Name)] = true
			corpus, err := filepath.Glob(filepath.Join(root, dir, "testdata", "fuzz", f.Name.Name, "*"))
			if err != nil {
				t.Fatal(err)
			}
			if len(corpus) == 0 && !adds[f.Name.Name] {
				t.Errorf("%s: %s has neither files nor seeds", dir, f.Name.Name)
			}
		}
	}
	if len(targets) == 0 {
		t.Fatal("there are no fuzz targets")
	}
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		dir, ok := strings.CutSuffix(filepath.ToSlash(filepath.Dir(name)), "/testdata/fuzz")
		if ok && !targets[path.Join(strings.TrimPrefix(dir, root+"/"), d.Name())] {
			t.Errorf("%s: there is no such target", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// adders finds the functions that add seeds to a *testing.F, either themselves or
// through a function to which they pass it.
func adders(funcs []*ast.FuncDecl) map[string]bool {
	adds := map[string]bool{}
	for range funcs { // after so many rounds, at the latest, nothing new is found
		before := len(adds)
		for _, f := range funcs {
			fuzz := fuzzParam(f)
			if fuzz == "" || adds[f.Name.Name] {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Add" && isIdent(sel.X, fuzz) {
					adds[f.Name.Name] = true
				}
				if to, ok := call.Fun.(*ast.Ident); ok && adds[to.Name] {
					for _, arg := range call.Args {
						if isIdent(arg, fuzz) {
							adds[f.Name.Name] = true
						}
					}
				}
				return true
			})
		}
		if len(adds) == before {
			break
		}
	}
	return adds
}

// fuzzParam gives the name of a function's parameter of type *testing.F; "" if it has
// none.
func fuzzParam(f *ast.FuncDecl) string {
	for _, p := range f.Type.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok || len(p.Names) == 0 {
			continue
		}
		if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "F" && isIdent(sel.X, "testing") {
			return p.Names[0].Name
		}
	}
	return ""
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
