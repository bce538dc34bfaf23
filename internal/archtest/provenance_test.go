package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// byHand stands for the command of files that are written by hand. Their size is not
// compared.
const byHand = "by hand"

// datum is a row of docs/provenance.md.
type datum struct {
	file, command string
	size          int64
}

func provenance(t *testing.T) []datum {
	t.Helper()
	var all []datum
	for _, r := range table(t, "docs/provenance.md", "| embedded | holds | made from | kind | command | bytes |") {
		if len(r) != 6 || slices.Contains(r, "") {
			t.Fatalf("docs/provenance.md: a row %q", r)
		}
		d := datum{file: r[0], command: strings.Trim(r[4], "`")}
		if d.command != byHand {
			var err error
			if d.size, err = strconv.ParseInt(r[5], 10, 64); err != nil {
				t.Fatalf("docs/provenance.md: %s: %v", d.file, err)
			}
		}
		all = append(all, d)
	}
	return all
}

// directives gives the arguments of all comments of a kind, such as "//go:embed", by
// the folder of the file.
func directives(sources []source, kind string) map[string][]string {
	found := map[string][]string{}
	for _, s := range sources {
		if s.test {
			continue
		}
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				if args, ok := strings.CutPrefix(c.Text, kind+" "); ok {
					found[s.dir] = append(found[s.dir], args)
				}
			}
		}
	}
	return found
}

// TestProvenance: every embedded file has a row that says where it comes from, each row
// has the file's size, and its command exists.
func TestProvenance(t *testing.T) {
	all := sources(t)
	var embedded, rows []string
	for dir, patterns := range directives(all, "//go:embed") {
		for _, pattern := range patterns {
			for name := range strings.FieldsSeq(pattern) {
				if strings.ContainsAny(name, `"*?[`+"`") || strings.HasPrefix(name, "all:") {
					t.Errorf("%s embeds %s: a row can only name a file or a folder", dir, name)
				}
				if slices.Contains(strings.Split(name, "/"), "testdata") {
					t.Errorf("%s embeds %s: testdata is for tests", dir, name)
				}
				embedded = append(embedded, path.Join(dir, name))
			}
		}
	}
	generated := directives(all, "//go:generate")
	for _, d := range provenance(t) {
		rows = append(rows, d.file)
		if d.command == byHand {
			continue
		}
		size, err := sizeOf(filepath.Join(root, d.file))
		if err != nil || size != d.size {
			t.Errorf("%s has %d bytes (%v), docs/provenance.md says %d", d.file, size, err, d.size)
		}
		dir, ok := strings.CutPrefix(d.command, "go generate ./")
		made := slices.ContainsFunc(generated[dir], func(line string) bool {
			return strings.HasPrefix(d.file, dir+"/") || strings.Contains(line, path.Base(d.file))
		})
		if !ok || !made {
			t.Errorf("%s: there is no command %q that makes it", d.file, d.command)
		}
	}
	slices.Sort(embedded)
	slices.Sort(rows)
	if !slices.Equal(embedded, rows) {
		t.Errorf("embedded is %q, docs/provenance.md has %q", embedded, rows)
	}
}

// sizeOf is the size of a file, or of the files that embedding a folder takes.
func sizeOf(name string) (size int64, err error) {
	err = filepath.WalkDir(name, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at != name && strings.ContainsAny(d.Name()[:1], "._"):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// TestGenerators: every go:generate runs a program of this tree that exists.
func TestGenerators(t *testing.T) {
	for dir, lines := range directives(sources(t), "//go:generate") {
		for _, line := range lines {
			args := strings.Fields(line)
			if len(args) < 3 || args[0] != "go" || args[1] != "run" {
				t.Errorf("%s: %q is no go run", dir, line)
				continue
			}
			program, ours := strings.CutPrefix(args[2], module+"/")
			if !ours {
				program = path.Join(dir, args[2])
			}
			if _, err := os.Stat(filepath.Join(root, program, "main.go")); err != nil {
				t.Errorf("%s: %q: %v", dir, line, err)
			}
		}
	}
}

// TestNoProductDataInTestdata: product code reads nothing from testdata. What a program
// needs lies beside it.
func TestNoProductDataInTestdata(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, text := range stringsOf(s.file) {
			if strings.Contains(text, "testdata/") {
				t.Errorf("%s names %q", s.name, text)
			}
		}
	}
}
