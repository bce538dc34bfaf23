package tracer

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"syscall"

	"ftracelab/ringbuf"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/option"
)

// A buffer starts with the smallest possible size. It gets its configured size when
// it is first used: when somebody selects a tracer, switches events, selects tasks
// for events, writes to snapshot or writes a size. Such a write can count even if it
// fails. A module that calls trace_printk counts, too.

// minBufferSize makes the ring buffer take the fewest sub-buffers it can, two.
const minBufferSize = 1

// maxBufferSizeKB limits the memory of this process that the buffers of one CPU may
// take when they are full. The buffers of all instances and their snapshots count
// together.
//
// Departure: a kernel fails with ENOMEM when its memory is used up; the
// emulation refuses above 1 GiB per CPU.
const maxBufferSizeKB = 1 << 20

// bufferRoom fails if the buffers of cpu would exceed maxBufferSizeKB once each buffer
// in but has size bytes. With cpu < 0 it fails if that is so for any CPU.
func (ft *Ftrace) bufferRoom(cpu int, size uint64, but ...*ringbuf.Buffer) error {
	for n := range ft.machine.CPUs() {
		if cpu >= 0 && n != cpu {
			continue
		}
		total := size * uint64(max(len(but), 1))
		count := func(buf *ringbuf.Buffer) {
			if !slices.Contains(but, buf) {
				total += uint64(buf.Size(n))
			}
		}
		for _, tr := range append([]*Instance{ft.top}, ft.instances...) {
			if tr == nil {
				continue // the top instance is just being made
			}
			if tr.expanded {
				count(tr.buf)
			}
			if tr.snap.allocated {
				count(tr.snap.buf)
			}
		}
		if size > maxBufferSizeKB<<10 || total > maxBufferSizeKB<<10 {
			return fmt.Errorf("%d kB more: the buffers of CPU %d would be larger than %d kB: %w", size>>10, n, maxBufferSizeKB, syscall.ENOMEM)
		}
	}
	return nil
}

// expand gives the buffer its configured size when it is first used.
//
// Kernel: tracing_update_buffers, kernel/trace/trace.c.
func (tr *Instance) expand() error {
	if tr.expanded {
		return nil
	}
	tr.expanded = true
	return tr.resizeBuffer(-1, uint64(tr.ft.cfg.BufferSizeKB)<<10)
}

// expanding returns a file like file; writing something to it counts as a use of the
// buffer.
func (tr *Instance) expanding(file *tracefile.File) *tracefile.File {
	f := *file
	f.Open = func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		h, err := file.Open(ctx, flags)
		if err != nil {
			return nil, err
		}
		return &expander{h, tr}, nil
	}
	return &f
}

// expander is an open file that expanding returned.
type expander struct {
	tracefile.Handle
	tr *Instance
}

func (f *expander) Write(ctx context.Context, p []byte) (int, error) {
	if len(p) > 0 {
		if err := f.tr.locked(f.tr.expand); err != nil {
			return 0, err
		}
	}
	return f.Handle.Write(ctx, p)
}

// showSize returns the text of buffer_size_kb. It is X if the CPUs differ.
//
// Kernel: tracing_entries_read, kernel/trace/trace.c.
func (tr *Instance) showSize(cpu int) string {
	if cpu >= 0 {
		return strconv.Itoa(tr.buf.SizeKB(cpu)) + "\n"
	}
	for n := range tr.buf.CPUs() {
		if tr.buf.SizeKB(n) != tr.buf.SizeKB(0) {
			return "X\n"
		}
	}
	return strconv.Itoa(tr.buf.SizeKB(0)) + tr.showExpanded(1) + "\n"
}

// showTotalSize is the text of buffer_total_size_kb.
func (tr *Instance) showTotalSize() string {
	total := 0
	for cpu := range tr.buf.CPUs() {
		total += tr.buf.SizeKB(cpu)
	}
	return strconv.Itoa(total) + tr.showExpanded(tr.buf.CPUs()) + "\n"
}

// showExpanded returns the size that the buffers of that many CPUs will have when
// they are used, as a note; it is empty if they have that size already.
func (tr *Instance) showExpanded(cpus int) string {
	if tr.expanded {
		return ""
	}
	return fmt.Sprintf(" (expanded: %d)", cpus*tr.ft.cfg.BufferSizeKB)
}

// writeSize handles a write to buffer_size_kb; cpu < 0 means all.
//
// Kernel: tracing_entries_write, kernel/trace/trace.c.
func (tr *Instance) writeSize(cpu int, s string) error {
	kb, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("buffer_size_kb: %w", err)
	}
	if kb == 0 {
		return fmt.Errorf("buffer_size_kb 0: %w", syscall.EINVAL)
	}
	return tr.resizeBuffer(cpu, kb<<10) // bits that are shifted out are lost, as in the kernel
}

