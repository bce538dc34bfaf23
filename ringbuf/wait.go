package ringbuf

import (
	"context"
	"fmt"
	"sync"
	"syscall"
)

// Bits of cpuBuffer.waiting: what kind of readers wait for this CPU. The writer
// loads the word after the commit; a reader stores it before it looks at the
// commit for the last time. So at least one of the two sees the other.
//
// Kernel: waiters_pending and full_waiters_pending, kernel/trace/ring_buffer.c.
const (
	waitAny  = 1 << iota // for any event
	waitFull             // for a part of the pages
	waitAll              // for an event on any CPU
	waitTurn             // the percentage may be reached: look at the next commit
)

// wakeAtCommit is what a commit looks at.
const wakeAtCommit = waitAny | waitAll | waitTurn

// waitQueue is a queue of readers that sleep. Closing a channel wakes them all
// at once.
type waitQueue struct {
	lock  sync.Mutex
	woken chan struct{} // nil while nobody waits
	kicks int           // how often Wake has been called
}

func (q *waitQueue) join() (woken <-chan struct{}, kicks int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.woken == nil {
		q.woken = make(chan struct{})
	}
	return q.woken, q.kicks
}

func (q *waitQueue) wake(kicks int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.kicks += kicks
	if q.woken != nil {
		close(q.woken)
		q.woken = nil
	}
}

// AllCPUs in Wait: an event on any CPU.
const AllCPUs = -1

// Wait blocks until percent of the pages of cpu hold data (the file
// buffer_percent; 0: until there is any event), until Wake is called, or until
// the context ends. It returns nil, or the context's error. A reader that has
// waited must still look whether there is something to read: another reader may
// have taken it.
//
// With AllCPUs it waits for an event on any of them, whatever percent is.
//
// A waiting reader does not poll. The writer looks at one word after each
// commit. That word is stored only when somebody begins to wait, or when the
// writer has left a page while somebody waits for a percentage.
//
// Errors: EINVAL wrapped (percent is not 0 to 100), or ctx.Err().
//
// Kernel: ring_buffer_wait, rb_wait_cond, kernel/trace/ring_buffer.c.
func (b *Buffer) Wait(ctx context.Context, cpu, percent int) error {
	if percent < 0 || percent > 100 {
		return fmt.Errorf("ringbuf: wait for %d%% of the pages: %w", percent, syscall.EINVAL)
	}
	kicked := -1
	for ctx.Err() == nil {
		woken, kicks, hit := b.watch(cpu, percent)
		if hit || kicked >= 0 && kicks != kicked {
			return nil
		}
		kicked = kicks
		select {
		case <-woken:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// watch joins the queue of readers that wait for percent of cpu, tells the
// writer, and then looks whether the wait is over already.
func (b *Buffer) watch(cpu, percent int) (woken <-chan struct{}, kicks int, hit bool) {
	if cpu == AllCPUs {
		woken, kicks = b.all.join()
		for cpu := range b.cpus {
			c := b.readers(cpu)
			c.waiting.Or(waitAll)
			hit = hit || !c.empty()
			c.lock.Unlock()
		}
		return woken, kicks, hit
	}
	c := b.readers(cpu)
	defer c.lock.Unlock()
	if percent == 0 {
		woken, kicks = c.waitAny.join()
		c.waiting.Or(waitAny)
	} else {
		woken, kicks = c.waitFull.join()
		if c.waiting.Load()&waitFull == 0 || c.shortest.Load() > int32(percent) {
			c.shortest.Store(int32(percent))
		}
		c.waiting.Or(waitFull | waitTurn)
	}
	return woken, kicks, c.watermarkHit(percent)
}

// Wake makes every Wait for cpu or for all CPUs return, as switching tracing
// off does.
//
// Kernel: ring_buffer_wake_waiters, kernel/trace/ring_buffer.c.
func (b *Buffer) Wake(cpu int) {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	c.wakeAll()
}

func (c *cpuBuffer) wakeAll() {
	c.waitAny.wake(1)
	c.waitFull.wake(1)
	c.buf.all.wake(1)
}

// wakeAfterCommit wakes the readers that wait for any event and, if the
// smallest percentage that is waited for is reached, those that wait for a
// percentage. A percentage can be reached only when a page has been left and an
// event is on the next, so it is checked in the first commit after that.
//
// Kernel: rb_wakeups, kernel/trace/ring_buffer.c.
func (c *cpuBuffer) wakeAfterCommit() {
	if c.committing != 0 {
		return // nothing to be read yet
	}
	kinds := c.waiting.And(^uint32(wakeAtCommit))
	if kinds&waitAny != 0 {
		c.waitAny.wake(0)
	}
	if kinds&waitAll != 0 {
		c.buf.all.wake(0)
	}
	if kinds&waitTurn != 0 && c.fullHit(int(c.shortest.Load())) {
		c.waiting.And(^uint32(waitFull))
		c.waitFull.wake(0)
	}
}
