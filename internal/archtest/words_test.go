package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// clumsy are phrases that make a reader stop, with what to write instead.
var clumsy = []struct {
	phrase  *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bof who\b`), "of the one who, or whose"},
	{regexp.MustCompile(`(?i)\b(for|to|by) who (opens|reads|writes|starts)\b`), "for whoever, or name the program"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) to be\b`), "must be, should be, or a verb in the active voice"},
	{regexp.MustCompile(`(?i)\bshall\b`), "must, or will"},
	{regexp.MustCompile(`(?i)\bnothing is known of\b`), "nothing is known about"},
}

// TestDocumentsRead: the documents have none of the phrases that were found hard to
// read in them.
func TestDocumentsRead(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/sessions/*.txtar"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	if len(documents) < 20 {
		t.Fatalf("only %d documents", len(documents))
	}
	for _, name := range documents {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, complaint := range clumsyPhrases(prose(name, string(text))) {
			t.Errorf("%s: %s", name, complaint)
		}
	}
}

// prose gives the part of a document that is written for readers: of a session, what
// stands above its files.
func prose(name, text string) string {
	if filepath.Ext(name) == ".txtar" {
		text, _, _ = strings.Cut(text, "\n-- ")
		text = strings.ReplaceAll(text, "\n# ", "\n")
	}
	return strings.Join(strings.Fields(text), " ")
}

// clumsyPhrases finds the phrases of clumsy in a text.
func clumsyPhrases(text string) (complaints []string) {
	for _, c := range clumsy {
		for _, at := range c.phrase.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-30):min(len(text), at[1]+30)]
			complaints = append(complaints, "… "+around+" …: write "+c.instead)
		}
	}
	return complaints
}

func TestClumsyPhrasesNotice(t *testing.T) {
	for text, want := range map[string]int{
		"the times of who submits":               1,
		"kept for who opens next":                1,
		"what is to\nbe seen":                    1,
		"nothing shall change":                   1,
		"a register that nothing is known of":    1,
		"what is told to become":                 0,
		"the one of whom somebody asks: shallow": 0,
		"who opens a file is recorded":           0,
	} {
		if got := clumsyPhrases(prose("x.md", text)); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
	session := "# It is\n# to be read.\nexec true\n\n-- file --\nit shall stay\n"
	if got := clumsyPhrases(prose("x.txtar", session)); len(got) != 1 {
		t.Errorf("a session: %q", got)
	}
}
