package shell

import (
	"context"
	"io"
	"slices"
	"strings"

	"ftracelab/internal/userland/tool"
)

// shCommand is sh: -c, a script or standard input.
func shCommand(c *call) int {
	args := c.Args
	var flags []string
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		switch args[0] {
		case "-c":
			if len(args) < 2 {
				return c.Usage("-c wants an argument")
			}
			name := "sh"
			rest := args[2:]
			if len(rest) > 0 {
				name, rest = rest[0], rest[1:]
			}
			return c.shell(args[1], name, append(append(flags, "--"), rest...))
		case "--":
			args = args[1:]
		default:
			if strings.HasSuffix(args[0], "c") && args[0][0] == '-' { // -ec
				flags = append(flags, strings.TrimSuffix(args[0], "c"))
				args = append([]string{"-c"}, args[1:]...)
				continue
			}
			flags = append(flags, args[0])
			args = args[1:]
			continue
		}
		break
	}
	if len(args) == 0 {
		text, err := io.ReadAll(io.LimitReader(c.Stdin, maxScript))
		if err != nil {
			c.Fail("standard input", err)
			return 2
		}
		c.rawIn = nil
		return c.shell(string(text), "sh", append(flags, "--"))
	}
	text, err := c.sh.readFile(c.Ctx, c.path(args[0]))
	if err != nil {
		c.Fail(args[0], err)
		return 127
	}
	return c.shell(text, args[0], append(append(flags, "--"), args[1:]...))
}

// xargs runs a command of the lab with the words it reads.
func xargs(c *call) int {
	args := c.Args
	most, replace := 1<<12, ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-r":
			args = args[1:]
		case args[0] == "-n" && len(args) > 1:
			if most = tool.ToInt(args[1]); most < 1 {
				return c.Usage("invalid number %q", args[1])
			}
			args = args[2:]
		case args[0] == "-I" && len(args) > 1:
			replace, args = args[1], args[2:]
		default:
			return c.Usage("option %s is not in the lab", args[0])
		}
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}
	var words []string
	status := c.EachLine(nil, func(line string) bool {
		if replace != "" {
			if line = strings.TrimLeft(line, " \t"); line != "" {
				words = append(words, line)
			}
		} else {
			words = append(words, strings.Fields(line)...)
			c.Held += strings.Count(line, " ") * tool.LineCost
		}
		return c.Hold(line)
	})
	if c.Full() {
		return 1
	}
	run := func(argv []string) {
		if c.child(argv) != 0 {
			status = 123
		}
	}
	if replace != "" {
		for _, word := range words {
			argv := make([]string, len(args))
			for i, a := range args {
				argv[i] = strings.ReplaceAll(a, replace, word)
			}
			run(argv)
		}
		return status
	}
	for chunk := range slices.Chunk(words, most) {
		run(append(slices.Clone(args), chunk...))
	}
	return status
}

// child runs another of the lab's commands with this one's streams, its input
// being empty.
func (c *call) child(argv []string) int {
	child := *c
	child.Stdin, child.rawIn = strings.NewReader(""), nil
	return child.onward(argv)
}

// onward runs another command, or a script, in place of this one.
func (c *call) onward(argv []string) int {
	c.Stdout.Flush()
	next := *c
	next.Name, next.Args = argv[0], argv[1:]
	next.Ctx = context.WithValue(c.Ctx, programKey{}, argv[0])
	next.Stdout = blocks(c.Stdout.W)
	return next.dispatch()
}
