package ringbuf

import (
	"errors"
	"fmt"
	"math/bits"
	"syscall"
)

// Context is the kind of context that writes. On one CPU a context can be
// interrupted by a higher one only, and is not resumed before that has ended.
type Context uint8

const (
	Normal Context = iota
	SoftIRQ
	IRQ
	NMI
)

// What Reserve may answer.
var (
	ErrFull      = errors.New("ringbuf: no room and overwriting is off")
	ErrTooBig    = errors.New("ringbuf: event larger than a sub-buffer")
	ErrRecursion = errors.New("ringbuf: context already writes")
	ErrDisabled  = errors.New("ringbuf: recording is disabled")

	// ErrCommitOverrun: contexts nested so deep, or wrote so much, that the
	// ring came round to an event that is not finished.
	ErrCommitOverrun = errors.New("ringbuf: the ring is full of unfinished events")
)

// Config says what a Buffer is like. The zero value of a field is its default,
// but for CPUs and Clock.
type Config struct {
	CPUs         int                  // how many; at least 1
	Size         int                  // bytes of data per CPU (buffer_size_kb · 1024); at least two sub-buffers are made
	SubbufSize   int                  // bytes of a sub-buffer with its 16-byte header, a power of two from 64 to 2^20; 0 means 4096
	NoOverwrite  bool                 // when full keep the oldest events instead of the newest
	AbsoluteTime bool                 // every event carries an absolute stamp (timestamp_mode)
	Clock        func(cpu int) uint64 // nanoseconds, or a counter; never goes backwards on one CPU
}

func (cfg Config) validate() error {
	switch {
	case cfg.CPUs < 1:
		return fmt.Errorf("ringbuf: Config.CPUs is %d: %w", cfg.CPUs, syscall.EINVAL)
	case cfg.Size < 0:
		return fmt.Errorf("ringbuf: Config.Size is %d: %w", cfg.Size, syscall.EINVAL)
	case cfg.Clock == nil:
		return fmt.Errorf("ringbuf: Config.Clock is nil: %w", syscall.EINVAL)
	}
	if err := validSubbufSize(cfg.SubbufSize); err != nil {
		return err
	}
	return checkPages(pagesFor(cfg.Size, cfg.SubbufSize))
}

func validSubbufSize(size int) error {
	if size < 64 || size > maxSubbufSize || bits.OnesCount(uint(size)) != 1 {
		return fmt.Errorf("ringbuf: sub-buffer size %d: %w", size, syscall.EINVAL)
	}
	return nil
}

// maxPages bounds the sub-buffers of one CPU: 16 GB with the default size.
const maxPages = 1 << 22

func checkPages(n int) error {
	if n > maxPages {
		return fmt.Errorf("ringbuf: %d sub-buffers for one CPU: %w", n, syscall.ENOMEM)
	}
	return nil
}

// pagesFor is the number of sub-buffers that hold size bytes of data.
func pagesFor(size, subbufSize int) int {
	capacity := subbufSize - PageHeaderSize
	n := size / capacity
	if size%capacity != 0 {
		n++
	}
	return max(n, 2)
}

// A Buffer is a set of per-CPU rings of sub-buffers.
//
// One goroutine at a time may use the ring of one CPU; rings of different CPUs
// are independent. What concerns all CPUs (SetRecording, SetOverwrite,
// SetClock, ResizeAll, SetSubbufSize) must be alone.
//
// Kernel: struct trace_buffer, kernel/trace/ring_buffer.c.
type Buffer struct {
	cpus       []*cpuBuffer
	clock      func(cpu int) uint64
	subbufSize int
	maxData    int // payload of the biggest event
	overwrite  bool
	absolute   bool
	disabled   bool // tracing_on is 0
}

