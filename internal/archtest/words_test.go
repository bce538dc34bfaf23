package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestReceivers: no method calls its receiver i. Everywhere else i counts something.
func TestReceivers(t *testing.T) {
	for _, s := range sources(t) {
		for _, method := range receiversNamed(s, "i") {
			t.Errorf("%s: the receiver of %s is called i", s.name, method)
		}
	}
}

// receiversNamed gives the methods of a file whose receiver has that name.
func receiversNamed(s source, name string) (methods []string) {
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		for _, param := range f.Recv.List {
			for _, id := range param.Names {
				if id.Name == name {
					methods = append(methods, f.Name.Name)
				}
			}
		}
	}
	return methods
}

func TestReceiversNotice(t *testing.T) {
	for text, want := range map[string]int{
		"func (i T) M() {}":            1,
		"func (i *T) M() {}":           1,
		"func (t T) M() {}":            0,
		"func (T) M(i int) {}":         0,
		"func f(i T) {}":               0,
		"func (i *T[K]) M() {}":        1,
		"func (t *T) M() { i := 0 }":   0,
		"func (i T) M(){}; func g(){}": 1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package x;"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := receiversNamed(source{file: file}, "i"); len(got) != want {
			t.Errorf("%s: %q, want %d", text, got, want)
		}
	}
}
