package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"ftracelab/internal/userland/tool"
	"ftracelab/tracefsfs/tracefile"
)

// command is one of the lab's own commands.
type command struct {
	name string
	help string // one line: options and arguments
	run  func(*call) int
}

// program is a program of the userland as a command: it sees the files of the call's
// world, and nothing of the shell.
func program(run func(*tool.Call) int) func(*call) int {
	return func(c *call) int { return run(&c.Call) }
}

// call is one run of a command: what every program is given, and the shell.
type call struct {
	tool.Call
	sh    *Shell
	rawIn io.Reader // what a child shell inherits; nil: none
	dir   string
	env   expand.Environ
}

func newCall(ctx context.Context, sh *Shell, hc interp.HandlerContext, name string, args []string) *call {
	ctx = context.WithValue(sh.withTime(ctx, hc), programKey{}, name)
	c := &call{sh: sh, dir: hc.Dir, env: hc.Env}
	c.Call = tool.Call{Ctx: ctx, World: world{sh, hc.Dir, owner(hc.Env)}, Name: name, Args: args, Stderr: hc.Stderr}
	c.Stdout = blocks(unwrapped(hc.Stdout))
	c.Stdin = strings.NewReader("")
	if hc.Stdin != nil {
		c.rawIn = hc.Stdin
		c.Stdin = &stdinReader{ctx: ctx, r: hc.Stdin}
		if in := sh.input(hc.Stdin); in != nil {
			c.Stdin = &descriptorReader{sh: sh, d: in.d, ctx: ctx}
		}
	}
	return c
}

// blocks is standard output as a C program has it.
func blocks(w io.Writer) *tool.Output {
	_, virtual := w.(*virtualFile) // there a write is a command
	if d, ok := w.(*descriptorWriter); ok {
		_, virtual = d.d.w.(*virtualFile)
	}
	return &tool.Output{W: w, Block: tool.StdioBlock, Whole: virtual}
}

// world is the shell's files as seen from a directory.
type world struct {
	sh    *Shell
	dir   string
	owner string // of the descriptors
}

func (w world) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return w.sh.openAt(ctx, absolute(w.dir, name), os.O_RDONLY, 0)
}

func (w world) Create(ctx context.Context, name string, appends bool) (io.WriteCloser, error) {
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if appends {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	return w.sh.openAt(ctx, absolute(w.dir, name), flag, 0o644)
}

func (w world) Stat(name string) (fs.FileInfo, error) {
	return w.sh.statAt(w.owner, absolute(w.dir, name))
}

func (w world) ReadDir(name string) ([]fs.DirEntry, error) {
	return w.sh.ns.readDir(absolute(w.dir, name))
}

func (w world) Room() int { return w.sh.limit.maxHeld() }

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

// run runs cmd and reports a failed write as the C library's programs do.
func (c *call) run(cmd command) int {
	status := cmd.run(c)
	err := c.Stdout.Flush()
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		return status
	}
	if c.Ctx.Err() == nil {
		said := tool.Reason(err)
		var h hinted
		if errors.As(err, &h) {
			said = fmt.Sprintf("%s (%s)", tool.Reason(h.error), h.hint)
		}
		fmt.Fprintf(c.Stderr, "%s: write error: %s\n", c.Name, said)
	}
	return max(status, 1)
}

// script runs a file of shell commands by its name.
func (c *call) script(name string, args []string) int {
	text, err := c.sh.readFile(c.Ctx, c.path(name))
	if err != nil {
		fmt.Fprintf(c.Stderr, "sh: %s: %s\n", name, tool.Reason(err))
		if tracefile.Errno(err) == syscall.ENOENT {
			return 127
		}
		return 126
	}
	return c.shell(text, name, append([]string{"--"}, args...))
}

// shell runs text in a new shell process.
func (c *call) shell(text, name string, args []string) int {
	c.sh.mu.Lock()
	c.sh.nextID++
	job := fmt.Sprintf("%s:%d", c.env.Get(jobName).String(), c.sh.nextID) // see job.go
	c.sh.mu.Unlock()
	p := process{stdin: c.rawIn, stdout: c.Stdout.W, stderr: c.Stderr, dir: c.dir, env: append(c.environ(), jobName+"="+job, jobCount+"=0")}
	child := job + "|"
	c.sh.descriptors.fork(owner(c.env), child)
	defer c.sh.descriptors.exit(child)
	status, err := c.sh.runText(c.Ctx, p, text, name, args)
	if err != nil && c.Ctx.Err() == nil {
		fmt.Fprintf(c.Stderr, "sh: %v\n", err)
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