// cpuBuffer is the ring of one CPU.
//
// Kernel: struct ring_buffer_per_cpu, kernel/trace/ring_buffer.c.
type cpuBuffer struct {
	_ [64]byte // its hot words share no cache line with another CPU's

	buf      *Buffer
	cpu      int
	capacity int // of a page, without its header
	disabled int // recording is off while above 0
	hook     func(point)

	// Where the three ends of the ring are. The reader page is outside of it;
	// its next still points into it, which is how a writer that is on it gets
	// back into the ring.
	tail       *page // the writer is here
	commitPage *page // the last finished event is here
	head       *page // the oldest page of the ring
	reader     *page
	nrPages    int // of the ring, so without the reader page

	// The writer's own: contexts nest on it.
	context     uint64 // who is writing, see enter
	nest        uint   // shift of the bits in context, see NestStart
	committing  int    // reservations not yet ended
	open        [maxNest]openEvent
	commits     uint64 // reservations ever begun
	beforeStamp uint64 // time of the last attempt to write
	writeStamp  uint64 // time of the last event written; the next delta starts here

	entries       uint64 // data events committed
	entriesBytes  uint64 // bytes reserved, less those overwritten
	overrun       uint64 // data events overwritten
	commitOverrun uint64
	dropped       uint64
	pagesTouched  uint64
	pagesLost     uint64

	// The reader's own.
	readStamp   uint64
	readEvents  uint64
	readBytes   uint64
	pagesRead   uint64
	lastOverrun uint64 // overrun when the reader page was taken
	lost        uint64 // events lost just before the reader page, not yet told

	generation uint64 // grows when pages go otherwise than by being read; tells iterators
	pinned     int    // Resize is refused while above 0

	spare  [][]byte // data of emptied pages, for pages the writer will enter
	ledger ledger
}

