package shell

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
)

// The interpreter knows the descriptors 0, 1 and 2. Those from 3 on are kept here. A
// redirection that names one becomes a guard (see guard.go), which finds the
// descriptors of its shell process by two variables: the name of its job (see job.go)
// and the ( ) subshells within it.
//
//	exec 3< trace_pipe      →  exec >lab:open!:3:<:trace_pipe
//	done 3< trace_pipe      →  done >lab:open:3:<:trace_pipe
//	exec 3<&-               →  exec >lab:dup!:3:-
//	read line <&3           →  read line <lab:fd:<:3 >lab:input
//	echo hi >&4             →  echo hi >lab:fd:>:4
//	exec {fd}< trace_pipe   →  fd=$(lab:descriptor); exec >lab:open!:$fd:<:trace_pipe
const (
	guardOpen  = ownPrefix + "open"    // opens a file as a descriptor; ! means that it stays, as exec wants it
	guardDup   = ownPrefix + "dup"     // makes a descriptor the same as another one, or closes it
	guardFD    = ownPrefix + "fd:"     // standard input or output is a descriptor
	guardInput = ownPrefix + "input"   // … and is not any more when the command has ended
	guardSub   = ownPrefix + "sub:"    // a subshell has descriptors of its own
	subshells  = "_ftracelab_subshell" // the variable with the subshells around a command
)

const (
	// maxDescriptor is the end of the descriptors of a process, as ulimit -n has it.
	maxDescriptor = 1024
	// maxOpen is how many files all processes of a shell may have open as descriptors.
	maxOpen = 4096
)

// descriptors are the descriptors from 3 on of all processes of a shell.
type descriptors struct {
	mu     sync.Mutex // guards what follows, and refs of each description
	of     map[string]map[int]*description
	all    map[*description]bool
	inputs map[*os.File]*input
}

// description is what one or more descriptors stand for: an open file, with the place
// in it.
type description struct {
	refs int
	file io.Closer // nil if it is not closed with the last descriptor
	r    io.Reader
	w    io.Writer
}

// input is a description as the interpreter's standard input. That has to be a file of
// the host, of which the interpreter's read takes byte after byte; so it is a pipe, and
// a line is put into it when read is about to take one. The lab's commands read from
// the description itself. So nothing is read before it is wanted.
type input struct {
	d     *description
	pipe  *os.File
	ended bool
}

func newDescriptors() *descriptors {
	return &descriptors{of: map[string]map[int]*description{}, all: map[*description]bool{}, inputs: map[*os.File]*input{}}
}

// owner names the shell process that env belongs to.
func owner(env expand.Environ) string {
	return env.Get(jobName).String() + "|" + env.Get(subshells).String()
}

// ownerOfJob is owner in a job that the process of env begins.
func ownerOfJob(job string, env expand.Environ) string {
	return job + "|" + env.Get(subshells).String()
}

// fork gives a new process the descriptors of the one that begins it.
func (ds *descriptors) fork(parent, child string) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if len(ds.of[parent]) == 0 {
		return
	}
	table := map[int]*description{}
	for n, d := range ds.of[parent] {
		d.refs++
		table[n] = d
	}
	ds.of[child] = table
}

// exit closes the descriptors of a process that has ended.
func (ds *descriptors) exit(owner string) {
	ds.mu.Lock()
	table := ds.of[owner]
	delete(ds.of, owner)
	ds.mu.Unlock()
	for _, d := range table {
		ds.release(d)
	}
}

// closeAll closes what is open when a script has ended.
func (ds *descriptors) closeAll() {
	ds.mu.Lock()
	all, inputs := ds.all, ds.inputs
	ds.of, ds.all, ds.inputs = map[string]map[int]*description{}, map[*description]bool{}, map[*os.File]*input{}
	ds.mu.Unlock()
	for d := range all {
		if d.file != nil {
			_ = d.file.Close() // nobody is left to be told
		}
	}
	for _, in := range inputs {
		in.pipe.Close()
	}
}

// get gives the description of a descriptor, one reference more.
//
// Errors: EBADF.
func (ds *descriptors) get(owner string, n int) (*description, error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d, ok := ds.of[owner][n]
	if !ok {
		return nil, syscall.EBADF
	}
	d.refs++
	return d, nil
}

// add takes a new description in, with one reference.
func (ds *descriptors) add(d *description) (*description, error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if len(ds.all) >= maxOpen {
		return nil, syscall.ENFILE
	}
	d.refs = 1
	ds.all[d] = true
	return d, nil
}

// release gives a reference back. The last one closes the file.
func (ds *descriptors) release(d *description) {
	if d == nil {
		return
	}
	ds.mu.Lock()
	d.refs--
	last := d.refs == 0 && ds.all[d]
	if last {
		delete(ds.all, d)
	}
	ds.mu.Unlock()
	if last && d.file != nil {
		_ = d.file.Close() // a shell's close tells of no error
	}
}

// set makes n stand for d, or closed if d is nil, and gives what n stood for.
func (ds *descriptors) set(owner string, n int, d *description) (before *description) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	table := ds.of[owner]
	before = table[n]
	switch {
	case d == nil:
		delete(table, n)
	case table == nil:
		ds.of[owner] = map[int]*description{n: d}
	default:
		table[n] = d
	}
	return before
}

