package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// TestNoInternalTypes: a program that imports this module can name every type in an
// exported signature. It cannot name those below internal.
func TestNoInternalTypes(t *testing.T) {
	for _, s := range product(sources(t)) {
		if strings.HasPrefix(s.dir, "internal/") || strings.HasPrefix(s.dir, "cmd/") {
			continue
		}
		for _, name := range internalTypes(s) {
			t.Errorf("%s: %s", s.name, name)
		}
	}
}

// internalTypes lists the exported declarations of a file that name a type of an
// internal package, with its name.
func internalTypes(s source) (found []string) {
	imports := s.imports()
	look := func(name string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				return false
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && strings.HasPrefix(imports[of.Name], module+"/internal/") {
					found = append(found, name+" names "+of.Name+"."+n.Sel.Name)
				}
			}
			return true
		})
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
				look(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						lookType(spec.Name.Name, spec.Type, look)
					}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() && spec.Type != nil {
							look(name.Name, spec.Type)
						}
					}
				}
			}
		}
	}
	return found
}

// lookType looks at the parts of a type that can be seen from outside, which for a
// struct are its exported fields.
func lookType(name string, typ ast.Expr, look func(string, ast.Node)) {
	s, ok := typ.(*ast.StructType)
	if !ok {
		look(name, typ)
		return
	}
	for _, f := range s.Fields.List {
		for _, field := range f.Names {
			if field.IsExported() {
				look(name+"."+field.Name, f.Type)
			}
		}
		if len(f.Names) == 0 {
			look(name, f.Type)
		}
	}
}

func exportedReceiver(r *ast.FieldList) bool {
	typ := r.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if x, ok := typ.(*ast.IndexExpr); ok {
		typ = x.X
	}
	name, ok := typ.(*ast.Ident)
	return !ok || name.IsExported()
}