// New makes an empty buffer that records.
//
// Memory for a sub-buffer is taken when the writer first enters it and is used
// again when a reader has emptied it, so that a big ring that is drained as it
// fills stays small.
//
// Errors wrap EINVAL (a field of cfg makes no sense; it is named) or ENOMEM.
//
// Kernel: alloc_buffer, kernel/trace/ring_buffer.c.
func New(cfg Config) (*Buffer, error) {
	if cfg.SubbufSize == 0 {
		cfg.SubbufSize = 4096
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	b := &Buffer{
		cpus:      make([]*cpuBuffer, cfg.CPUs),
		clock:     cfg.Clock,
		overwrite: !cfg.NoOverwrite,
		absolute:  cfg.AbsoluteTime,
	}
	b.setSubbufSize(cfg.SubbufSize)
	for cpu := range b.cpus {
		b.cpus[cpu] = &cpuBuffer{buf: b, cpu: cpu}
		b.cpus[cpu].rebuild(pagesFor(cfg.Size, cfg.SubbufSize))
	}
	return b, nil
}

func (b *Buffer) setSubbufSize(size int) {
	b.subbufSize = size
	b.maxData = size - PageHeaderSize - minEventSize
}

// rebuild gives the CPU a ring of n empty pages of the buffer's size.
func (c *cpuBuffer) rebuild(n int) {
	c.capacity = c.buf.subbufSize - PageHeaderSize
	c.nrPages = n
	c.spare = nil
	c.head = ring(n)
	c.tail, c.commitPage = c.head, c.head
	c.reader = &page{}
	c.provide(c.tail)
}

// provide gives a page that the writer enters memory for its data.
func (c *cpuBuffer) provide(p *page) {
	if p.data != nil {
		return
	}
	if n := len(c.spare); n > 0 {
		p.data, c.spare[n-1] = c.spare[n-1], nil
		c.spare = c.spare[:n-1]
		return
	}
	p.data = make([]byte, c.capacity)
}

// release takes the memory of an emptied page for another one.
func (c *cpuBuffer) release(p *page) {
	if p.data != nil {
		c.spare = append(c.spare, p.data)
		p.data = nil
	}
}

// CPUs is the number of CPUs.
func (b *Buffer) CPUs() int { return len(b.cpus) }

// SubbufSize is the size of a sub-buffer with its header.
func (b *Buffer) SubbufSize() int { return b.subbufSize }

// MaxEventSize is the biggest payload that Reserve accepts.
//
// Departure: with absolute stamps the kernel names 8 bytes more than it accepts,
// since what it compares with the limit includes the event's header.
//
// Kernel: ring_buffer_max_event_size, kernel/trace/ring_buffer.c.
func (b *Buffer) MaxEventSize() int {
	if !b.absolute {
		return b.maxData
	}
	n := b.maxData - stampSize - headerSize
	if n > maxSmallData {
		n -= lengthWord
	}
	return n
}

// Empty reports whether a reader would find nothing on cpu.
//
// Kernel: rb_per_cpu_empty, kernel/trace/ring_buffer.c.
func (b *Buffer) Empty(cpu int) bool { return b.cpus[cpu].empty() }

func (c *cpuBuffer) empty() bool {
	if c.reader.read != c.reader.committed() {
		return false
	}
	if c.commitPage == c.reader {
		return true
	}
	return c.commitPage == c.head && c.commitPage.committed() == 0
}

// Reset empties the ring of cpu and sets its counters to zero. It panics
// between a Reserve and its end.
//
// Kernel: rb_reset_cpu, kernel/trace/ring_buffer.c.
func (b *Buffer) Reset(cpu int) {
	c := b.cpus[cpu]
	if c.committing != 0 {
		panic("ringbuf: invariant: reset while an event is being written")
	}
	for p := c.head.next; p != c.head; p = p.next {
		p.clear()
		c.release(p)
	}
	c.head.clear()
	c.reader.clear()
	c.release(c.reader)
	c.tail, c.commitPage = c.head, c.head
	c.provide(c.tail)

	c.beforeStamp, c.writeStamp = 0, 0
	c.commits = 0
	c.entries, c.entriesBytes, c.overrun, c.commitOverrun, c.dropped = 0, 0, 0, 0, 0
	c.pagesTouched, c.pagesLost, c.pagesRead = 0, 0, 0
	c.readEvents, c.readBytes, c.lastOverrun, c.lost = 0, 0, 0, 0
	c.generation++
	c.ledger = ledger{}
}

// SetRecording switches all CPUs (the file tracing_on). Switched off, Reserve
// answers ErrDisabled; events already reserved can be committed.
//
// Kernel: ring_buffer_record_off and _on, kernel/trace/ring_buffer.c.
func (b *Buffer) SetRecording(on bool) { b.disabled = !on }

// Recording tells what SetRecording set.
func (b *Buffer) Recording() bool { return !b.disabled }

// SetCPURecording switches one CPU (tracing_cpumask).
//
// Departure: a switch; the kernel counts, and wants as many enables as disables.
//
// Kernel: ring_buffer_record_disable_cpu, kernel/trace/ring_buffer.c.
func (b *Buffer) SetCPURecording(cpu int, on bool) {
	b.cpus[cpu].disabled = 1
	if on {
		b.cpus[cpu].disabled = 0
	}
}

// CPURecording tells what SetCPURecording set.
func (b *Buffer) CPURecording(cpu int) bool { return b.cpus[cpu].disabled == 0 }

// SetOverwrite chooses what a full ring keeps: the newest events or, with on
// false, the oldest (the option overwrite).
//
// Kernel: ring_buffer_change_overwrite, kernel/trace/ring_buffer.c.
func (b *Buffer) SetOverwrite(on bool) { b.overwrite = on }

// SetClock chooses another clock. Times of two clocks cannot be compared: the
// caller resets the buffer, as trace_clock does.
//
// Kernel: ring_buffer_set_clock, kernel/trace/ring_buffer.c.
func (b *Buffer) SetClock(clock func(cpu int) uint64) { b.clock = clock }

// SetAbsoluteTime makes every event carry an absolute stamp (timestamp_mode).
//
// Kernel: ring_buffer_set_time_stamp_abs, kernel/trace/ring_buffer.c.
func (b *Buffer) SetAbsoluteTime(on bool) { b.absolute = on }

// AbsoluteTime tells what SetAbsoluteTime or Config set.
func (b *Buffer) AbsoluteTime() bool { return b.absolute }
