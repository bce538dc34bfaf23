package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "ftracelab"
	root   = "../.."
)

// source is one Go file of the tree; name and dir are relative to its root.
type source struct {
	name, dir string
	test      bool // *_test.go
	file      *ast.File
}

// imports gives the packages that a file imports, by the names that it uses for them.
func (s source) imports() map[string]string {
	names := map[string]string{}
	for _, imp := range s.file.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if ok, _ := path.Match("v[0-9]", name); ok {
			name = path.Base(path.Dir(p))
		}
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = p
	}
	return names
}

// sources gives all Go files of the module except those in testdata, for all systems.
// They are read once.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var readSources = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || file != root && isModule(file)) {
			return filepath.SkipDir
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		all = append(all, source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), f})
		return nil
	})
	return all, err
})

// isModule reports whether a folder below the root is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// product leaves out tests and everything outside the layers, that is, tools and test
// helpers.
func product(all []source) []source {
	return slices.DeleteFunc(slices.Clone(all), func(s source) bool {
		return s.test || isTool(s.dir) || strings.Contains(s.dir, "/internal/")
	})
}

// isTool reports whether a package below internal does not belong to the product.
func isTool(dir string) bool {
	return strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "internal/userland/") &&
		!slices.Contains([]string{"internal/lookup3", "budget", "internal/plain", "internal/strictyaml", "internal/explain"}, dir)
}

// row is a line of a table in a document. Its cells have no blanks around them.
type row []string

// table reads the rows of the table, in a document, whose first line is head.
func table(t *testing.T, document, head string) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut("\n"+string(text), "\n"+head)
	if !ok {
		t.Fatalf("%s has no table %s", document, head)
	}
	var rows []row
	for n, line := range strings.Split(rest, "\n") {
		switch {
		case n < 2: // the end of the head, and |---|
		case !strings.HasPrefix(line, "|"):
			return rows
		default:
			var r row
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				r = append(r, strings.TrimSpace(cell))
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// words gives the parts of a list with commas.
func words(list string) (parts []string) {
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
