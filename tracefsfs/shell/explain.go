package shell

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"ftracelab/internal/explain"
)

// explainCommand says what something of ftrace is.
func explainCommand(c *call) int {
	if len(c.Args) == 0 {
		return c.Usage("of what? explain --list has all names")
	}
	if c.Args[0] == "--list" {
		kind := strings.Join(c.Args[1:], " ")
		rows := explain.OfKind(kind)
		if len(rows) == 0 {
			return c.Usage("no kind %q; there are: %s", kind, strings.Join(explain.Kinds(), ", "))
		}
		_ = explain.WriteList(c.Stdout, rows) // run reports what fails
		return 0
	}
	word := strings.Join(c.Args, " ")
	rows := explain.Lookup(word)
	if len(rows) == 0 {
		fmt.Fprintf(c.Stderr, "%s: %s\n", c.Name, explain.Unknown(word))
		return 1
	}
	columns := 0
	if t, ok := c.sh.cfg.Terminal.(*os.File); ok {
		columns, _, _ = term.GetSize(int(t.Fd())) // 0 if it does not tell
	}
	_ = explain.Write(c.Stdout, rows, columns) // run reports what fails
	return 0
}
