package tracer

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"ftracelab/internal/tracefile"
)

// The kinds of files tracing has, each a tracefile kind under the Ftrace's
// lock.

// value is a file of one short text. A nil store makes it read only.
func (i *Instance) value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node {
	locked := func() string {
		i.ft.mu.Lock()
		defer i.ft.mu.Unlock()
		return show()
	}
	if store == nil {
		return tracefile.Value(name, mode, locked, nil)
	}
	return tracefile.Value(name, mode, locked, func(s string) error { return i.locked(func() error { return store(s) }) })
}

// seq is a text of the moment at which it is first read.
func (i *Instance) seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File {
	return tracefile.Seq(name, mode, func() (text []byte, err error) {
		err = i.locked(func() error { text, err = show(); return err })
		return text, err
	})
}

func (i *Instance) locked(do func() error) error {
	i.ft.mu.Lock()
	defer i.ft.mu.Unlock()
	return do()
}

func (i *Instance) flag(name string, get func() bool, set func(bool) error) tracefile.Node {
	return tracefile.Flag(name, 0o640,
		func() (on bool) { _ = i.locked(func() error { on = get(); return nil }); return on },
		func(on bool) error { return i.locked(func() error { return set(on) }) })
}

// marker is a file of which each write is one record.
func (i *Instance) marker(name string, write func([]byte) (int, error)) tracefile.Node {
	return tracefile.Marker(name, 0o220, func(p []byte) (n int, err error) {
		err = i.locked(func() error { n, err = write(p); return err })
		return n, err
	})
}

// clearable is a text that any write empties.
func (i *Instance) clearable(name string, mode fs.FileMode, show func() string, clear func()) tracefile.Node {
	empty := func() error { return i.locked(func() error { clear(); return nil }) }
	return i.seq(name, mode, func() ([]byte, error) { return []byte(show()), nil }).
		OnTrunc(empty).OnWrite(func([]byte) error { return nil })
}

// wordSize is how long a word of set_event may be.
//
// Kernel: EVENT_BUF_SIZE, kernel/trace/trace_events.c.
const wordSize = 128

// setEventFile is set_event: opening it with > disables all, each word enables
// or disables some.
func (i *Instance) setEventFile() tracefile.Node {
	return i.seq("set_event", 0o640, func() ([]byte, error) { return []byte(i.showSetEvent()), nil }).
		OnTrunc(func() error { return i.locked(func() error { i.disableAllEvents(); return nil }) }).
		OnWord(wordSize, func(word string) error { return i.locked(func() error { return i.setEventWord(word) }) })
}

// traceFile is trace: reading shows the buffer and takes nothing, > empties it.
func (i *Instance) traceFile(cpu int) tracefile.Node {
	return i.seq("trace", 0o640, func() ([]byte, error) { return i.text(cpu) }).
		OnTrunc(func() error {
			return i.locked(func() error {
				if cpu >= 0 {
					i.buf.Reset(cpu)
				} else {
					i.resetBuffer()
				}
				return nil
			})
		}).
		OnWrite(func([]byte) error { return nil })
}

// stackMapFile is stack_map: its text, and writes that reset it. Opening it
// with > does nothing by itself.
func (i *Instance) stackMapFile() tracefile.Node {
	return i.seq("stack_map", 0o640, i.showStackmap).
		OnWrite(func(p []byte) error { return i.locked(func() error { return i.resetStackmap(p) }) })
}

// pipeFile is a file that takes what it reads out of the buffer. While one is
// open the tracer cannot be changed.
//
// Kernel: tracing_open_pipe, kernel/trace/trace.c.
func (i *Instance) pipeFile(name string, cpu int, take func(*pipe) []byte) tracefile.Node {
	return &tracefile.File{Name: name, Mode: 0o440, Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		p := &pipe{i: i, cpu: cpu}
		h, err := tracefile.Pipe(name, 0o440, func() ([]byte, error) { return p.take(take) }, p.wait).Open(ctx, flags)
		if err != nil {
			return nil, err
		}
		_ = i.locked(func() error { i.readers++; return nil })
		return &pipeHandle{Handle: h, i: i}, nil
	}}
}

type pipeHandle struct {
	tracefile.Handle
	i      *Instance
	closed bool
}

func (h *pipeHandle) Close() error {
	if !h.closed {
		h.closed = true
		_ = h.i.locked(func() error { h.i.readers--; return nil })
	}
	return h.Handle.Close()
}

// optionWords bounds a write to trace_options.
const optionWords = 64

// writeOptions is a write to trace_options: one option, blanks around it allowed.
//
// Kernel: tracing_trace_options_write, kernel/trace/trace.c.
func (i *Instance) writeOptions(s string) error {
	if len(s) >= optionWords {
		return fmt.Errorf("trace_options: %d bytes: %w", len(s), syscall.EINVAL)
	}
	return i.writeOption(strings.TrimSpace(s))
}
