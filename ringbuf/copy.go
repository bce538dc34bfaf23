package ringbuf

import (
	"slices"
	"sync/atomic"
)

// Copy makes a buffer that holds what b holds, byte for byte, and goes on by itself with a
// clock of its own. Hooks are not copied, and neither are readers that wait.
//
// It is for the goroutine that writes, between two events, while nobody reads. It panics if
// an event is reserved and not yet ended, and if a CPU is mapped.
func (b *Buffer) Copy(clock func(cpu int) uint64) *Buffer {
	to := &Buffer{
		cpus: make([]atomic.Pointer[cpuBuffer], len(b.cpus)), parking: make([]parking, len(b.parking)),
		clock: clock, subbufSize: b.subbufSize, maxData: b.maxData, absolute: b.absolute,
	}
	to.off.Store(b.off.Load())
	to.overwrite.Store(b.overwrite.Load())
	for cpu := range b.cpus {
		to.cpus[cpu].Store(b.readers(cpu).copyTo(to))
		to.parking[cpu] = parking{parked: make(chan struct{}), resume: make(chan struct{})}
	}
	return to
}

// copyTo copies the ring of a CPU, whose readers' lock it gives back. Spare memory is copied
// as well, since a page that takes it begins with what was written there before.
func (c *cpuBuffer) copyTo(b *Buffer) *cpuBuffer {
	defer c.lock.Unlock()
	c.settle()
	if c.committing != 0 || c.mapping != nil {
		panic("ringbuf: invariant: Copy of a ring that is being written or is mapped")
	}
	to := &cpuBuffer{
		buf: b, cpu: c.cpu, capacity: c.capacity, nrPages: c.nrPages, table: make([]*page, len(c.table)),
		context: c.context, nest: c.nest, commits: c.commits, beforeStamp: c.beforeStamp, writeStamp: c.writeStamp,
		headSet: c.headSet, serial: c.serial, ledger: c.ledger, open: c.open,
		read: c.read, readStamp: c.readStamp, readEvents: c.readEvents, readBytes: c.readBytes,
		lastOverrun: c.lastOverrun, lost: c.lost, generation: c.generation, freeIDs: slices.Clone(c.freeIDs),
	}
	to.spare = c.spare.copy()
	to.lastSpare = to.spare
	for s := c.spare.next.Load(); s != nil; s = s.next.Load() {
		next := s.copy()
		to.lastSpare.next.Store(next)
		to.lastSpare = next
	}
	for id, p := range c.table {
		if p != nil {
			to.table[id] = p.copy()
		}
	}
	to.tail, to.commitPage = to.table[c.tail.id], to.table[c.commitPage.id]
	to.commitSub, to.data = to.commitPage.sub.Load(), to.tail.sub.Load().data
	to.head, to.reader = to.table[c.head.id], to.table[c.reader.id]
	to.control.Store(c.control.Load())
	for _, counter := range []struct{ to, from *atomic.Uint64 }{
		{&to.commitAt, &c.commitAt},
		{&to.overrun, &c.overrun},
		{&to.overrunBytes, &c.overrunBytes},
		{&to.keptBytes, &c.keptBytes},
		{&to.commitOverrun, &c.commitOverrun},
		{&to.dropped, &c.dropped},
		{&to.pagesTouched, &c.pagesTouched},
		{&to.pagesLost, &c.pagesLost},
		{&to.pagesRead, &c.pagesRead},
	} {
		counter.to.Store(counter.from.Load())
	}
	return to
}

func (p *page) copy() *page {
	to := &page{id: p.id, write: p.write, entries: p.entries, realEnd: p.realEnd}
	to.next.Store(p.next.Load())
	to.prev.Store(p.prev.Load())
	to.serial.Store(p.serial.Load())
	if s := p.sub.Load(); s != nil {
		to.sub.Store(s.copy())
	}
	return to
}

// copy does not copy the link to the next spare memory.
func (s *subbuf) copy() *subbuf {
	to := &subbuf{data: slices.Clone(s.data)}
	to.commit.Store(s.commit.Load())
	to.stamp.Store(s.stamp.Load())
	to.entriesBefore.Store(s.entriesBefore.Load())
	to.bytesBefore.Store(s.bytesBefore.Load())
	return to
}
