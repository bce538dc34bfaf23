package ringbuf

// Bits of cpuBuffer.control. A writer looks at them, in one load, when its
// outermost event begins.
const (
	recordOff = 1 << iota // see SetCPURecording
	stopping              // somebody waits until the writer pauses
	online                // a goroutine of its own is this CPU, see Online
)

// Online says that from now on the calling goroutine is cpu: it alone writes
// there, and others may change the ring meanwhile. What they ask for (Reset,
// Resize, SetSubbufSize, SwapCPU, SetClock, SetAbsoluteTime) waits until the
// goroutine begins its next event, calls Idle or calls Offline, and the
// goroutine is held up there until the change is done. So it must not ask for
// such a change itself, and it must call Offline before it blocks for long.
//
// The ring of a CPU that is not online is changed at once, by whoever asks; its
// writer must not be in the middle of a call then. Writing and reading are the
// same in both cases.
//
// Departure: a kernel runs ring_buffer_resize on the CPU itself by a work item
// and waits for writers with synchronize_rcu. The effect is the same.
func (b *Buffer) Online(cpu int) {
	for {
		c := b.writer(cpu)
		old := c.control.Load()
		switch {
		case old&online != 0:
			panic("ringbuf: invariant: Online of a CPU that is online")
		case old&stopping != 0: // being changed: the lock is free when it is done
			b.control.Lock()
			b.control.Unlock() //nolint:staticcheck // nothing to do inside
		case c.control.CompareAndSwap(old, old|online):
			if b.writer(cpu) == c {
				return
			}
			if c.control.And(^uint32(online))&stopping != 0 { // swapped meanwhile
				b.park(cpu)
			}
		}
	}
}

// Idle lets callers that wait to change the ring of the calling goroutine's CPU
// go ahead.
func (b *Buffer) Idle(cpu int) {
	c := b.writer(cpu)
	if c.control.Load()&(stopping|online) != stopping|online {
		return
	}
	if c.settle(); c.committing == 0 {
		b.park(cpu)
	}
}

// Offline ends what Online began.
func (b *Buffer) Offline(cpu int) {
	c := b.writer(cpu)
	c.settle()
	if c.committing != 0 {
		panic("ringbuf: invariant: Offline while an event is being written")
	}
	old := c.control.And(^uint32(online))
	switch {
	case old&online == 0:
		panic("ringbuf: invariant: Offline without Online")
	case old&stopping != 0:
		b.park(cpu)
	}
}

// parking is where the writer of a CPU waits while somebody changes its ring.
type parking struct {
	parked, resume chan struct{}
	paused         bool // whoever stopped it must resume it
}

// park holds the writer up while somebody changes the ring. The channels order
// what both do: between the two messages the ring's plain words belong to
// whoever changes it.
func (b *Buffer) park(cpu int) {
	b.parking[cpu].parked <- struct{}{}
	<-b.parking[cpu].resume
}

// attend is the slow way into Reserve: recording may be off, or somebody waits
// to change the ring.
func (b *Buffer) attend(cpu int) (*cpuBuffer, error) {
	c := b.writer(cpu)
	c.settle()
	for c.committing == 0 && c.control.Load()&(stopping|online) == stopping|online {
		b.park(cpu)
		c = b.writer(cpu)
	}
	if b.off.Load()|c.control.Load()&recordOff != 0 {
		return c, ErrDisabled
	}
	return c, nil
}

// stop stops the writers of the CPUs from first up to end, and keeps others
// from stopping any until start.
func (b *Buffer) stop(first, end int) {
	b.control.Lock()
	b.pause(first, end)
}

func (b *Buffer) start(first, end int) {
	b.unpause(first, end)
	b.control.Unlock()
}

func (b *Buffer) pause(first, end int) {
	for cpu := first; cpu < end; cpu++ {
		if p := &b.parking[cpu]; b.writer(cpu).control.Or(stopping)&online != 0 {
			<-p.parked
			p.paused = true
		}
		b.writer(cpu).settle()
	}
}

func (b *Buffer) unpause(first, end int) {
	for cpu := first; cpu < end; cpu++ {
		b.writer(cpu).control.And(^uint32(stopping))
		if p := &b.parking[cpu]; p.paused {
			p.paused = false
			p.resume <- struct{}{}
		}
	}
}
