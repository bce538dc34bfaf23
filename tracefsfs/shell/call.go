package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"ftracelab/tracefsfs/tracefile"
)

// command is one of the lab's own commands.
type command struct {
	name string
	help string // one line: options and arguments
	run  func(*call) int
}

// call is one run of a command: its words, its streams and its world.
type call struct {
	ctx    context.Context
	sh     *Shell
	name   string
	args   []string // behind the name
	stdin  io.Reader
	rawIn  io.Reader // what a child shell inherits; nil: none
	stdout *output
	stderr io.Writer
	dir    string
	env    expand.Environ
	held   int // see hold
}

func newCall(ctx context.Context, sh *Shell, hc interp.HandlerContext, name string, args []string) *call {
	ctx = context.WithValue(ctx, programKey{}, name)
	c := &call{ctx: ctx, sh: sh, name: name, args: args, stderr: hc.Stderr, dir: hc.Dir, env: hc.Env}
	c.stdout = &output{w: unwrapped(hc.Stdout), block: stdioBlock}
	c.stdin = strings.NewReader("")
	if hc.Stdin != nil {
		c.rawIn = hc.Stdin
		c.stdin = &stdinReader{ctx: ctx, r: hc.Stdin}
	}
	return c
}

// programKey is of the name of the command in whose context a file is opened.
type programKey struct{}

// Program is the name of the command that opens a file, given the context of the open:
// what the comm of its process would be.
func Program(ctx context.Context) string {
	if name, ok := ctx.Value(programKey{}).(string); ok {
		return path.Base(name)
	}
	return "sh"
}

// run runs cmd and tells of a failed write as the C library's programs do.
func (c *call) run(cmd command) int {
	status := cmd.run(c)
	err := c.stdout.flush()
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		return status
	}
	if c.ctx.Err() == nil {
		fmt.Fprintf(c.stderr, "%s: write error: %s\n", c.name, reason(err))
	}
	return max(status, 1)
}

// script runs a file of shell commands by its name.
func (c *call) script(name string, args []string) int {
	text, err := c.sh.readFile(c.ctx, c.path(name))
	if err != nil {
		fmt.Fprintf(c.stderr, "sh: %s: %s\n", name, reason(err))
		if tracefile.Errno(err) == syscall.ENOENT {
			return 127
		}
		return 126
	}
	return c.shell(text, name, append([]string{"--"}, args...))
}

// shell runs text in a new shell process.
func (c *call) shell(text, name string, args []string) int {
	p := process{stdin: c.rawIn, stdout: c.stdout.w, stderr: c.stderr, dir: c.dir, env: append(c.environ(), jobCount+"=0")}
	status, err := c.sh.runText(c.ctx, p, text, name, args)
	if err != nil && c.ctx.Err() == nil {
		fmt.Fprintf(c.stderr, "sh: %v\n", err)
	}
	return status
}

// environ is the exported environment, sorted.
func (c *call) environ() []string {
	exported := map[string]string{}
	for name, v := range c.env.Each { // an outer scope's value comes before an inner's
		delete(exported, name)
		if v.Exported && v.Kind == expand.String && v.IsSet() {
			exported[name] = v.String()
		}
	}
	list := make([]string, 0, len(exported))
	for _, name := range sortedKeys(exported) {
		list = append(list, name+"="+exported[name])
	}
	return list
}

// path is name as an absolute path.
func (c *call) path(name string) string { return absolute(c.dir, name) }

// open opens a file for reading; "-" is standard input.
func (c *call) open(name string) (io.ReadCloser, error) {
	if name == "-" || name == "/dev/stdin" {
		return io.NopCloser(c.stdin), nil
	}
	if name == "" {
		return nil, syscall.ENOENT
	}
	return c.sh.ns.open(c.ctx, c.path(name), os.O_RDONLY, 0)
}

// eachFile calls do for each named file, or standard input if there is none, and
// tells of what cannot be read. The status is 1 if that happened.
func (c *call) eachFile(names []string, do func(name string, r io.Reader) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, name := range names {
		f, err := c.open(name)
		if err == nil {
			err = do(name, c.waiting(f))
			f.Close()
		}
		if err != nil {
			c.fail(name, err)
			status = 1
		}
		if c.stopped() {
			break
		}
	}
	return status
}

// eachLine calls do for each line of the named files, its newline left out,
// until do says false.
func (c *call) eachLine(names []string, do func(line string) bool) int {
	more := true
	return c.eachFile(names, func(_ string, r io.Reader) error {
		if !more {
			return nil
		}
		return forLines(r, func(line string, _ bool) bool {
			more = do(line) && !c.stopped()
			return more
		})
	})
}

// maxLine bounds a line, so that an endless one cannot take all memory.
const maxLine = 64 << 20

// forLines calls do for each line of r; newline is false for a last line that
// has none.
func forLines(r io.Reader, do func(line string, newline bool) bool) error {
	in := bufio.NewReader(r)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return tracefile.Errorf(syscall.ENOMEM, "line is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return eofIsNil(err)
		}
		text, newline := strings.CutSuffix(string(line), "\n")
		if !do(text, newline) {
			return nil
		}
		if err != nil {
			return eofIsNil(err)
		}
		line = line[:0]
	}
}

