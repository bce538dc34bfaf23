//go:build !js

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ftracelab/capture"
	"ftracelab/capture/savings"
	"ftracelab/report/join"
	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"
)

// joinedText replaces the cookies in the text of trace by their stacks. The blocks of
// stacks that were unwound later are left out: each stack stands where its cookies stood.
//
//	bash-206     [002] .....     0.002702: cookie=300000003
//	bash-206     [002] .....     0.002705: <user stack unwind>
//	cookie=300000003
//	 =>  <00007ffff7e9bea9> : -1 : 0:0
type joinedText struct {
	out    io.Writer
	table  *join.Table
	names  *capture.Capture
	line   []byte // not ended yet
	inside bool   // of a block
}

var (
	cookieLine = regexp.MustCompile(`^(.*-(\d+)\s+(?:\([ \d-]+\)\s*)?\[\d+\] .*: )cookie=([0-9a-f]+)$`)
	blockLine  = regexp.MustCompile(`^.*-\d+\s+(?:\([ \d-]+\)\s*)?\[\d+\] .*: <user stack unwind>$`)
)

// Write implements io.Writer.
func (t *joinedText) Write(b []byte) (int, error) {
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			t.line = append(t.line, b...)
			return n, nil
		}
		line := append(t.line, b[:i]...)
		if _, err := t.out.Write(t.lineOf(line)); err != nil {
			return 0, err
		}
		t.line, b = t.line[:0], b[i+1:]
	}
}

// lineOf is what stands for a line.
func (t *joinedText) lineOf(line []byte) []byte {
	if t.inside {
		if bytes.HasPrefix(line, []byte(" => ")) || bytes.HasPrefix(line, []byte("cookie=")) {
			return nil
		}
		t.inside = false
	}
	if bytes.HasSuffix(line, []byte("<user stack unwind>")) && blockLine.Match(line) {
		t.inside = true
		return nil
	}
	m := cookieLine.FindSubmatch(line)
	if m == nil {
		return append(line, '\n')
	}
	pid, err1 := strconv.ParseInt(string(m[2]), 10, 32)
	id, err2 := strconv.ParseUint(string(m[3]), 16, 64)
	if err1 != nil || err2 != nil {
		return append(line, '\n')
	}
	stack, why := t.table.Stack(int32(pid), cookie.ID(id))
	if why != join.Joined {
		return fmt.Appendf(nil, "%s<no user stack: %v>\n", m[1], why)
	}
	out := append(slices.Clone(m[1]), "<user stack trace>\n"...)
	for _, f := range stack {
		out = append(out, " => "...)
		out = append(t.table.AppendFrame(out, f, t.names), '\n')
	}
	return out
}

// joined prints a capture with the user stacks that were unwound later at the events that
// asked for them, and at the end how many were joined and why the others were not.
func (f *reportFlags) joined(ctx context.Context, stdout io.Writer, dir string, opt capture.Options) (err error) {
	table, err := savings.Table(func(opt capture.Options) (*capture.Capture, error) { return capture.Open(dir, opt) }, opt)
	if err != nil {
		return err
	}
	opt.Memory = f.memory.budget()
	c, err := capture.Open(dir, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	out := bufio.NewWriter(stdout)
	if f.folded {
		err = writeFoldedJoin(out, c, table)
	} else {
		err = f.joinedLines(ctx, out, dir, table, c)
	}
	if err != nil {
		return err
	}
	counts := table.Counts()
	fmt.Fprintf(out, "# %v\n", &counts)
	return out.Flush()
}

// joinedLines writes the text of trace.
func (f *reportFlags) joinedLines(ctx context.Context, out io.Writer, dir string, table *join.Table, names *capture.Capture) (err error) {
	t, err := capture.OpenTrace(dir, capture.Options{Context: ctx, Kernel: f.kernel, KeepGoing: f.keepGoing, Instance: f.instance, StackMap: f.stackMap, StackIDs: f.stackIDs, Memory: f.memory.budget()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for _, word := range f.options {
		if err := t.SetOption(word); err != nil {
			return usageError{fmt.Errorf("--trace-option %s: %w", word, err)}
		}
	}
	return t.WriteText(ctx, &joinedText{out: out, table: table, names: names}, f.cpu)
}

// maxFolded bounds the different stacks of folded output.
const maxFolded = 1 << 20

// folded collects the stacks of events: the task, its user stack, its kernel stack and the
// event, the outermost first.
type folded struct {
	c      *capture.Capture
	table  *join.Table
	counts map[string]uint64
	open   map[int]*foldedEvent // by CPU
}

type foldedEvent struct {
	comm, name   string
	user, kernel string
}

// writeFoldedJoin writes the events with their stacks as folded stacks. A kernel's frame
// has the mark _[k]. Where a user stack could not be joined, the reason stands in brackets.
func writeFoldedJoin(w io.Writer, c *capture.Capture, table *join.Table) error {
	f := folded{c, table, map[string]uint64{}, map[int]*foldedEvent{}}
	var r record.Record
	for {
		err := c.Next(&r)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = f.add(&r)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range f.open {
		if err := f.end(e); err != nil {
			return err
		}
	}
	var lines []string
	for stack, n := range f.counts {
		lines = append(lines, fmt.Sprintf("%s %d\n", stack, n))
	}
	slices.Sort(lines)
	for _, line := range lines {
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (f *folded) add(r *record.Record) error {
	e := f.open[r.CPU]
	switch {
	case r.Kind == record.KernelStack && e != nil:
		e.kernel = f.frames(r.Stack)
	case r.Kind != record.Event || r.Type == nil:
	case f.table.IsStack(r):
	case f.table.IsCookie(r):
		if e == nil {
			return nil
		}
		stack, why := f.table.Joined(r)
		if why != join.Joined {
			e.user = ";[" + why.String() + "]"
			return nil
		}
		e.user = ""
		for _, frame := range slices.Backward(stack) {
			e.user += ";" + foldedName(string(f.table.AppendFrame(nil, frame, f.c)))
		}
	default:
		if e != nil {
			if err := f.end(e); err != nil {
				return err
			}
		}
		comm := f.c.Comm(r.Common.PID)
		if comm == "" {
			comm = strconv.Itoa(int(r.Common.PID))
		}
		f.open[r.CPU] = &foldedEvent{comm: foldedName(comm), name: r.Type.Name}
	}
	return nil
}

// frames are a kernel stack's.
func (f *folded) frames(stack []uint64) string {
	var b strings.Builder
	for _, ip := range slices.Backward(stack) {
		name := f.c.Symbol(ip)
		if name == "" {
			name = fmt.Sprintf("0x%x", ip)
		}
		b.WriteString(";" + foldedName(name) + "_[k]")
	}
	return b.String()
}

// end counts an event.
func (f *folded) end(e *foldedEvent) error {
	stack := e.comm + e.user + e.kernel + ";" + e.name + "_[k]"
	if _, ok := f.counts[stack]; !ok && len(f.counts) == maxFolded {
		return fmt.Errorf("more than %d different stacks", maxFolded)
	}
	f.counts[stack]++
	return nil
}

// foldedName is a name without what ends a frame.
func foldedName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ';' || r < ' ' {
			return '_'
		}
		return r
	}, s)
}