// setFree makes a free number stand for d, the first of from, from+step, …
//
// Errors: EMFILE.
func (ds *descriptors) setFree(owner string, from, step int, d *description) (int, error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for n := from; n > 2 && n < maxDescriptor; n += step {
		if ds.of[owner][n] != nil {
			continue
		}
		if ds.of[owner] == nil {
			ds.of[owner] = map[int]*description{}
		}
		ds.of[owner][n] = d
		return n, nil
	}
	return 0, syscall.EMFILE
}

// descriptorGuard opens the guards of descriptors; ok is false if name is another one.
func (sh *Shell) descriptorGuard(ctx context.Context, name string) (f io.ReadWriteCloser, ok bool, err error) {
	hc := interp.HandlerCtx(ctx)
	_, rest, _ := strings.Cut(name, ":") // ownPrefix
	kind, rest, _ := strings.Cut(rest, ":")
	kind, lasting := strings.CutSuffix(ownPrefix+kind, "!")
	switch {
	case kind == guardOpen:
		number, rest, _ := strings.Cut(rest, ":")
		op, file, _ := strings.Cut(rest, ":")
		d, err := sh.openDescription(ctx, hc, op, file)
		if err != nil {
			return nil, true, err
		}
		return sh.place(hc, number, d, lasting), true, nil
	case kind == guardDup:
		number, from, _ := strings.Cut(rest, ":")
		var d *description
		if from != "-" {
			if d, err = sh.described(hc, from); err != nil {
				return nil, true, pathError(from, err)
			}
		}
		return sh.place(hc, number, d, lasting), true, nil
	case kind+":" == guardFD:
		op, number, _ := strings.Cut(rest, ":")
		if lasting {
			ctx = context.WithoutCancel(ctx)
		}
		f, err := sh.asStandard(ctx, hc, op, number)
		if err != nil {
			return nil, true, pathError(number, err)
		}
		return f, true, nil
	case kind+":" == guardEnd:
		numbers := strings.Split(strings.TrimSuffix(rest, ":"), ":")
		f, err := sh.listEnd(sh.withTime(ctx, hc), owner(hc.Env), sh.timeline.jobOf(hc.Env), numbers)
		return f, true, err
	case kind == guardInput:
		return &standIn{Writer: unwrapped(hc.Stdout), closed: sh.endInput(hc.Stdin)}, true, nil
	case kind+":" == guardSub:
		child := owner(hc.Env) + "/" + rest
		sh.descriptors.fork(owner(hc.Env), child)
		return &standIn{Writer: unwrapped(hc.Stdout), closed: func() { sh.descriptors.exit(child) }}, true, nil
	}
	return nil, false, nil
}

// place makes a descriptor stand for d. If that is not lasting, it is as it was before
// when the command has ended.
func (sh *Shell) place(hc interp.HandlerContext, number string, d *description, lasting bool) *standIn {
	n, _ := strconv.Atoi(number) // the rewriter has looked at it
	who := owner(hc.Env)
	before := sh.descriptors.set(who, n, d)
	guard := &standIn{Writer: unwrapped(hc.Stdout)}
	if lasting {
		sh.descriptors.release(before)
	} else {
		guard.closed = func() { sh.descriptors.release(sh.descriptors.set(who, n, before)) }
	}
	return guard
}

// openDescription opens a file, as the redirection op does.
func (sh *Shell) openDescription(ctx context.Context, hc interp.HandlerContext, op, name string) (*description, error) {
	flag := map[string]int{
		"<": os.O_RDONLY, "<>": os.O_RDWR | os.O_CREATE, ">>": os.O_WRONLY | os.O_CREATE | os.O_APPEND,
	}
	how, ok := flag[op]
	if !ok {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if name == "" {
		return nil, pathError(name, syscall.ENOENT)
	}
	// The file outlives the command that opens it.
	f, err := sh.openFile(context.WithoutCancel(ctx), hc, name, how, 0o644)
	if err != nil {
		return nil, err
	}
	d := &description{file: f}
	if how&os.O_WRONLY == 0 {
		d.r = f
	}
	if how&(os.O_WRONLY|os.O_RDWR) != 0 {
		d.w = f
	}
	if d, err = sh.descriptors.add(d); err != nil {
		f.Close()
		return nil, pathError(name, err)
	}
	return d, nil
}

// described gives what the descriptor of a number stands for, one reference more.
func (sh *Shell) described(hc interp.HandlerContext, number string) (*description, error) {
	switch number {
	case "0":
		if in := sh.input(hc.Stdin); in != nil {
			sh.descriptors.mu.Lock()
			defer sh.descriptors.mu.Unlock()
			in.d.refs++
			return in.d, nil
		}
		if hc.Stdin == nil {
			return sh.descriptors.add(&description{r: strings.NewReader("")})
		}
		return sh.descriptors.add(&description{r: hc.Stdin})
	case "1", "2":
		w := unwrapped(hc.Stdout)
		if number == "2" {
			w = unwrapped(hc.Stderr)
		}
		if v, ok := w.(*descriptorWriter); ok {
			sh.descriptors.mu.Lock()
			defer sh.descriptors.mu.Unlock()
			v.d.refs++
			return v.d, nil
		}
		return sh.descriptors.add(&description{w: w})
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, syscall.EBADF
	}
	return sh.descriptors.get(owner(hc.Env), n)
}
