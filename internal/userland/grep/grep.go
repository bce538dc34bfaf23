// Package grep is the lab's grep, with GNU's options and POSIX expressions
// (internal/userland/posixre). Perl's expressions (-P) are refused.
package grep

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"ftracelab/internal/userland/posixre"
	"ftracelab/internal/userland/tool"
)

// Egrep is grep -E.
func Egrep(c *tool.Call) int {
	c.Args = append([]string{"-E"}, c.Args...)
	return Grep(c)
}

// Fgrep is grep -F.
func Fgrep(c *tool.Call) int {
	c.Args = append([]string{"-F"}, c.Args...)
	return Grep(c)
}

// grepper is one run of grep.
type grepper struct {
	c        *tool.Call
	patterns []*regexp.Regexp // any of them
	// What is asked for.
	syntax                     posixre.Syntax
	fixed, fold, word, line    bool
	invert, count, only, quiet bool
	list, listWithout          bool
	number, silent, recursive  bool
	names                      bool // each line behind its file's name
	max, before, after         int  // max < 0: no limit
	// What was found.
	found bool
	gap   bool // a context was printed: the next wants "--" before it
}

// Grep prints the lines that match a pattern.
func Grep(c *tool.Call) int {
	grepContext(c)
	opts, rest, ok := c.Options("EFGPiywxvcnoqlLhHsrRaUe:f:m:A:B:C:")
	if !ok {
		return 2
	}
	g := &grepper{c: c, max: -1}
	var patterns []string
	given, withNames, withoutNames := false, false, false
	for _, o := range opts {
		switch o.Flag {
		case 'e':
			patterns, given = append(patterns, strings.Split(o.Arg, "\n")...), true
		case 'f':
			given = true
			if c.EachLine([]string{o.Arg}, func(l string) bool { patterns = append(patterns, l); return true }) != 0 {
				return 2
			}
		case 'H':
			withNames = true
		case 'h':
			withoutNames = true
		default:
			if !g.option(o) {
				return 2
			}
		}
	}
	if !given {
		if len(rest) == 0 {
			return c.Usage("usage: grep [options] pattern [file…]")
		}
		patterns, rest = strings.Split(rest[0], "\n"), rest[1:]
	}
	if err := g.compile(patterns); err != nil {
		return c.Usage("%v", err)
	}
	if g.recursive && len(rest) == 0 {
		rest = []string{""}
	}
	g.names = (len(rest) > 1 || g.recursive || withNames) && !withoutNames
	return g.run(rest)
}

// grepContext turns -3 into -C 3.
func grepContext(c *tool.Call) {
	for i, arg := range c.Args {
		if len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "0123456789") == "" {
			c.Args[i] = "-C" + arg[1:]
		}
	}
}

func (g *grepper) option(o tool.Option) bool {
	switch o.Flag {
	case 'E':
		g.syntax = posixre.Extended
	case 'F':
		g.fixed = true
	case 'P':
		g.c.Usage("option -P (Perl expressions) is not in the lab")
		return false
	case 'i', 'y':
		g.fold = true
	case 'w':
		g.word = true
	case 'x':
		g.line = true
	case 'v':
		g.invert = true
	case 'c':
		g.count = true
	case 'n':
		g.number = true
	case 'o':
		g.only = true
	case 'q':
		g.quiet = true
	case 'l':
		g.list = true
	case 'L':
		g.listWithout = true
	case 's':
		g.silent = true
	case 'r', 'R':
		g.recursive = true
	case 'm', 'A', 'B', 'C':
		n := tool.ToInt(o.Arg)
		if n < 0 {
			g.c.Usage("%s: invalid number", o.Arg)
			return false
		}
		switch o.Flag {
		case 'm':
			g.max = n
		case 'A':
			g.after = n
		case 'B':
			g.before = n
		case 'C':
			g.before, g.after = n, n
		}
	}
	return true
}

const notWord = "[^_[:alnum:]]"

func (g *grepper) compile(patterns []string) error {
	for _, p := range patterns {
		text := regexp.QuoteMeta(p)
		if !g.fixed {
			var err error
			if text, err = posixre.Translate(p, g.syntax); err != nil {
				return err
			}
		}
		switch {
		case g.line:
			text = "^(" + text + ")$"
		case g.word:
			text = "(?:^|" + notWord + ")(" + text + ")(?:" + notWord + "|$)"
		default:
			text = "(" + text + ")"
		}
		flags := "(?s)"
		if g.fold {
			flags = "(?is)"
		}
		re, err := regexp.Compile(flags + text)
		if err != nil {
			return fmt.Errorf("regular expression %q: %w", p, err)
		}
		re.Longest()
		g.patterns = append(g.patterns, re)
	}
	return nil
}

