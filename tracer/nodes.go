package tracer

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/latency"
	"ftracelab/tracer/option"
)

// These are the kinds of files that tracing has. Each is a kind of tracefile that
// takes the lock of the Ftrace.

// value is a file of one short text. A nil store makes it read only.
func (tr *Instance) value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node {
	locked := func() string {
		tr.ft.mu.Lock()
		defer tr.ft.mu.Unlock()
		return show()
	}
	if store == nil {
		return tracefile.Value(name, mode, locked, nil)
	}
	return tracefile.Value(name, mode, locked, func(s string) error { return tr.locked(func() error { return store(s) }) })
}

// seq is a file whose text is made when it is first read.
func (tr *Instance) seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File {
	return tracefile.Seq(name, mode, func() (text []byte, err error) {
		err = tr.locked(func() error { text, err = show(); return err })
		return text, err
	})
}

func (tr *Instance) locked(do func() error) error {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	return tr.ft.change(do)
}

func (tr *Instance) flag(name string, get func() bool, set func(bool) error) tracefile.Node {
	return tracefile.Flag(name, 0o640,
		func() (on bool) { _ = tr.locked(func() error { on = get(); return nil }); return on },
		func(on bool) error { return tr.locked(func() error { return set(on) }) })
}

// marker is a file; each write to it is one record of the task that writes.
func (tr *Instance) marker(name string, write func(by writer, p []byte) (int, error)) tracefile.Node {
	return tracefile.Marker(name, 0o220, func(ctx context.Context, p []byte) (n int, err error) {
		err = tr.locked(func() error {
			n, err = write(tr.ft.writerOf(ctx), p)
			return err
		})
		return n, err
	})
}

// clearable is a text that is emptied when it is opened with >; what is written to it
// is ignored.
func (tr *Instance) clearable(name string, mode fs.FileMode, show func() string, clear func()) tracefile.Node {
	empty := func() error { return tr.locked(func() error { clear(); return nil }) }
	return tr.seq(name, mode, func() ([]byte, error) { return []byte(show()), nil }).
		OnTrunc(empty).OnWrite(func([]byte) error { return nil })
}

// wordSize bounds the length of a word written to set_event.
//
// Kernel: EVENT_BUF_SIZE, kernel/trace/trace_events.c.
const wordSize = 128

// setEventFile is set_event: opening it with > disables all events, and each word
// enables or disables some.
func (tr *Instance) setEventFile() tracefile.Node {
	return tr.expanding(tr.seq("set_event", 0o640, func() ([]byte, error) { return []byte(tr.showSetEvent()), nil }).
		OnTrunc(func() error { return tr.locked(func() error { tr.disableAllEvents(); return nil }) }).
		OnWord(wordSize, func(word string) error { return tr.locked(func() error { return tr.setEventWord(word) }) }))
}

// traceFile is trace: reading shows the buffer and takes nothing out of it, and
// opening it with > empties it. With options/pause-on-trace nothing is recorded while
// it is open for reading.
//
// Departure: the text is made when trace is opened, so an open trace does not keep the
// buffer from being resized; in the kernel that is EBUSY.
//
// Kernel: __tracing_open and tracing_release, kernel/trace/trace.c.
func (tr *Instance) traceFile(cpu int) tracefile.Node {
	file := tr.seq("trace", 0o640, func() ([]byte, error) { return tr.text(cpu) }).
		OnTrunc(func() error {
			return tr.locked(func() error { tr.emptyShown(cpu); return nil })
		}).
		OnWrite(func([]byte) error { return nil })
	paused := *file
	paused.Open = func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		h, err := file.Open(ctx, flags)
		if err != nil || flags&tracefile.Read == 0 {
			return h, err
		}
		_ = tr.locked(func() error { tr.pause(); return nil })
		return &openFile{h, func() { _ = tr.locked(func() error { tr.unpause(); return nil }) }}, nil
	}
	paused.Holds = func() (holds bool) {
		_ = tr.locked(func() error { holds = tr.opts.Has(option.PauseOnTrace); return nil })
		return holds
	}
	return &paused
}

// stackMapFile is stack_map: its text, and writes that reset it. Opening it
// with > does nothing by itself.
func (tr *Instance) stackMapFile() tracefile.Node {
	return tr.seq("stack_map", 0o640, tr.showStackmap).
		OnWrite(func(p []byte) error { return tr.locked(func() error { return tr.resetStackmap(p) }) })
}

// optionWords bounds the length of a write to trace_options.
const optionWords = 64

// writeOptions handles a write to trace_options: one option; blanks around it are
// allowed.
//
// Kernel: tracing_trace_options_write, kernel/trace/trace.c.
func (tr *Instance) writeOptions(s string) error {
	if len(s) >= optionWords {
		return fmt.Errorf("trace_options: %d bytes: %w", len(s), syscall.EINVAL)
	}
	return tr.writeOption(tracefile.Stripped(s))
}

// openFile is a handle that calls closed when it is closed.
type openFile struct {
	tracefile.Handle
	closed func()
}

func (h *openFile) Close() error {
	if h.closed != nil {
		h.closed()
		h.closed = nil
	}
	return h.Handle.Close()
}

// held returns the nodes, changed so that open files of the instance are counted: it
// cannot be removed while there are any.
//
// Kernel: trace_array_get and trace_array_put, kernel/trace/trace.c.
func (tr *Instance) held(nodes []tracefile.Node) []tracefile.Node {
	for n, node := range nodes {
		nodes[n] = tr.heldNode(node)
	}
	return nodes
}

func (tr *Instance) heldNode(node tracefile.Node) tracefile.Node {
	switch node := node.(type) {
	case *tracefile.Dir:
		dir := *node
		dir.Children = func() []tracefile.Node { return tr.held(node.Children()) }
		if node.Find != nil {
			dir.Find = func(name string) tracefile.Node { return tr.heldNode(node.Find(name)) }
		}
		return &dir
	case *tracefile.File:
		file := *node
		file.Open = func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
			h, err := node.Open(ctx, flags)
			if err != nil {
				return nil, err
			}
			_ = tr.locked(func() error { tr.refs++; return nil })
			return &openFile{h, func() { _ = tr.locked(func() error { tr.refs--; return nil }) }}, nil
		}
		return &file
	}
	return node
}

// microseconds is a file that shows and takes microseconds for a time kept in ns.
//
// Kernel: tracing_nsecs_read and tracing_nsecs_write, kernel/trace/trace.c.
func (tr *Instance) microseconds(name string, ns *uint64) tracefile.Node {
	return tr.value(name, 0o640,
		func() string { return strconv.FormatUint(latency.Microseconds(*ns), 10) + "\n" },
		func(s string) error {
			n, err := tracefile.ParseUserUlong(s, 10)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*ns = n * 1000
			return nil
		})
}
