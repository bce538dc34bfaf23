package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"ftracelab/tracer/tracedat"
)

// traceDat is an open trace.dat; closing it closes its file.
type traceDat struct {
	*tracedat.File
	in fs.File
}

func (d *traceDat) Close() error { return d.in.Close() }

// openTraceDat opens the file of l if it is a trace.dat; nil if it is something else.
func openTraceDat(l location) (_ *traceDat, err error) {
	in, err := l.fsys.Open(l.name)
	if err != nil {
		return nil, fileError(l.shown, "cannot open", cause(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	at, seekable := in.(io.ReaderAt)
	head := make([]byte, 16)
	if seekable {
		n, err := at.ReadAt(head, 0)
		if err != nil && err != io.EOF {
			return nil, readFault(l.shown, err)
		}
		head = head[:n]
	}
	if !seekable || !tracedat.Is(head) {
		return nil, in.Close()
	}
	info, err := in.Stat()
	if err != nil {
		return nil, fileError(l.shown, "cannot open", cause(err))
	}
	f, err := tracedat.New(at, info.Size(), l.fsys.memory)
	if err != nil {
		return nil, fileError(l.shown, "bad file", err)
	}
	return &traceDat{f, in}, nil
}

// buffer gives the buffer of an instance. The empty name stands for the top buffer or,
// if that has no pages, for the only buffer that has some.
func (d *traceDat) buffer(name, shown string) (*tracedat.Buffer, error) {
	var names []string
	var filled []*tracedat.Buffer
	for i := range d.Buffers {
		b := &d.Buffers[i]
		if b.Name == name && (name != "" || hasPages(b)) {
			return b, nil
		}
		if hasPages(b) {
			filled = append(filled, b)
		}
		if b.Name != "" {
			names = append(names, b.Name)
		}
	}
	switch {
	case name != "":
		return nil, fileError(shown, fmt.Sprintf("no instance %q; there are: %s", name, strings.Join(names, ", ")), nil)
	case len(filled) == 1:
		return filled[0], nil
	case len(filled) > 1:
		return nil, fileError(shown, "the top is empty: name an instance of "+strings.Join(names, ", "), nil)
	case len(d.Buffers) > 0 && d.Buffers[0].Text != nil:
		return nil, fileError(shown, "the text of a latency tracer, without pages", nil)
	case len(d.Buffers) > 0:
		return &d.Buffers[0], nil
	}
	return nil, fileError(shown, "a trace.dat without a buffer", nil)
}

func hasPages(b *tracedat.Buffer) bool {
	for _, c := range b.CPUs {
		if c.Size > 0 {
			return true
		}
	}
	return false
}

// location gives a location at which a buffer looks like a capture folder.
func (d *traceDat) location(b *tracedat.Buffer, l location) location {
	l.fsys, l.name = &files{d.Folder(b), l.fsys.memory}, "."
	return l
}
