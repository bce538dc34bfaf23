package tracefile

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"syscall"
)

// handle is the Handle of every kind: a file gives the functions it has.
// Without read or write the kernel's file has no such operation, which is
// EINVAL; a handle not opened for it is EBADF.
//
// Kernel: vfs_read and vfs_write, fs/read_write.c. Root's open of a file
// without write permission succeeds (CAP_DAC_OVERRIDE); its write does not.
type handle struct {
	flags Flags
	read  func(ctx context.Context, p []byte) (int, error)
	write func(ctx context.Context, p []byte) (int, error)
	flush func() error
	poll  func() Events // nil: the kernel's file has no such operation
	close func() error
}

func (h *handle) Poll() Events {
	if h.poll == nil {
		return PollAlways
	}
	return h.poll()
}

func (h *handle) Read(ctx context.Context, p []byte) (int, error) {
	switch {
	case h.flags&Read == 0:
		return 0, syscall.EBADF
	case h.read == nil:
		return 0, syscall.EINVAL
	}
	return h.read(ctx, p)
}

func (h *handle) Write(ctx context.Context, p []byte) (int, error) {
	switch {
	case h.flags&Write == 0:
		return 0, syscall.EBADF
	case h.write == nil:
		return 0, syscall.EINVAL
	}
	return h.write(ctx, p)
}

func (h *handle) Flush() error {
	if h.flush == nil {
		return nil
	}
	return h.flush()
}

func (h *handle) Close() error {
	err := h.Flush()
	if h.close != nil {
		if cerr := h.close(); err == nil {
			err = cerr
		}
		h.close = nil
	}
	return err
}

// snapshot reads the text that render gives at the first read.
func snapshot(render func() ([]byte, error)) func(context.Context, []byte) (int, error) {
	var text []byte
	rendered := false
	return func(_ context.Context, p []byte) (int, error) {
		if !rendered {
			t, err := render()
			if err != nil {
				return 0, err
			}
			text, rendered = t, true
		}
		if len(text) == 0 {
			return 0, io.EOF
		}
		n := copy(p, text)
		text = text[n:]
		return n, nil
	}
}

// stop is what a Stream's writer returns once nobody reads any more.
type stop struct{}

func (stop) Error() string { return "reader is gone" }

// pull turns a function that writes into one that is read, a chunk at a time.
func pull(write func(w io.Writer) error) (read func(context.Context, []byte) (int, error), release func() error) {
	var failed error
	chunks := iter.Seq[[]byte](func(yield func([]byte) bool) {
		failed = write(writerFunc(func(p []byte) (int, error) {
			if len(p) > 0 && !yield(p) {
				return 0, stop{}
			}
			return len(p), nil
		}))
	})
	next, end := iter.Pull(chunks)
	var rest []byte
	read = func(_ context.Context, p []byte) (int, error) {
		for len(rest) == 0 {
			chunk, ok := next()
			if !ok && failed != nil {
				return 0, failed
			}
			if !ok {
				return 0, io.EOF
			}
			rest = chunk
		}
		n := copy(p, rest)
		rest = rest[n:]
		return n, nil
	}
	return read, func() error { end(); return nil }
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// wrap is another handle with some operations replaced.
type wrap struct {
	Handle
	flags Flags
	write func(ctx context.Context, p []byte) (int, error)
	flush func() error
}

func (w *wrap) Write(ctx context.Context, p []byte) (int, error) {
	if w.flags&Write == 0 {
		return 0, syscall.EBADF
	}
	return w.write(ctx, p)
}

func (w *wrap) Flush() error {
	if w.flush != nil {
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.Handle.Flush()
}

func (w *wrap) Close() error {
	err := w.Flush()
	if cerr := w.Handle.Close(); err == nil {
		err = cerr
	}
	return err
}

// open makes the Open of a kind whose handles need no more than functions.
func open(name string, mode fs.FileMode, make func(*handle)) *File {
	return &File{Name: name, Mode: mode, Open: func(_ context.Context, flags Flags) (Handle, error) {
		h := &handle{flags: flags}
		make(h)
		return h, nil
	}}
}