func eofIsNil(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lineCost is what a line takes that a command keeps, beside its bytes.
const lineCost = 48

// hold counts a line that the command keeps; false means that there is no room for
// it, and that was told. release gives a line's room back.
func (c *call) hold(line string) bool {
	if c.full() {
		return false
	}
	if c.held += len(line) + lineCost; c.full() {
		fmt.Fprintf(c.stderr, "%s: memory exhausted\n", c.name)
		return false
	}
	return true
}

func (c *call) release(line string) { c.held -= len(line) + lineCost }

// full: was there no room for a line?
func (c *call) full() bool { return c.held > c.sh.limit.maxHeld() }

// stopped: nobody wants more of what the command makes.
func (c *call) stopped() bool { return c.ctx.Err() != nil || c.stdout.err != nil }

// fail tells of an error about a file.
func (c *call) fail(name string, err error) {
	if c.ctx.Err() == nil {
		fmt.Fprintf(c.stderr, "%s: %s: %s\n", c.name, name, reason(err))
	}
}

// usage tells what is wrong with the command line; the status is 2.
func (c *call) usage(format string, args ...any) int {
	fmt.Fprintf(c.stderr, "%s: %s\n", c.name, fmt.Sprintf(format, args...))
	return 2
}

func (c *call) printf(format string, args ...any) { fmt.Fprintf(c.stdout, format, args...) }

// reason is the text of an error's errno; of one without, its own.
func reason(err error) string {
	if errno := tracefile.Errno(err); errno != syscall.EIO || errors.Is(err, syscall.EIO) {
		return tracefile.Strerror(errno)
	}
	return err.Error()
}

func toInt(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return -1
	}
	return n
}

// option is one option of a command line.
type option struct {
	flag byte
	arg  string
}

// options parses short options in GNU's manner: anywhere, and until "--". spec
// lists the letters, a colon behind those with an argument. Not ok: told and to
// be ended with status 2.
func (c *call) options(spec string) (list []option, rest []string, ok bool) {
	for i := 0; i < len(c.args); i++ {
		arg := c.args[i]
		if arg == "--" {
			return list, append(rest, c.args[i+1:]...), true
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		if arg[1] == '-' {
			c.usage("option %s is not in the lab", arg)
			return nil, nil, false
		}
		for j := 1; j < len(arg); j++ {
			at := strings.IndexByte(spec, arg[j])
			if at < 0 || arg[j] == ':' {
				c.usage("option -%c is not in the lab", arg[j])
				return nil, nil, false
			}
			if at+1 == len(spec) || spec[at+1] != ':' {
				list = append(list, option{arg[j], ""})
				continue
			}
			value := arg[j+1:]
			if value == "" {
				if i+1 == len(c.args) {
					c.usage("option -%c wants an argument", arg[j])
					return nil, nil, false
				}
				i++
				value = c.args[i]
			}
			list = append(list, option{arg[j], value})
			break
		}
	}
	return list, rest, true
}

// stdioBlock is the size of a C program's writes to a file.
const stdioBlock = 4096

// output is a command's standard output: full blocks are written as they come,
// the rest at the end, as with stdio. The first error stays.
type output struct {
	w     io.Writer
	block int // 0: write through
	buf   []byte
	err   error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if o.block == 0 {
		_, o.err = o.w.Write(p)
		return len(p), o.err
	}
	o.buf = append(o.buf, p...)
	whole := o.buf
	for len(whole) >= o.block && o.err == nil {
		_, o.err = o.w.Write(whole[:o.block])
		whole = whole[o.block:]
	}
	o.buf = append(o.buf[:0], whole...)
	return len(p), o.err
}

func (o *output) flush() error {
	if o.err == nil && len(o.buf) > 0 {
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
	return o.err
}

// flushForReader shows what there is before the command waits for input. A
// virtual file gets whole blocks only: there a write is a command.
func (o *output) flushForReader() {
	if _, virtual := o.w.(*virtualFile); !virtual {
		o.flush()
	}
}

// waiting is r with the output flushed before each read.
func (c *call) waiting(r io.Reader) io.Reader { return waitingReader{c, r} }

type waitingReader struct {
	c *call
	r io.Reader
}

func (w waitingReader) Read(p []byte) (int, error) {
	w.c.stdout.flushForReader()
	if err := w.c.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}

// stdinReader is standard input whose reads end with ctx, where the host can.
type stdinReader struct {
	ctx context.Context
	r   io.Reader
}

func (s *stdinReader) Read(p []byte) (int, error) {
	d, ok := s.r.(interface{ SetReadDeadline(time.Time) error })
	if ok {
		ended := make(chan struct{})
		stop := context.AfterFunc(s.ctx, func() { _ = d.SetReadDeadline(time.Unix(1, 0)); close(ended) })
		defer func() {
			if !stop() {
				<-ended
				_ = d.SetReadDeadline(time.Time{}) // the next command may read
			}
		}()
	}
	n, err := s.r.Read(p)
	if err != nil && s.ctx.Err() != nil {
		return n, s.ctx.Err()
	}
	return n, err
}
