package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"mvdan.cc/sh/v3/interp"
)

// asStandard gives a descriptor as standard input, if op is <, or as an output.
func (sh *Shell) asStandard(ctx context.Context, hc interp.HandlerContext, op, number string) (io.ReadWriteCloser, error) {
	if number == "-" {
		return &standIn{Writer: io.Discard}, nil
	}
	d, err := sh.described(hc, number)
	if err != nil {
		return nil, err
	}
	ctx = sh.withTime(ctx, hc)
	if op != "<" {
		return &descriptorWriter{sh: sh, d: d, ctx: ctx}, nil
	}
	return sh.inputFrom(ctx, d), nil
}

// inputFrom gives a description as standard input to a process whose context is ctx.
func (sh *Shell) inputFrom(ctx context.Context, d *description) io.ReadWriteCloser {
	r, w, err := os.Pipe()
	if err != nil { // where there is none, the interpreter reads what it is given
		return &descriptorReader{sh: sh, d: d, ctx: ctx}
	}
	sh.descriptors.mu.Lock()
	defer sh.descriptors.mu.Unlock()
	sh.descriptors.inputs[r] = &input{d: d, pipe: w}
	return r
}

// input gives what a standard input stands for; nil if it is no descriptor.
func (sh *Shell) input(stdin io.Reader) *input {
	f, ok := stdin.(*os.File)
	if !ok {
		return nil
	}
	sh.descriptors.mu.Lock()
	defer sh.descriptors.mu.Unlock()
	return sh.descriptors.inputs[f]
}

// endInput gives what is to be done when a standard input is not used any more.
func (sh *Shell) endInput(stdin io.Reader) func() {
	in := sh.input(stdin)
	if in == nil {
		return nil
	}
	return func() {
		f := stdin.(*os.File)
		sh.descriptors.mu.Lock()
		delete(sh.descriptors.inputs, f)
		sh.descriptors.mu.Unlock()
		in.pipe.Close()
		sh.descriptors.release(in.d)
	}
}

// feed puts as much of a description into the interpreter's standard input as its read
// is about to take: one line, and the next ones too if it ends in a backslash, unless
// raw. A line is read byte by byte: what is behind it stays where it is. all puts in
// everything.
func (sh *Shell) feed(ctx context.Context, in *input, raw, all bool) error {
	if in.ended {
		return nil
	}
	r := &descriptorReader{sh: sh, d: in.d, ctx: ctx}
	var line []byte
	var err error
	for escaped, one := false, [1]byte{}; ; {
		var n int
		if n, err = r.Read(one[:]); err != nil {
			break
		}
		if n == 0 {
			continue
		}
		if line = append(line, one[0]); len(line) > sh.limit.maxHeld() {
			err = syscall.ENOMEM
			break
		}
		if one[0] == '\n' && !all && (raw || !escaped) {
			break
		}
		escaped = one[0] == '\\' && !escaped
	}
	in.ended = err != nil
	go func() { // it may be longer than a pipe holds
		_, _ = in.pipe.Write(line) // read has gone if this fails
		if err != nil {
			in.pipe.Close()
		}
	}()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// descriptorWriter is a descriptor as an output. It is closed like a duplicate of it.
type descriptorWriter struct {
	sh   *Shell
	d    *description
	ctx  context.Context
	once sync.Once
}

func (v *descriptorWriter) Write(p []byte) (int, error) {
	if v.d.w == nil {
		return 0, syscall.EBADF
	}
	if e, ok := v.d.w.(pipeEnd); ok {
		return e.writeWithin(v.ctx, p)
	}
	return v.d.w.Write(p)
}

func (*descriptorWriter) Read([]byte) (int, error) { return 0, syscall.EBADF }

func (v *descriptorWriter) Close() error {
	v.once.Do(func() { v.sh.descriptors.release(v.d) })
	return nil
}

// descriptorReader is a descriptor as a command reads it, whose context is ctx.
type descriptorReader struct {
	sh  *Shell
	d   *description
	ctx context.Context
}

func (v *descriptorReader) Read(p []byte) (int, error) {
	switch r := v.d.r.(type) {
	case nil:
		return 0, syscall.EBADF
	case *virtualFile:
		return r.readWithin(v.ctx, p)
	case pipeEnd:
		return r.readWithin(v.ctx, p)
	case *os.File:
		return (&stdinReader{ctx: v.ctx, r: r}).Read(p)
	default:
		return r.Read(p)
	}
}

func (*descriptorReader) Write([]byte) (int, error) { return 0, syscall.EBADF }

func (v *descriptorReader) Close() error {
	v.sh.descriptors.release(v.d)
	return nil
}

// readWithin is Read by a process whose context is ctx. While another one waits in a
// read of the same file, time moves on.
func (f *virtualFile) readWithin(ctx context.Context, p []byte) (int, error) {
	for !f.mu.TryLock() {
		if err := WaitForTime(ctx); err != nil {
			return 0, err
		}
	}
	defer f.mu.Unlock()
	if f.closed {
		return 0, syscall.EBADF
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	return f.h.Read(ctx, p)
}
