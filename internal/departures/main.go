// Command departures writes docs/departures.md, the list of all places where ftracelab
// knowingly differs from the kernel. It collects them from the comments: a departure is
// a paragraph of a comment that begins with "Departure:".
//
//	go generate ./internal/departures
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:generate go run . ../.. ../../docs/departures.md
//go:generate go run ../inventory ../../docs

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: departures ROOT OUT")
	}
	text, err := render(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], text, 0o666); err != nil {
		log.Fatal(err)
	}
}

const head = `# Departures

Where ftracelab knowingly differs from Linux 6.12, collected from the ` + "`Departure:`" + ` paragraphs of the code by
` + "`go generate ./internal/departures`" + `. Any other difference is a bug.

Missing files are listed in [tree.md](tree.md), missing events in [formats.md](formats.md). [rendering.md](rendering.md)
shows which text is the same as the kernel's, byte for byte.
`

// departure is such a paragraph and the place where it stands.
type departure struct{ dir, file, subject, text string }

// render returns the document for the tree at root.
func render(root string) ([]byte, error) {
	var all []departure
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || path == filepath.Join(root, "internal", "departures")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		found, err := inFile(root, path)
		all = append(all, found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b departure) int { return strings.Compare(a.dir, b.dir) })
	out := bytes.NewBufferString(head)
	dir := ""
	for _, d := range all {
		if d.dir != dir {
			dir = d.dir
			fmt.Fprintf(out, "\n## %s\n\n", dir)
		}
		fmt.Fprintf(out, "* %s (`%s`): %s\n", d.subject, d.file, d.text)
	}
	return out.Bytes(), nil
}

// inFile finds the departures of one file, in order.
func inFile(root, path string) ([]departure, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	subjects := map[*ast.CommentGroup]string{f.Doc: "package " + f.Name.Name}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			subjects[decl.Doc] = decl.Name.Name
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				name, doc := specName(spec)
				subjects[doc] = name
				if _, named := subjects[decl.Doc]; !named {
					subjects[decl.Doc] = name
				}
			}
		}
	}
	dir, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var found []departure
	for _, group := range f.Comments {
		for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
			text, is := strings.CutPrefix(strings.TrimSpace(paragraph), "Departure:")
			if !is {
				continue
			}
			subject := subjects[group]
			if subject == "" {
				subject = "in the code"
			}
			found = append(found, departure{filepath.ToSlash(dir), filepath.Base(path), subject, strings.Join(strings.Fields(text), " ")})
		}
	}
	return found, nil
}

func specName(spec ast.Spec) (string, *ast.CommentGroup) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return spec.Name.Name, spec.Doc
	case *ast.ValueSpec:
		return spec.Names[0].Name, spec.Doc
	}
	return "", nil
}
