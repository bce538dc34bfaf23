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

// A buffer begins with the smallest size there is and gets the one it was
// configured with when it is used: when somebody selects a tracer, switches events,
// says of which tasks, writes to snapshot or writes a size, whether that is an error
// or not; or when there is a module that calls trace_printk.

// minBufferSize makes the ring buffer take the fewest sub-buffers it can, two.
const minBufferSize = 1

// maxBufferSizeKB bounds what the buffers of one CPU may take of this process when
// they are full: those of all instances and their snapshots together.
//
// Departure: a kernel fails with ENOMEM when its memory is used up; the
// emulation refuses above 1 GiB per CPU.
const maxBufferSizeKB = 1 << 20

// bufferRoom fails if the buffers of cpu, or with cpu < 0 of one of all, would come to
// more than there may be, once those of but are given size bytes each.
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

// expanding is a file that is a use of the buffer as soon as something is written to it.
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

// expander is an open file of that kind.
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

// showSize is the text of buffer_size_kb; X if the CPUs differ.
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

// showExpanded says what so many CPUs' buffers will be when they are used.
func (tr *Instance) showExpanded(cpus int) string {
	if tr.expanded {
		return ""
	}
	return fmt.Sprintf(" (expanded: %d)", cpus*tr.ft.cfg.BufferSizeKB)
}

// writeSize is a write to buffer_size_kb; cpu < 0 means all.
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
	return tr.resizeBuffer(cpu, kb<<10) // bits that are shifted out are gone, as in the kernel
}

// resizeBuffer gives one CPU's buffer, or with cpu < 0 all, room for size bytes.
//
// Kernel: __tracing_resize_ring_buffer, kernel/trace/trace.c.
func (tr *Instance) resizeBuffer(cpu int, size uint64) error {
	tr.expanded = true
	// The kernel rounds up to whole sub-buffers, which can wrap around to none.
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

// writeSubbufSize is a write to buffer_subbuf_size_kb: a size in kB, of which
// the next power of two pages is taken. A change empties the buffer.
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

// writePercent is a write to buffer_percent: how full the buffer is to be before
// readers of trace_pipe_raw wake that wait.
//
// Departure: in the kernel a reader that uses splice or poll waits for it, and one that
// uses read wakes for any event. Here none can tell what a reader uses: all wake for any
// event until something is written to buffer_percent, and then all wait for that.
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

// ready reports whether a reader that waits on a CPU is to wake. What is left when tracing
// has stopped does not wait for more.
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

// freeBuffer is free_buffer: closing it gives the buffer's memory back, and with
// options/disable_on_free stops the recording first.
//
// Kernel: tracing_free_buffer_release, kernel/trace/trace.c.
func (tr *Instance) freeBuffer() tracefile.Node {
	file := tracefile.Marker("free_buffer", 0o200, func(_ context.Context, p []byte) (int, error) { return len(p), nil })
	return &tracefile.File{Name: file.Name, Mode: file.Mode, Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
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
	}}
}