// resizeBuffer gives the buffer of one CPU room for size bytes or, with cpu < 0, the
// buffers of all.
//
// Kernel: __tracing_resize_ring_buffer, kernel/trace/trace.c.
func (tr *Instance) resizeBuffer(cpu int, size uint64) error {
	tr.expanded = true
	// The kernel rounds up to whole sub-buffers; the sum can wrap around to zero.
	room := uint64(tr.buf.SubbufSize() - ringbuf.PageHeaderSize)
	if size+room-1 < size {
		size = minBufferSize
	}
	bufs := []*ringbuf.Buffer{tr.buf}
	if tr.snap.allocated {
		bufs = append(bufs, tr.snap.buf)
	}
	if err := tr.ft.bufferRoom(cpu, size, bufs...); err != nil {
		return err
	}
	for _, buf := range bufs {
		var err error
		if cpu < 0 {
			err = buf.ResizeAll(max(int(size), minBufferSize))
		} else {
			err = buf.Resize(cpu, max(int(size), minBufferSize))
		}
		if err != nil {
			return fmt.Errorf("buffer of %d kB: %w", size>>10, err)
		}
	}
	tr.wasEmptied(cpu)
	return nil
}

// maxSubbufPages is the largest sub-buffer, in pages of memory.
const maxSubbufPages = 128

// showSubbufSize is the text of buffer_subbuf_size_kb.
func (tr *Instance) showSubbufSize() string { return strconv.Itoa(tr.buf.SubbufSize()>>10) + "\n" }

// writeSubbufSize handles a write to buffer_subbuf_size_kb. The size in kB is rounded
// up to a number of pages that is a power of two. A change empties the buffer.
//
// Kernel: buffer_subbuf_size_write, kernel/trace/trace.c.
func (tr *Instance) writeSubbufSize(s string) error {
	kb, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("buffer_subbuf_size_kb: %w", err)
	}
	pages := int32((kb<<10 + pageSize - 1) / pageSize) // the kernel's is an int, too
	if pages < 1 || pages > maxSubbufPages {
		return fmt.Errorf("buffer_subbuf_size_kb %d: want 1 to %d: %w", kb, maxSubbufPages*pageSize>>10, syscall.EINVAL)
	}
	size := pageSize << bits.Len32(uint32(pages-1))
	if size == tr.buf.SubbufSize() {
		return nil
	}
	if err := tr.buf.SetSubbufSize(size); err != nil {
		return fmt.Errorf("buffer_subbuf_size_kb: %w", err)
	}
	tr.wasEmptied(-1)
	if tr.snap.allocated {
		return tr.snap.buf.SetSubbufSize(size)
	}
	return nil
}

const defaultPercent = 50

// pageSize is the size of a page of memory.
const pageSize = 4096

// writePercent handles a write to buffer_percent: how full the buffer must be before
// it wakes the waiting readers of trace_pipe_raw.
//
// Departure: in the kernel a reader that uses splice or poll waits until the buffer
// is as full as buffer_percent asks, and a reader that uses read wakes at any event.
// Here it is not known which of them a reader uses. All readers wake at any event
// until something is written to buffer_percent; from then on all wait until the
// buffer is that full.
//
// Kernel: buffer_percent_write, kernel/trace/trace.c.
func (tr *Instance) writePercent(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("buffer_percent: %w", err)
	}
	if n > 100 {
		return fmt.Errorf("buffer_percent %d: %w", n, syscall.EINVAL)
	}
	tr.percent, tr.waitsFull = n, true
	return nil
}

// ready reports whether a reader that waits on a CPU should wake. When tracing has
// stopped, readers wake for what is left, however little it is.
//
// Kernel: wait_on_pipe and ring_buffer_wait, kernel/trace.
func (tr *Instance) ready(cpu int) bool {
	return !tr.waitsFull || !tr.buf.Recording() || tr.buf.WatermarkHit(cpu, int(tr.percent))
}

// showTimestampMode is the text of timestamp_mode.
//
// Kernel: tracing_time_stamp_mode_show, kernel/trace/trace.c.
func (tr *Instance) showTimestampMode() string {
	if tr.buf.AbsoluteTime() {
		return "delta [absolute]\n"
	}
	return "[delta] absolute\n"
}

// freeBuffer is the file free_buffer. Closing it gives the buffer's memory back; with
// options/disable_on_free, recording stops first.
//
// Kernel: tracing_free_buffer_release, kernel/trace/trace.c.
func (tr *Instance) freeBuffer() tracefile.Node {
	file := tracefile.Marker("free_buffer", 0o200, func(_ context.Context, p []byte) (int, error) { return len(p), nil })
	free := *file
	free.Open = func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		h, err := file.Open(ctx, flags)
		if err != nil {
			return nil, err
		}
		return &openFile{h, func() {
			_ = tr.locked(func() error {
				if tr.opts.Has(option.DisableOnFree) {
					tr.buf.SetRecording(false)
				}
				return tr.resizeBuffer(-1, 0)
			})
		}}, nil
	}
	return &free
}
