package shell

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// catBlock is how much cat reads at a time.
const catBlock = 128 << 10

// cat writes through what it reads, so that a trace_pipe is seen as it comes.
func cat(c *call) int {
	opts, files, ok := c.options("nuvetAEbs")
	if !ok {
		return 1
	}
	number := false
	for _, o := range opts {
		switch o.flag {
		case 'n':
			number = true
		case 'u':
		default:
			return c.usage("option -%c is not in the lab", o.flag)
		}
	}
	if number {
		return c.numbered(files)
	}
	c.stdout.block = 0
	if len(files) == 0 {
		files = []string{"-"}
	}
	status := 0
	for _, name := range files {
		f, err := c.open(name)
		if err == nil {
			err = c.copy(f)
		}
		if c.stopped() {
			return status
		}
		if err != nil {
			c.fail(name, err)
			status = 1
		}
	}
	return status
}

// numbered is cat -n. A line may be spread over two files.
func (c *call) numbered(files []string) int {
	n, atStart := 0, true
	return c.eachFile(files, func(_ string, r io.Reader) error {
		return forLines(r, func(line string, newline bool) bool {
			if atStart {
				n++
				c.printf("%6d\t", n)
			}
			c.line(line, newline)
			atStart = newline
			return !c.stopped()
		})
	})
}

// copy writes all of f to standard output and closes it.
func (c *call) copy(f io.ReadCloser) error {
	defer f.Close()
	buf := make([]byte, catBlock)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			if _, werr := c.stdout.Write(buf[:n]); werr != nil {
				return nil // told at the end
			}
		}
		if err != nil {
			return eofIsNil(err)
		}
		if c.ctx.Err() != nil {
			return nil
		}
	}
}

func tac(c *call) int {
	status := 0
	if len(c.args) == 0 {
		c.args = []string{"-"}
	}
	for _, name := range c.args {
		var lines []string
		status |= c.eachLine([]string{name}, func(line string) bool {
			lines = append(lines, line)
			return c.hold(line)
		})
		if c.full() {
			return 1
		}
		for i := len(lines) - 1; i >= 0; i-- {
			fmt.Fprintln(c.stdout, lines[i])
		}
	}
	return status
}

func rev(c *call) int {
	return c.eachLine(c.args, func(line string) bool {
		r := []rune(line)
		for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
			r[i], r[j] = r[j], r[i]
		}
		fmt.Fprintln(c.stdout, string(r))
		return true
	})
}

// head shows the beginning of files.
func head(c *call) int {
	n, bytes, files, ok := c.headOptions()
	if !ok {
		return 1
	}
	first := true
	return c.eachFile(files, func(name string, r io.Reader) error {
		c.title(name, len(files), &first)
		if bytes {
			_, err := io.CopyN(c.stdout, r, int64(n))
			if errors.Is(err, io.EOF) || c.stdout.err != nil {
				err = nil
			}
			return err
		}
		left := n
		if left <= 0 {
			return nil
		}
		return forLines(r, func(line string, newline bool) bool {
			c.line(line, newline)
			left--
			return left > 0 && !c.stopped()
		})
	})
}

// line writes a line as it was read.
func (c *call) line(line string, newline bool) {
	if newline {
		line += "\n"
	}
	io.WriteString(c.stdout, line)
}

// title heads each of several files.
func (c *call) title(name string, files int, first *bool) {
	if files > 1 {
		if !*first {
			c.printf("\n")
		}
		c.printf("==> %s <==\n", name)
	}
	*first = false
}

// headOptions are those of head: -n, -c and the old -10.
func (c *call) headOptions() (n int, bytes bool, files []string, ok bool) {
	c.oldNumber()
	opts, files, ok := c.options("n:c:qv")
	n = 10
	for _, o := range opts {
		switch o.flag {
		case 'n', 'c':
			if n = toInt(o.arg); n < 0 {
				c.usage("invalid number: %q", o.arg)
				return 0, false, nil, false
			}
			bytes = o.flag == 'c'
		}
	}
	return n, bytes, files, ok
}

