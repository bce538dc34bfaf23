package tracefsfs

import (
	"context"
	"errors"
	"io"

	"github.com/smallnest/ringbuffer"

	"ftracelab/internal/tracefile"
)

// Follow reads h into a byte pipe of size bytes and gives the pipe's other end:
// what a consumer of trace_pipe stands on when it may be slower than the trace
// (a terminal, a browser). The pipe blocks its writer when full and its reader
// when empty, and keeps order; it is no trace buffer and drops nothing. Reads
// end with io.EOF at the end of h, or with the error that ended it.
//
// Follow owns h and closes it. Close (or the end of ctx) stops the reading and
// waits until h is closed.
func Follow(ctx context.Context, h tracefile.Handle, size int) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	pipe := ringbuffer.New(size).SetBlocking(true).WithCancel(ctx)
	f := &follower{pipe: pipe, cancel: cancel, done: make(chan struct{})}
	go f.pump(ctx, h, size)
	return f
}

type follower struct {
	pipe   *ringbuffer.RingBuffer
	cancel context.CancelFunc
	done   chan struct{} // closed when h is
	err    error         // what ended h, if not EOF; written before done is closed
}

// pump is the one writer of the pipe.
func (f *follower) pump(ctx context.Context, h tracefile.Handle, size int) {
	defer close(f.done)
	chunk := make([]byte, size)
	for {
		n, err := h.Read(ctx, chunk)
		if n > 0 {
			if _, werr := f.pipe.Write(chunk[:n]); werr != nil {
				break // closed or cancelled
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.err = err
			}
			break
		}
	}
	if err := h.Close(); f.err == nil {
		f.err = err
	}
	f.pipe.CloseWriter()
}

func (f *follower) Read(p []byte) (int, error) {
	n, err := f.pipe.Read(p)
	if n > 0 || err == nil {
		return n, nil
	}
	<-f.done
	if f.err != nil {
		return 0, f.err
	}
	return 0, err
}

func (f *follower) Close() error {
	f.cancel()
	<-f.done
	return nil
}
