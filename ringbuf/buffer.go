package ringbuf

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
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

// Errors that Reserve returns.
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
	CPUs         int                  // how many; 1 to 8192
	Size         int                  // bytes of data per CPU (buffer_size_kb · 1024); at least two sub-buffers are made
	SubbufSize   int                  // bytes of a sub-buffer with its 16-byte header, a power of two from 64 to 2^20; 0 means 4096
	NoOverwrite  bool                 // when full keep the oldest events instead of the newest
	AbsoluteTime bool                 // every event carries an absolute stamp (timestamp_mode)
	Clock        func(cpu int) uint64 // nanoseconds, or a counter; never goes backwards on one CPU
}

func (cfg Config) validate() error {
	switch {
	case cfg.CPUs < 1 || cfg.CPUs > maxCPUs:
		return fmt.Errorf("ringbuf: Config.CPUs is %d: %w", cfg.CPUs, syscall.EINVAL)
	case cfg.Size < 0:
		return fmt.Errorf("ringbuf: Config.Size is %d: %w", cfg.Size, syscall.EINVAL)
	case cfg.Clock == nil:
		return fmt.Errorf("ringbuf: Config.Clock is nil: %w", syscall.EINVAL)
	}
	if err := validSubbufSize(cfg.SubbufSize); err != nil {
		return err
	}
	n := pagesFor(cfg.Size, cfg.SubbufSize)
	if n > maxPages/cfg.CPUs {
		return fmt.Errorf("ringbuf: %d sub-buffers for each of %d CPUs: %w", n, cfg.CPUs, syscall.ENOMEM)
	}
	return nil
}

func validSubbufSize(size int) error {
	if size < 64 || size > maxSubbufSize || bits.OnesCount(uint(size)) != 1 {
		return fmt.Errorf("ringbuf: sub-buffer size %d: %w", size, syscall.EINVAL)
	}
	return nil
}

const (
	maxPages = 1 << 22 // sub-buffers of one CPU, and of all in New: 16 GB with the default size
	maxCPUs  = 8192    // the most that a kernel for x86 can be built for
)

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
// One goroutine at a time writes to the ring of one CPU: Reserve, Commit,
// Discard, NestStart, NestEnd and Ledger are that goroutine's. Any others may
// read beside it: Peek, Consume, ReadPage, Iter, Stats, Wait, State, Map. What
// changes rings (Reset, Resize, SetSubbufSize, SwapCPU, SetClock,
// SetAbsoluteTime) stops a writer that has called Online; of one that has not,
// the caller makes sure that it does not write just then. SetRecording,
// SetCPURecording, Disable, Enable and SetOverwrite may be called at any time.
//
// Kernel: struct trace_buffer, kernel/trace/ring_buffer.c.
type Buffer struct {
	cpus       []atomic.Pointer[cpuBuffer]
	clock      func(cpu int) uint64
	subbufSize int
	maxData    int // payload of the biggest event
	absolute   bool
	off        atomic.Uint32 // recordOff while tracing_on is 0; and disabled for each Disable
	overwrite  atomic.Bool

	control sync.Mutex // held by whoever stops writers
	parking []parking  // by CPU
	all     waitQueue  // readers that wait for any CPU
}

// cpuBuffer is the ring of one CPU. Its words are grouped by who stores them.
// No two groups share a cache line, and no two CPUs do.
//
// Kernel: struct ring_buffer_per_cpu, kernel/trace/ring_buffer.c.
type cpuBuffer struct {
	_ [64]byte

	// Seldom stored, loaded by all.
	buf      *Buffer
	cpu      int
	capacity int           // of a page, without its header
	control  atomic.Uint32 // see control.go
	waiting  atomic.Uint32 // see wait.go
	shortest atomic.Int32  // percentage waited for
	hook     func(Point)
	table    []*page // by id
	nrPages  int     // of the ring, so without the reader page

	_ [64]byte

	// The writer's own; contexts nest on it. Since they end in the opposite
	// order they begin, as interrupts do, plain words are enough.
	tail        *page   // the writer is here
	commitPage  *page   // the last finished event is here
	commitSub   *subbuf // of commitPage
	data        []byte  // of tail
	plain       plain
	context     uint64  // who is writing, see enter
	nest        uint    // shift of the bits in context, see NestStart
	committing  int     // reservations not yet ended
	commits     uint64  // reservations begun inside of others
	beforeStamp uint64  // time of the last attempt to write
	writeStamp  uint64  // time of the last event written; the next delta starts here
	headSet     bool    // belongs to the update in progress, see overwriteHead
	serial      uint64  // pages ever entered
	spare       *subbuf // memory that has been spare for longest, see provide
	ledger      ledger
	open        [maxNest]openEvent

	_ [64]byte

	// Stored by the writer when it changes pages or refuses an event, loaded by
	// readers.
	commitAt      atomic.Uint64 // serial and id of commitPage, see commitSeenAt
	overrun       atomic.Uint64 // data events overwritten
	overrunBytes  atomic.Uint64 // bytes of the pages that held them
	keptBytes     atomic.Uint64 // bytes of discarded events that still count
	commitOverrun atomic.Uint64
	dropped       atomic.Uint64
	pagesTouched  atomic.Uint64
	pagesLost     atomic.Uint64

	_ [64]byte

	// The readers', under their lock. The reader page is outside of the ring;
	// its next still points into it, which is how a writer that is on it gets
	// back into the ring.
	lock        sync.Mutex
	first       *page // where the ring begins when it is emptied: before the page that the reader took last
	head        *page // the head, or a page before it: a hint, see findHead
	reader      *page
	read        int // index of the next unread byte on the reader page
	readStamp   uint64
	readEvents  uint64
	readBytes   uint64
	pagesRead   atomic.Uint64 // the writer looks at it
	lastOverrun uint64        // events lost before the reader page
	lost        uint64        // events lost just before the reader page, not yet told
	generation  uint64        // grows when pages go other than by being read; iterators compare it
	pinned      int           // Resize is refused while above 0
	lastSpare   *subbuf       // memory that has become spare last
	freeIDs     []uint32
	mapping     *Mapping // see Map
	readHook    func(ReadPoint)
	waitAny     waitQueue
	waitFull    waitQueue
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
		cpus:     make([]atomic.Pointer[cpuBuffer], cfg.CPUs),
		parking:  make([]parking, cfg.CPUs),
		clock:    cfg.Clock,
		absolute: cfg.AbsoluteTime,
	}
	b.overwrite.Store(!cfg.NoOverwrite)
	b.setSubbufSize(cfg.SubbufSize)
	for cpu := range b.cpus {
		c := &cpuBuffer{buf: b, cpu: cpu}
		c.rebuild(pagesFor(cfg.Size, cfg.SubbufSize))
		b.cpus[cpu].Store(c)
		b.parking[cpu] = parking{parked: make(chan struct{}), resume: make(chan struct{})}
	}
	return b, nil
}