// oldNumber turns -10 into -n 10.
func (c *call) oldNumber() {
	if len(c.args) > 0 && len(c.args[0]) > 1 && c.args[0][0] == '-' && toInt(c.args[0][1:]) >= 0 {
		c.args = append([]string{"-n", c.args[0][1:]}, c.args[1:]...)
	}
}

// tail shows the end of files, or with +N what begins at line N.
func tail(c *call) int {
	c.oldNumber()
	opts, files, ok := c.options("n:c:qvfF")
	if !ok {
		return 1
	}
	count, bytes := "10", false
	for _, o := range opts {
		switch o.flag {
		case 'n', 'c':
			count, bytes = o.arg, o.flag == 'c'
		case 'f', 'F':
			return c.usage("option -%c is not in the lab: use cat trace_pipe", o.flag)
		}
	}
	fromStart := len(count) > 0 && count[0] == '+'
	if len(count) > 0 && (count[0] == '+' || count[0] == '-') {
		count = count[1:]
	}
	n := toInt(count)
	if n < 0 {
		return c.usage("invalid number: %q", count)
	}
	first := true
	return c.eachFile(files, func(name string, r io.Reader) error {
		c.title(name, len(files), &first)
		if bytes {
			return c.tailBytes(r, n, fromStart)
		}
		return c.tailLines(r, n, fromStart)
	})
}

func (c *call) tailLines(r io.Reader, n int, fromStart bool) error {
	if fromStart {
		skip := n - 1
		return forLines(r, func(line string, newline bool) bool {
			if skip--; skip < 0 {
				c.line(line, newline)
			}
			return !c.stopped()
		})
	}
	type kept struct {
		line    string
		newline bool
	}
	var last []kept
	err := forLines(r, func(line string, newline bool) bool {
		if last = append(last, kept{line, newline}); len(last) > n {
			c.release(last[0].line)
			last = last[1:]
		}
		return c.hold(line)
	})
	if c.full() {
		return nil
	}
	for _, k := range last {
		c.line(k.line, k.newline)
	}
	return err
}

func (c *call) tailBytes(r io.Reader, n int, fromStart bool) error {
	var last []byte
	skip := max(n-1, 0)
	buf := make([]byte, catBlock)
	for {
		k, err := r.Read(buf)
		switch part := buf[:k]; {
		case fromStart:
			gone := min(skip, k)
			skip -= gone
			c.stdout.Write(part[gone:])
		default:
			if last = append(last, part...); len(last)-n > max(n, catBlock) {
				last = append(last[:0], last[len(last)-n:]...)
			}
		}
		switch {
		case len(last) > maxLine:
			return syscall.ENOMEM
		case err != nil || c.stopped():
			c.stdout.Write(last[max(len(last)-n, 0):])
			return eofIsNil(err)
		}
	}
}

// tee copies standard input to files as well: each block read is one write(2).
func tee(c *call) int {
	opts, files, ok := c.options("ai")
	if !ok {
		return 1
	}
	appends := false
	for _, o := range opts {
		appends = appends || o.flag == 'a'
	}
	status := 0
	outs := []teeFile{}
	for _, name := range files {
		f, err := c.create(name, appends)
		if err != nil {
			c.fail(name, err)
			status = 1
			continue
		}
		defer f.Close()
		outs = append(outs, teeFile{name, f})
	}
	c.stdout.block = 0
	buf := make([]byte, catBlock)
	for {
		n, err := c.stdin.Read(buf)
		if n > 0 {
			if c.stdout.err == nil {
				c.stdout.Write(buf[:n])
			}
			for i := range outs {
				if outs[i].f == nil {
					continue
				}
				if _, err := outs[i].f.Write(buf[:n]); err != nil {
					c.fail(outs[i].name, err)
					outs[i].f = nil
					status = 1
				}
			}
		}
		if err != nil || c.ctx.Err() != nil {
			return status
		}
	}
}

type teeFile struct {
	name string
	f    io.Writer
}
