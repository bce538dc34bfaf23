// Package archtest holds the tests that keep true what the documents say about the
// code.
package archtest

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestImportsPointDown compares the imports of every package with the table. None may
// be missing there, and the table may not list any that nobody needs.
func TestImportsPointDown(t *testing.T) {
	imports := map[string]map[string]bool{}
	for _, s := range product(sources(t)) {
		if imports[s.dir] == nil {
			imports[s.dir] = map[string]bool{}
		}
		for _, dep := range s.imports() {
			if dep, ours := strings.CutPrefix(dep, module+"/"); ours {
				imports[s.dir][dep] = true
			}
		}
	}
	for _, complaint := range compareImports(importTable(t), imports) {
		t.Error(complaint)
	}
}

// importTable reads what each package may import.
func importTable(t *testing.T) map[string][]string {
	t.Helper()
	may := map[string][]string{}
	for _, r := range table(t, "docs/architecture.md", "| package | may import |") {
		may[r[0]] = words(r[1])
	}
	return may
}

func compareImports(may map[string][]string, imports map[string]map[string]bool) (complaints []string) {
	say := func(words ...string) { complaints = append(complaints, strings.Join(words, " ")) }
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		allowed, ok := may[dir]
		if !ok {
			say(dir, "has no row in docs/architecture.md")
			continue
		}
		for _, dep := range slices.Sorted(maps.Keys(imports[dir])) {
			if !slices.Contains(allowed, dep) {
				say(dir, "imports", dep+", which its row does not allow")
			}
		}
		for _, dep := range allowed {
			if !imports[dir][dep] {
				say(dir, "may import", dep+", which it does not")
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(may)) {
		if imports[dir] == nil {
			say("docs/architecture.md has a row for", dir+", but there is no such package")
		}
	}
	return complaints
}

// The names of uses that are not imports.
const (
	wallClock = "wall clock"
	initFunc  = "init"
)

// ofClock are the functions of package time that look at the wall clock or wait for it.
var ofClock = strings.Fields("Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker")

// ofChance are the functions of package math/rand/v2 that do not draw from the global
// stream.
var ofChance = strings.Fields("New NewPCG NewChaCha8 NewZipf Rand Source PCG ChaCha8 Zipf")

// TestUses compares what packages use with the table of what only some packages may
// use.
func TestUses(t *testing.T) {
	may := map[string][]string{}
	for _, r := range table(t, "docs/architecture.md", "| use | package | what for |") {
		for _, use := range words(r[0]) {
			may[use] = append(may[use], words(r[1])...)
		}
	}
	uses := map[string]map[string]bool{}
	for use := range may {
		uses[use] = map[string]bool{}
	}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		names, global := found(s)
		for _, name := range global {
			t.Errorf("%s draws from the global stream: rand.%s", s.name, name)
		}
		for _, use := range names {
			if uses[use] != nil && (!isTool(s.dir) && !strings.Contains(s.dir, "/internal/") || len(may[use]) == 0) {
				uses[use][s.dir] = true
			}
		}
	}
	for _, use := range slices.Sorted(maps.Keys(may)) {
		for _, complaint := range compareUses(use, may[use], uses[use]) {
			t.Error(complaint)
		}
	}
}

func compareUses(use string, may []string, dirs map[string]bool) (complaints []string) {
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if !slices.Contains(may, dir) {
			complaints = append(complaints, dir+" uses "+use+", which docs/architecture.md does not allow")
		}
	}
	for _, dir := range may {
		if !dirs[dir] {
			complaints = append(complaints, dir+" may use "+use+", which it does not")
		}
	}
	return complaints
}

// found gives the uses of a file, imports and others, and the functions of the global
// random stream that it calls.
func found(s source) (uses, global []string) {
	imports := s.imports()
	uses = slices.Collect(maps.Values(imports))
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				uses = append(uses, initFunc)
			}
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			switch {
			case imports[of.Name] == "time" && slices.Contains(ofClock, n.Sel.Name):
				uses = append(uses, wallClock)
			case imports[of.Name] == "math/rand/v2" && !slices.Contains(ofChance, n.Sel.Name):
				global = append(global, n.Sel.Name)
			}
		}
		return true
	})
	return uses, global
}

// TestOneWriter: only the waist reserves room in a ring buffer. The rings of lab, whose
// writers are the lesson, have nothing to do with a trace.
func TestOneWriter(t *testing.T) {
	for _, s := range product(sources(t)) {
		if s.dir == "ringbuf" || s.dir == "tracer/record" || s.dir == "lab" {
			continue
		}
		for _, call := range reserves(s) {
			t.Errorf("%s calls %s: only tracer/record writes into a ring buffer", s.name, call)
		}
	}
}

// reserves lists the calls, in a file that imports ringbuf, that reserve room in a ring
// buffer.
func reserves(s source) (calls []string) {
	if !slices.Contains(slices.Collect(maps.Values(s.imports())), module+"/ringbuf") {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Reserve", "NestStart", "NestEnd"}, sel.Sel.Name) {
				calls = append(calls, sel.Sel.Name)
			}
		}
		return true
	})
	return calls
}
