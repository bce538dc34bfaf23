// Package archtest holds the tests that keep docs/architecture.md true.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "ftracelab"

// table reads the import table: package → what it may import, module prefix left out.
func table(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	in := false
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "| package | may import |"):
			in = true
		case !in || strings.HasPrefix(line, "|---"):
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(line, "|")
			name := strings.TrimSpace(cells[1])
			var may []string
			for dep := range strings.SplitSeq(cells[2], ",") {
				if dep = strings.TrimSpace(dep); dep != "" {
					may = append(may, dep)
				}
			}
			rows[name] = may
		default:
			in = false
		}
	}
	if len(rows) == 0 {
		t.Fatal("docs/architecture.md has no import table")
	}
	return rows
}

type pkg struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "../../...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// isTool reports whether a package below internal is none of the product.
func isTool(name string) bool {
	return strings.HasPrefix(name, "internal/") && !slices.Contains([]string{"internal/tracefile", "internal/lookup3", "internal/plain", "internal/budget"}, name)
}

// TestImportsPointDown compares every package's imports with the table.
func TestImportsPointDown(t *testing.T) {
	rows := table(t)
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if isTool(name) || strings.Contains(name, "/internal/") {
			continue // tools and test helpers stand outside the layers
		}
		may, ok := rows[name]
		if !ok {
			t.Errorf("%s has no row in docs/architecture.md", name)
			continue
		}
		seen[name] = true
		for _, dep := range p.Imports {
			dep, ours := strings.CutPrefix(dep, module+"/")
			if ours && dep != name && !slices.Contains(may, dep) {
				t.Errorf("%s imports %s, which its row does not allow", name, dep)
			}
		}
	}
	for name := range rows {
		if !seen[name] {
			t.Errorf("docs/architecture.md has a row for %s, but there is no such package", name)
		}
	}
}

// forbidden maps an import to the folders that may use it.
var forbidden = map[string][]string{
	"encoding/binary": {"ringbuf", "tracer/event", "tracer/event/hist", "tracer/event/printfmt", "tracer/tracedat", "tracefsfs/fusefs/bridge"},
	"unsafe":          {"tracefsfs/fusefs/cell"},
	"math/rand":       nil,
	"C":               nil,
}

// TestForbiddenImports looks at the product's own files; tests may use what they like.
func TestForbiddenImports(t *testing.T) {
	eachFile(t, func(path, dir string) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			name := strings.Trim(imp.Path.Value, `"`)
			folders, listed := forbidden[name]
			if listed && !slices.Contains(folders, dir) {
				t.Errorf("%s imports %s", path, name)
			}
		}
	})
}

// liveTime are the packages whose clients live in real time.
var liveTime = []string{"tracefsfs/fusefs", "tracefsfs/fusefs/bridge"}

// TestNoWallClock: simulated time comes from workload/machine, never from the host.
func TestNoWallClock(t *testing.T) {
	eachFile(t, func(path, dir string) {
		if isTool(dir) || slices.Contains(liveTime, dir) {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"time.Now(", "time.Since(", "time.Sleep(", "func init()"} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s uses %s…", path, word)
			}
		}
	})
}

// eachFile visits the product's Go files, tests left out; dir is relative to the module's root.
func eachFile(t *testing.T, visit func(path, dir string)) {
	t.Helper()
	root := "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			visit(path, filepath.ToSlash(dir))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneWriter: only the waist reserves room in a ring buffer.
func TestOneWriter(t *testing.T) {
	reserves := regexp.MustCompile(`\.(Reserve|NestStart|NestEnd)\(`)
	eachFile(t, func(path, dir string) {
		if isTool(dir) || dir == "ringbuf" || dir == "tracer/record" {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if call := reserves.Find(text); call != nil && bytes.Contains(text, []byte(`"ftracelab/ringbuf"`)) {
			t.Errorf("%s calls %s…): only tracer/record writes into a ring buffer", path, call)
		}
	})
}
