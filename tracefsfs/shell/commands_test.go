package shell

import (
	"context"
	"os"
	"strings"
	"testing"

	"ftracelab/internal/userland/tool"

	"github.com/google/go-cmp/cmp"
)

// TestCommands runs the scripts of testdata/commands.txt, whose outputs the
// tools of a Linux system wrote.
func TestCommands(t *testing.T) {
	prelude, err := os.ReadFile("testdata/prelude.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range readCases(t, "testdata/commands.txt") {
		t.Run(c.script[:min(len(c.script), 30)], func(t *testing.T) {
			l := newLab(t)
			script := "mkdir /tmp/w; cd /tmp/w\n" + string(prelude)
			if status, err := l.sh.Run(context.Background(), strings.NewReader(script), "prelude"); status != 0 || err != nil {
				t.Fatalf("prelude: %d, %v, %s", status, err, l.err.String())
			}
			status, err := l.sh.Run(context.Background(), strings.NewReader("cd /tmp/w\n"+c.script), "test")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, l.out.String()); diff != "" {
				t.Errorf("script:\n%s\n(-want +got)\n%s\nstderr: %s", c.script, diff, l.err.String())
			}
			if status != c.status {
				t.Errorf("script:\n%s\nstatus %d, want %d", c.script, status, c.status)
			}
			if len(l.host.opened) > 0 {
				t.Errorf("the host was asked for %q", l.host.opened)
			}
		})
	}
}

type commandCase struct {
	script, want string
	status       int
}

// readCases reads "$ script" lines, the output and "== status".
func readCases(t *testing.T, name string) []commandCase {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []commandCase
	var c commandCase
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "# ") && c.script == "":
		case strings.HasPrefix(line, "$ "):
			c.script += line[2:]
		case strings.Contains(line, "== ") && tool.ToInt(line[strings.LastIndex(line, "== ")+3:]) >= 0:
			before, status, _ := strings.Cut(line, "== ")
			c.want += before
			c.status = tool.ToInt(status)
			cases = append(cases, c)
			c = commandCase{}
		default:
			c.want += line
		}
	}
	if len(cases) < 50 {
		t.Fatalf("%s has only %d cases", name, len(cases))
	}
	return cases
}
