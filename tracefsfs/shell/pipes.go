package shell

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Process substitution is made of a pipe, a background job and a descriptor, as in bash.
// The pipe lives in simulated time: who waits for the other end waits as for an event, so
// what is read when does not depend on which goroutine is faster. A command with one
// becomes a block:
//
//	diff <(cat a) b   →   { _ftracelab_pipe1=$(lab:pipe "<")
//	                        { cat a; } >lab:end:3:… &
//	                        diff /dev/fd/$_ftracelab_pipe1 b
//	                        lab:unpipe $? $_ftracelab_pipe1; }
//
// The number of the descriptor is that of the command's end of the pipe. The last
// command closes it and has the status of the one before.
const (
	guardEnd = ownPrefix + "end:" // the list's end of a pipe, and the descriptors of the command
	pipeName = "_ftracelab_pipe"  // the variables with the numbers
	fdFolder = "/dev/fd"
	pipeRoom = 64 << 10 // bytes that a pipe holds, as in the kernel
)

// pipe is a pipe whose ends wait in simulated time.
type pipe struct {
	mu      sync.Mutex
	held    []byte
	closed  [2]bool // the end that is read, and the one that is written
	job     *job    // of the list
	forList *description
}

const (
	readEnd = iota
	writeEnd
)

// pipeEnd is one end of a pipe as an open file.
type pipeEnd struct {
	*pipe
	end int
}

func (e pipeEnd) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed[e.end] = true
	if e.end == readEnd {
		e.held = nil
	}
	return nil
}

// is reports whether a condition on the pipe holds.
func (p *pipe) is(cond func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cond()
}

// wait lets the process of ctx wait until a condition on the pipe holds.
func (p *pipe) wait(ctx context.Context, cond func() bool) error {
	if p.is(cond) {
		return nil
	}
	process, ok := ctx.Value(timeKey{}).(timed)
	if !ok {
		return ErrNoProcess
	}
	ctx, stop := within(ctx, process.job)
	defer stop()
	if err := process.tl.until(ctx, process.job, 0, func() bool { return p.is(cond) }); err != nil {
		return syscall.EINTR
	}
	return nil
}

// Read is for readers that are no process.
func (e pipeEnd) Read(p []byte) (int, error) { return e.readWithin(context.Background(), p) }

func (e pipeEnd) readWithin(ctx context.Context, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := e.wait(ctx, func() bool { return len(e.held) > 0 || e.closed[writeEnd] }); err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.held) == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.held)
	e.held = e.held[n:]
	return n, nil
}

// Write is for writers that are no process.
func (e pipeEnd) Write(p []byte) (int, error) { return e.writeWithin(context.Background(), p) }

func (e pipeEnd) writeWithin(ctx context.Context, p []byte) (n int, err error) {
	for {
		if err := e.wait(ctx, func() bool { return len(e.held) < pipeRoom || e.closed[readEnd] }); err != nil {
			return n, err
		}
		e.mu.Lock()
		if e.closed[readEnd] {
			list := e.job
			e.mu.Unlock()
			if process, ok := ctx.Value(timeKey{}).(timed); ok && process.job != nil && process.job == list {
				list.cancel() // as SIGPIPE does
			}
			return n, syscall.EPIPE
		}
		m := min(len(p)-n, pipeRoom-len(e.held))
		e.held = append(e.held, p[n:n+m]...)
		e.mu.Unlock()
		if n += m; n == len(p) {
			return n, nil
		}
	}
}

// openPipe is lab:pipe OP, which prints the number of a new pipe's descriptor: < for a
// list whose output is read, > for one whose input is written.
func openPipe(c *call) int {
	p := new(pipe)
	ours, theirs := pipeEnd{p, readEnd}, pipeEnd{p, writeEnd}
	if len(c.Args) != 1 {
		return c.Usage("is for the lab itself")
	}
	if c.Args[0] == ">" {
		ours, theirs = theirs, ours
	}
	ds := c.sh.descriptors
	list, err := ds.add(described(theirs))
	if err == nil {
		p.forList = list
		var d *description
		if d, err = ds.add(described(ours)); err == nil {
			var n int
			if n, err = ds.setFree(owner(c.env), maxPipe, -1, d); err == nil {
				c.Printf("%d\n", n)
				return 0
			}
			ds.release(d)
		}
		ds.release(list)
	}
	c.Fail("pipe", err)
	return 1
}

// maxPipe is the largest number of a pipe's descriptor, as in bash.
const maxPipe = 63

// described is a description of one end.
func described(e pipeEnd) *description {
	if e.end == readEnd {
		return &description{file: e, r: e}
	}
	return &description{file: e, w: e}
}

