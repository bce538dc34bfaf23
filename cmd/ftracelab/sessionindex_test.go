package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/sessions/README.md lists each session once, with words from its beginning.
func TestSessionIndex(t *testing.T) {
	const dir = "../../docs/sessions"
	readme, err := os.ReadFile(dir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, m := range listedSession.FindAllStringSubmatch(string(readme), -1) {
		if _, twice := listed[m[1]]; twice || m[1] != m[2] {
			t.Errorf("%s is listed twice or under another name", m[1])
		}
		listed[m[1]] = m[3]
	}
	files, err := filepath.Glob(dir + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var begin []string
		for line := range strings.Lines(string(text)) {
			comment, ok := strings.CutPrefix(line, "#")
			if !ok {
				break
			}
			begin = append(begin, strings.Fields(comment)...)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if says := listed[name]; says == "" || !strings.HasPrefix(strings.Join(begin, " "), says) {
			t.Errorf("%s begins with %q, and README.md says %q", name, strings.Join(begin, " "), says)
		}
	}
	if len(listed) != len(files) {
		t.Errorf("%d sessions are listed, and there are %d", len(listed), len(files))
	}
}
