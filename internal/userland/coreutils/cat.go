package coreutils

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"ftracelab/internal/userland/tool"
)

// Cat writes through what it reads, so that a trace_pipe is seen as it comes.
func Cat(c *tool.Call) int {
	opts, files, ok := c.Options("nuvetAEbs")
	if !ok {
		return 1
	}
	number := false
	for _, o := range opts {
		switch o.Flag {
		case 'n':
			number = true
		case 'u':
		default:
			return c.Usage("option -%c is not in the lab", o.Flag)
		}
	}
	if number {
		return numbered(c, files)
	}
	c.Stdout.Block = 0
	if len(files) == 0 {
		files = []string{"-"}
	}
	status := 0
	for _, name := range files {
		f, err := c.Open(name)
		if err == nil {
			err = copy(c, f)
		}
		if c.Stopped() {
			return status
		}
		if err != nil {
			c.Fail(name, err)
			status = 1
		}
	}
	return status
}

// numbered is cat -n. A line may be spread over two files.
func numbered(c *tool.Call, files []string) int {
	n, atStart := 0, true
	return c.EachFile(files, func(_ string, r io.Reader) error {
		return tool.ForLines(r, func(line string, newline bool) bool {
			if atStart {
				n++
				c.Printf("%6d\t", n)
			}
			writeLine(c, line, newline)
			atStart = newline
			return !c.Stopped()
		})
	})
}

// copy writes all of f to standard output and closes it.
func copy(c *tool.Call, f io.ReadCloser) error {
	defer f.Close()
	buf := make([]byte, tool.CopyBlock)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			if _, werr := c.Stdout.Write(buf[:n]); werr != nil {
				return nil // told at the end
			}
		}
		if err != nil {
			return tool.EOFIsNil(err)
		}
		if c.Ctx.Err() != nil {
			return nil
		}
	}
}

// Tac prints the lines of each file from last to first.
func Tac(c *tool.Call) int {
	status := 0
	if len(c.Args) == 0 {
		c.Args = []string{"-"}
	}
	for _, name := range c.Args {
		var lines []string
		status |= c.EachLine([]string{name}, func(line string) bool {
			lines = append(lines, line)
			return c.Hold(line)
		})
		if c.Full() {
			return 1
		}
		for i := len(lines) - 1; i >= 0; i-- {
			fmt.Fprintln(c.Stdout, lines[i])
		}
	}
	return status
}

// Rev prints each line from its last letter to its first.
func Rev(c *tool.Call) int {
	return c.EachLine(c.Args, func(line string) bool {
		r := []rune(line)
		for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
			r[i], r[j] = r[j], r[i]
		}
		fmt.Fprintln(c.Stdout, string(r))
		return true
	})
}

// Head shows the beginning of files.
func Head(c *tool.Call) int {
	n, bytes, files, ok := headOptions(c)
	if !ok {
		return 1
	}
	first := true
	return c.EachFile(files, func(name string, r io.Reader) error {
		title(c, name, len(files), &first)
		if bytes {
			_, err := io.CopyN(c.Stdout, r, int64(n))
			if errors.Is(err, io.EOF) || c.Stdout.Err() != nil {
				err = nil
			}
			return err
		}
		left := n
		if left <= 0 {
			return nil
		}
		return tool.ForLines(r, func(line string, newline bool) bool {
			writeLine(c, line, newline)
			left--
			return left > 0 && !c.Stopped()
		})
	})
}

// writeLine writes a line as it was read.
func writeLine(c *tool.Call, line string, newline bool) {
	if newline {
		line += "\n"
	}
	io.WriteString(c.Stdout, line)
}

// title heads each of several files.
func title(c *tool.Call, name string, files int, first *bool) {
	if files > 1 {
		if !*first {
			c.Printf("\n")
		}
		c.Printf("==> %s <==\n", name)
	}
	*first = false
}

// headOptions are those of head: -n, -c and the old -10.
func headOptions(c *tool.Call) (n int, bytes bool, files []string, ok bool) {
	oldNumber(c)
	opts, files, ok := c.Options("n:c:qv")
	n = 10
	for _, o := range opts {
		switch o.Flag {
		case 'n', 'c':
			if n = tool.ToInt(o.Arg); n < 0 {
				c.Usage("invalid number: %q", o.Arg)
				return 0, false, nil, false
			}
			bytes = o.Flag == 'c'
		}
	}
	return n, bytes, files, ok
}