func (b *Buffer) setSubbufSize(size int) {
	b.subbufSize = size
	b.maxData = size - PageHeaderSize - minEventSize
}

// writer is the ring of cpu for the goroutine that writes it.
func (b *Buffer) writer(cpu int) *cpuBuffer { return b.cpus[cpu].Load() }

// readers is the ring of cpu with the readers' lock taken.
func (b *Buffer) readers(cpu int) *cpuBuffer {
	for {
		c := b.cpus[cpu].Load()
		c.lock.Lock()
		if b.cpus[cpu].Load() == c {
			return c
		}
		c.lock.Unlock() // swapped meanwhile
	}
}

// rebuild gives the CPU a ring of n empty pages of the buffer's size.
func (c *cpuBuffer) rebuild(n int) {
	c.capacity = c.buf.subbufSize - PageHeaderSize
	c.nrPages = n
	c.noSpare()
	c.table, c.freeIDs = make([]*page, 0, n+1), nil
	c.reader = c.newPages(1)
	c.head = c.newPages(n)
	c.first = c.head
	c.rewind()
}

// rewind puts the writer on the head page of a ring without data.
func (c *cpuBuffer) rewind() {
	before := c.before(c.head)
	before.next.Store(linkTo(c.head, linkHead))
	c.read = 0
	c.enterPage(c.head)
	c.commitPage, c.commitSub = c.tail, c.tail.sub.Load()
	c.commitSub.entriesBefore.Store(0)
	c.commitSub.bytesBefore.Store(0)
	c.commitAt.Store(c.tail.serial.Load()<<idBits | uint64(c.tail.id))
	c.pagesTouched.Store(0)
	c.generation++
}

// CPUs is the number of CPUs.
func (b *Buffer) CPUs() int { return len(b.cpus) }

// SubbufSize is the size of a sub-buffer with its header.
func (b *Buffer) SubbufSize() int { return b.subbufSize }

// MaxEventSize is the biggest payload that Reserve accepts.
//
// Departure: with absolute stamps the kernel names 8 bytes more than it
// accepts, because the size that it compares with the limit includes the
// event's header.
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
func (b *Buffer) Empty(cpu int) bool {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	return c.empty()
}

func (c *cpuBuffer) empty() bool {
	if c.read != c.reader.committed() {
		return false
	}
	commit := c.commitSeenAt()
	if commit == c.reader {
		return true
	}
	return commit == c.findHead() && commit.committed() == 0
}

// Reset empties the ring of cpu and sets its counters to zero. It panics if an
// event is reserved and not yet ended.
//
// Kernel: ring_buffer_reset_cpu, rb_reset_cpu, kernel/trace/ring_buffer.c.
func (b *Buffer) Reset(cpu int) {
	b.stop(cpu, cpu+1)
	defer b.start(cpu, cpu+1)
	c := b.readers(cpu)
	defer c.lock.Unlock()
	c.reset()
}

func (c *cpuBuffer) reset() {
	if c.committing != 0 {
		panic("ringbuf: invariant: reset while an event is being written")
	}
	head := c.findHead()
	p := head
	for range c.nrPages {
		c.emptyPage(p)
		p = c.after(p)
	}
	c.emptyPage(c.reader)
	c.before(head).next.Store(linkTo(head, linkNormal))
	c.head = c.first
	c.rewind()

	c.beforeStamp, c.writeStamp = 0, 0
	c.commits = 0
	c.ledger = ledger{}
	for _, n := range []*atomic.Uint64{
		&c.overrun, &c.overrunBytes, &c.keptBytes, &c.commitOverrun, &c.dropped, &c.pagesLost,
	} {
		n.Store(0)
	}
	c.pagesRead.Store(0)
	c.readEvents, c.readBytes, c.lastOverrun, c.lost = 0, 0, 0, 0
	if m := c.mapping; m != nil {
		m.queue = nil
		m.show(c, 0)
		m.update(c)
	}
}