func (g *grepper) run(files []string) int {
	if len(files) == 0 {
		files = []string{"-"}
	}
	status := 0
	for _, name := range files {
		status |= g.path(name)
		if g.quiet && g.found {
			return 0
		}
		if g.c.Stopped() {
			break
		}
	}
	switch {
	case status != 0 || g.c.Full():
		return 2
	case g.found:
		return 0
	}
	return 1
}

// path searches one name of the command line: a file, or a folder with -r.
func (g *grepper) path(name string) int {
	c := g.c
	if name != "-" {
		target := name
		if target == "" {
			target = "."
		}
		info, err := c.World.Stat(target)
		switch {
		case err != nil:
			return g.fail(name, err)
		case info.IsDir() && !g.recursive:
			if !g.silent {
				fmt.Fprintf(c.Stderr, "grep: %s: Is a directory\n", name)
			}
			return 1
		case info.IsDir():
			return g.folder(name, target)
		}
	}
	f, err := c.Open(name)
	if err != nil {
		return g.fail(name, err)
	}
	defer f.Close()
	shown := name
	if name == "-" {
		shown = "(standard input)"
	}
	if err := g.file(shown, c.Waiting(f)); err != nil {
		return g.fail(name, err)
	}
	return 0
}

func (g *grepper) folder(name, target string) int {
	list, err := g.c.World.ReadDir(target)
	if err != nil {
		return g.fail(name, err)
	}
	status := 0
	for _, entry := range list {
		child := entry.Name()
		if name != "" {
			child = strings.TrimSuffix(name, "/") + "/" + child
		}
		status |= g.path(child)
		if g.c.Stopped() || g.quiet && g.found {
			break
		}
	}
	return status
}

func (g *grepper) fail(name string, err error) int {
	if !g.silent {
		g.c.Fail(name, err)
	}
	return 1
}

// find is where line matches first, from the byte at on.
func (g *grepper) find(line string, at int) (from, to int) {
	from = -1
	for _, re := range g.patterns {
		m := re.FindStringSubmatchIndex(line[at:])
		if m == nil {
			continue
		}
		if f, t := at+m[2], at+m[3]; from < 0 || f < from || f == from && t > to {
			from, to = f, t
		}
	}
	return from, to
}

// file searches one file.
func (g *grepper) file(name string, r io.Reader) error {
	type earlier struct {
		n    int
		line string
	}
	var context []earlier
	count, n, owed, last := 0, 0, 0, 0
	err := tool.ForLines(r, func(line string, _ bool) bool {
		if g.max == 0 {
			return false
		}
		n++
		from, _ := g.find(line, 0)
		if from >= 0 == g.invert {
			switch {
			case owed > 0:
				g.print(name, n, '-', line)
				owed--
				last = n
			case g.before > 0:
				if context = append(context, earlier{n, line}); len(context) > g.before {
					g.c.Release(context[0].line)
					context = context[1:]
				}
				if !g.c.Hold(line) {
					return false
				}
			}
			return owed > 0 || g.max < 0 || count < g.max
		}
		if g.max >= 0 && count >= g.max {
			return false
		}
		count++
		g.found = g.found || !g.listWithout
		if g.quiet || g.list || g.listWithout {
			return false
		}
		if g.count {
			return g.max < 0 || count < g.max
		}
		if (g.before > 0 || g.after > 0) && g.gap && (last == 0 || n-len(context) > last+1) {
			g.c.Printf("--\n")
		}
		for _, e := range context {
			g.print(name, e.n, '-', e.line)
			g.c.Release(e.line)
		}
		context = context[:0]
		g.match(name, n, line)
		owed, last, g.gap = g.after, n, true
		return !g.c.Stopped() && (g.max < 0 || count < g.max || owed > 0)
	})
	switch {
	case g.quiet:
	case g.list && count > 0, g.listWithout && count == 0:
		g.found = true
		g.c.Printf("%s\n", name)
	case g.count && !g.list && !g.listWithout:
		if g.names {
			g.c.Printf("%s:", name)
		}
		g.c.Printf("%d\n", count)
	}
	return err
}

// match prints a selected line, or with -o its matches.
func (g *grepper) match(name string, n int, line string) {
	if !g.only {
		g.print(name, n, ':', line)
		return
	}
	if g.invert {
		return
	}
	for at := 0; at <= len(line); {
		from, to := g.find(line, at)
		if from < 0 {
			return
		}
		if to > from {
			g.print(name, n, ':', line[from:to])
			at = to
		} else {
			at = from + 1
		}
	}
}

func (g *grepper) print(name string, n int, mark byte, line string) {
	if mark == '-' && g.only {
		return
	}
	prefix := ""
	if g.names {
		prefix = name + string(mark)
	}
	if g.number {
		prefix += fmt.Sprint(n) + string(mark)
	}
	io.WriteString(g.c.Stdout, prefix+line+"\n")
}