// oldNumber turns -10 into -n 10.
func oldNumber(c *tool.Call) {
	if len(c.Args) > 0 && len(c.Args[0]) > 1 && c.Args[0][0] == '-' && tool.ToInt(c.Args[0][1:]) >= 0 {
		c.Args = append([]string{"-n", c.Args[0][1:]}, c.Args[1:]...)
	}
}

// Tail shows the end of files, or with +N what begins at line N.
func Tail(c *tool.Call) int {
	oldNumber(c)
	opts, files, ok := c.Options("n:c:qvfF")
	if !ok {
		return 1
	}
	count, bytes := "10", false
	for _, o := range opts {
		switch o.Flag {
		case 'n', 'c':
			count, bytes = o.Arg, o.Flag == 'c'
		case 'f', 'F':
			return c.Usage("option -%c is not in the lab: use cat trace_pipe", o.Flag)
		}
	}
	fromStart := len(count) > 0 && count[0] == '+'
	if len(count) > 0 && (count[0] == '+' || count[0] == '-') {
		count = count[1:]
	}
	n := tool.ToInt(count)
	if n < 0 {
		return c.Usage("invalid number: %q", count)
	}
	first := true
	return c.EachFile(files, func(name string, r io.Reader) error {
		title(c, name, len(files), &first)
		if bytes {
			return tailBytes(c, r, n, fromStart)
		}
		return tailLines(c, r, n, fromStart)
	})
}

func tailLines(c *tool.Call, r io.Reader, n int, fromStart bool) error {
	if fromStart {
		skip := n - 1
		return tool.ForLines(r, func(line string, newline bool) bool {
			if skip--; skip < 0 {
				writeLine(c, line, newline)
			}
			return !c.Stopped()
		})
	}
	type kept struct {
		line    string
		newline bool
	}
	var last []kept
	err := tool.ForLines(r, func(line string, newline bool) bool {
		if last = append(last, kept{line, newline}); len(last) > n {
			c.Release(last[0].line)
			last = last[1:]
		}
		return c.Hold(line)
	})
	if c.Full() {
		return nil
	}
	for _, k := range last {
		writeLine(c, k.line, k.newline)
	}
	return err
}

func tailBytes(c *tool.Call, r io.Reader, n int, fromStart bool) error {
	var last []byte
	skip := max(n-1, 0)
	buf := make([]byte, tool.CopyBlock)
	for {
		k, err := r.Read(buf)
		switch part := buf[:k]; {
		case fromStart:
			gone := min(skip, k)
			skip -= gone
			c.Stdout.Write(part[gone:])
		default:
			if last = append(last, part...); len(last)-n > max(n, tool.CopyBlock) {
				last = append(last[:0], last[len(last)-n:]...)
			}
		}
		switch {
		case len(last) > tool.MaxLine:
			return syscall.ENOMEM
		case err != nil || c.Stopped():
			c.Stdout.Write(last[max(len(last)-n, 0):])
			return tool.EOFIsNil(err)
		}
	}
}

// Tee copies standard input to files as well: each block read is one write(2).
func Tee(c *tool.Call) int {
	opts, files, ok := c.Options("ai")
	if !ok {
		return 1
	}
	appends := false
	for _, o := range opts {
		appends = appends || o.Flag == 'a'
	}
	status := 0
	outs := []teeFile{}
	for _, name := range files {
		f, err := c.Create(name, appends)
		if err != nil {
			c.Fail(name, err)
			status = 1
			continue
		}
		defer f.Close()
		outs = append(outs, teeFile{name, f})
	}
	c.Stdout.Block = 0
	buf := make([]byte, tool.CopyBlock)
	for {
		n, err := c.Stdin.Read(buf)
		if n > 0 {
			if c.Stdout.Err() == nil {
				c.Stdout.Write(buf[:n])
			}
			for i := range outs {
				if outs[i].f == nil {
					continue
				}
				if _, err := outs[i].f.Write(buf[:n]); err != nil {
					c.Fail(outs[i].name, err)
					outs[i].f = nil
					status = 1
				}
			}
		}
		if err != nil || c.Ctx.Err() != nil {
			return status
		}
	}
}

type teeFile struct {
	name string
	f    io.Writer
}
