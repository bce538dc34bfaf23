// Package recipes checks the recipes of docs/contributing.md. Each of them is applied
// to an overlay of the source, and the program is built with it and run.
package recipes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"mvdan.cc/sh/v3/shell"
)

// TestRecipes applies the recipes. A recipe is a txtar file. "files N" says how many
// files it touches at most, and "run" gives the arguments of ftracelab. A file "edit
// PATH" has a line of PATH, and the lines to insert behind it. A file "input NAME" is there
// when the program runs, and does not count.
func TestRecipes(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			args, most := directives(t, string(archive.Comment))
			changed, want := apply(t, root, archive)
			if len(changed) > most {
				t.Errorf("%d files are touched, at most %d are promised", len(changed), most)
			}
			program := build(t, root, changed)
			var out bytes.Buffer
			cmd := exec.Command(program, args...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = inputs(t, archive), &out, &out
			_ = cmd.Run() // the last command of a recipe may fail; the output shows it
			for line := range strings.Lines(want) {
				if !strings.Contains(out.String(), strings.TrimSuffix(line, "\n")) {
					t.Errorf("want the line %q in what is said:\n%.2000s", line, out.String())
				}
			}
		})
	}
}

// directives reads what stands above the files of a recipe.
func directives(t *testing.T, comment string) (args []string, files int) {
	t.Helper()
	for line := range strings.Lines(comment) {
		if rest, ok := strings.CutPrefix(line, "run "); ok {
			var err error
			if args, err = shell.Fields(rest, func(string) string { return "" }); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = fmt.Sscanf(line, "files %d", &files)
	}
	if len(args) == 0 || files == 0 {
		t.Fatal("the recipe does not say what to run and how many files it touches")
	}
	return args, files
}

// apply makes the files that a recipe adds or changes, by their paths in the tree.
func apply(t *testing.T, root string, archive *txtar.Archive) (changed map[string]string, want string) {
	t.Helper()
	changed = map[string]string{}
	for _, f := range archive.Files {
		path, edit := strings.CutPrefix(f.Name, "edit ")
		switch {
		case f.Name == "want":
			want = string(f.Data)
		case strings.HasPrefix(f.Name, "input "):
		case !edit:
			changed[path] = string(f.Data)
		default:
			text, ok := changed[path]
			if !ok {
				whole, err := os.ReadFile(filepath.Join(root, path))
				if err != nil {
					t.Fatal(err)
				}
				text = string(whole)
			}
			anchor, _, _ := strings.Cut(string(f.Data), "\n")
			if strings.Count(text, anchor+"\n") != 1 {
				t.Fatalf("%s: the line %q is there %d times", path, anchor, strings.Count(text, anchor+"\n"))
			}
			changed[path] = strings.Replace(text, anchor+"\n", string(f.Data), 1)
		}
	}
	return changed, want
}

// inputs writes the files that the program reads, and returns their folder.
func inputs(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "input "); ok {
			if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// build builds ftracelab with files of the tree replaced.
func build(t *testing.T, root string, changed map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for path, text := range changed {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, path)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "ftracelab")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-overlay", list, "-o", program, "./cmd/ftracelab")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return program
}
