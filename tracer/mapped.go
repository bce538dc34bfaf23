package tracer

import (
	"context"
	"fmt"
	"syscall"

	"ftracelab/ringbuf"
	"ftracelab/tracefsfs/tracefile"
)

// mapped is a trace_pipe_raw that a process has mapped. While there is one, no snapshot
// can be taken, and the buffer keeps its size.
//
// Kernel: tracing_buffers_mmap and tracing_buffers_ioctl, kernel/trace/trace.c.
type mapped struct {
	tr  *Instance
	cpu int
	m   *ringbuf.Mapping
	// seen is what the process knows, as Mapping.Refresh counts it.
	seen uint64
}

// mapRing maps the ring of a CPU. It is EBUSY while a trigger, a command or a tracer may
// take a snapshot.
//
// Kernel: get_snapshot_map, kernel/trace/trace.c.
func (tr *Instance) mapRing(cpu int) (tracefile.Mapping, error) {
	r := &mapped{tr: tr, cpu: cpu}
	err := tr.locked(func() (err error) {
		if tr.snap.armed > 0 {
			return fmt.Errorf("mmap of trace_pipe_raw: a snapshot may be taken: %w", syscall.EBUSY)
		}
		if r.m, err = tr.buf.Map(cpu); err == nil {
			tr.snap.maps++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Size implements tracefile.Mapping.
func (r *mapped) Size() (subbuf, all int) {
	_ = r.tr.locked(func() error {
		subbuf = r.tr.buf.SubbufSize()
		all = subbuf * (r.tr.buf.Pages(r.cpu) + 2) // the meta page, and the reader's
		return nil
	})
	return subbuf, all
}

// ReadAt implements tracefile.Mapping.
func (r *mapped) ReadAt(p []byte, offset int64) {
	clear(p)
	_ = r.tr.locked(func() error {
		if r.m == nil {
			return nil // it was closed
		}
		size := int64(r.tr.buf.SubbufSize())
		put := func(at int64, data []byte) {
			if from, to := max(at, offset), min(at+int64(len(data)), offset+int64(len(p))); from < to {
				copy(p[from-offset:], data[from-at:to-at])
			}
		}
		put(0, r.m.Meta())
		put(size*int64(1+r.m.ReaderID()), r.m.Reader())
		return nil
	})
}

// Refresh implements tracefile.Mapping.
func (r *mapped) Refresh() (changed bool) {
	_ = r.tr.locked(func() error {
		if r.m != nil {
			before := r.seen
			r.seen = r.m.Refresh()
			changed = r.seen != before
		}
		return nil
	})
	return changed
}

// GetReader implements tracefile.Mapping.
func (r *mapped) GetReader(ctx context.Context, wait bool) error {
	p := pipe{tr: r.tr, cpu: r.cpu}
	for {
		got := false
		err := r.tr.locked(func() error {
			if r.m == nil {
				return syscall.EBADF
			}
			if got = !wait || r.m.Pending() || !r.tr.buf.Empty(r.cpu) && r.tr.ready(r.cpu); got {
				r.m.GetReader()
				r.seen = r.m.Refresh()
			}
			return nil
		})
		if got || err != nil {
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// Unread implements tracefile.Mapping.
func (r *mapped) Unread(subbufs []byte) {
	_ = r.tr.locked(func() error {
		if r.m != nil {
			r.m.Unread(subbufs)
		}
		return nil
	})
}

// Pending implements tracefile.Mapping.
func (r *mapped) Pending() (pending bool) {
	_ = r.tr.locked(func() error {
		pending = r.m != nil && r.m.Pending()
		return nil
	})
	return pending
}

// Take implements tracefile.Mapping.
func (r *mapped) Take(p []byte) (n int, ok bool) {
	_ = r.tr.locked(func() error {
		if r.m != nil {
			n, ok = r.m.Take(p)
		}
		return nil
	})
	return n, ok
}

// Close implements tracefile.Mapping.
func (r *mapped) Close() {
	_ = r.tr.locked(func() error {
		if r.m != nil {
			r.m.Close()
			r.tr.snap.maps--
			r.m = nil
		}
		return nil
	})
}