// newDescriptor is lab:descriptor, which prints the number that {fd}<FILE is given.
func newDescriptor(c *call) int {
	d, err := c.sh.descriptors.add(&description{})
	if err == nil {
		var n int
		if n, err = c.sh.descriptors.setFree(owner(c.env), firstNamed, 1, d); err == nil {
			c.Printf("%d\n", n)
			return 0
		}
		c.sh.descriptors.release(d)
	}
	c.Fail("descriptor", err)
	return 1
}

// firstNamed is the first number that a descriptor named by a variable is given, as in
// bash.
const firstNamed = 10

// endPipes is lab:unpipe STATUS NUMBER…, which closes the command's ends. It waits for
// lists that read what the command has written, unless a descriptor of the shell still
// writes to them.
func endPipes(c *call) int {
	if len(c.Args) == 0 {
		return c.Usage("is for the lab itself")
	}
	status, _ := strconv.Atoi(c.Args[0])
	for _, arg := range c.Args[1:] {
		n, _ := strconv.Atoi(arg) // nothing has that number if it is none
		d := c.sh.descriptors.set(owner(c.env), n, nil)
		c.sh.descriptors.release(d)
		if d == nil {
			continue
		}
		if e, ok := d.file.(pipeEnd); ok && e.end == writeEnd && e.is(func() bool { return e.closed[writeEnd] && e.job != nil }) {
			c.sh.timeline.join(c.Ctx, c.sh.timeline.jobOf(c.env), e.job)
		}
	}
	return status
}

// listEnd opens the list's end of a pipe in the job of the list. numbers are the
// descriptors of the command's pipes, of which the first is this one's: the list does not
// inherit them, or a pipe would never end.
func (sh *Shell) listEnd(ctx context.Context, owner string, j *job, numbers []string) (io.ReadWriteCloser, error) {
	var list *description
	for i, number := range numbers {
		n, _ := strconv.Atoi(number)
		d := sh.descriptors.set(owner, n, nil)
		if d == nil {
			return nil, syscall.EBADF
		}
		if e, ok := d.file.(pipeEnd); ok && i == 0 {
			e.mu.Lock()
			list, e.job, e.forList = e.forList, j, nil
			e.mu.Unlock()
		}
		sh.descriptors.release(d)
	}
	if list == nil {
		return nil, syscall.EBADF
	}
	if list.w != nil {
		return &descriptorWriter{sh: sh, d: list, ctx: ctx}, nil
	}
	return sh.inputFrom(ctx, list), nil
}

// finishPipes lets the lists come to their ends whose input a script has written by
// exec > >(…), when the script has ended.
func (sh *Shell) finishPipes(ctx context.Context) {
	ds := sh.descriptors
	ds.mu.Lock()
	var lists []*job
	for d := range ds.all {
		if e, ok := d.file.(pipeEnd); ok && e.end == writeEnd {
			e.mu.Lock()
			if e.job != nil && e.forList == nil {
				lists = append(lists, e.job)
				e.closed[writeEnd] = true
			}
			e.mu.Unlock()
		}
	}
	ds.mu.Unlock()
	for _, j := range lists {
		sh.timeline.join(ctx, nil, j)
	}
}

// fdOf is the number in /dev/fd/NUMBER.
func fdOf(name string) (n int, ok bool) {
	folder, base := path.Split(name)
	if folder != fdFolder+"/" && folder != "/proc/self/fd/" {
		return 0, false
	}
	return descriptorOf(base)
}

// openFD opens /dev/fd/n for the process of ctx.
//
// Departure: it has the place of the descriptor, as on BSD, where Linux opens the file
// anew.
func (sh *Shell) openFD(ctx context.Context, n int, writes bool) (io.ReadWriteCloser, error) {
	process, ok := ctx.Value(timeKey{}).(timed)
	if !ok {
		return nil, syscall.ENOENT
	}
	d, err := sh.descriptors.get(process.owner, n)
	if err != nil {
		return nil, syscall.ENOENT
	}
	if writes {
		return &descriptorWriter{sh: sh, d: d, ctx: ctx}, nil
	}
	return &descriptorReader{sh: sh, d: d, ctx: ctx}, nil
}

// fdInfo is what stat says of a descriptor: it is like a pipe.
type fdInfo struct{ name string }

func (f fdInfo) Name() string     { return f.name }
func (fdInfo) Size() int64        { return 0 }
func (fdInfo) Mode() fs.FileMode  { return fs.ModeNamedPipe | 0o600 }
func (fdInfo) ModTime() time.Time { return time.Unix(0, 0) }
func (fdInfo) IsDir() bool        { return false }
func (fdInfo) Sys() any           { return nil }
