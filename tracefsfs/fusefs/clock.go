package fusefs

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// Simulated time in nanoseconds.
const (
	// roundTime is what every request is good for at least: about one scheduling
	// round of the default machine.
	roundTime = 200_000
	// sliceTime is how far the machine runs at a time.
	sliceTime = 1_000_000
)

// Wall time.
const (
	// tickTime is how often time passes by itself.
	tickTime = 10 * time.Millisecond
	// patience is how much time of a CPU the machine may take to catch up at a tick. A
	// machine that is traced in full may be slower than the wall clock: then it loses time.
	// On a busy computer, a tick takes longer by the clock on the wall, and nothing is lost.
	patience = 100 * time.Millisecond
	// behind is when the machine lags. Then a request does not wait until it has caught
	// up, because a script makes thousands of requests, and each would wait. Only one that
	// looks at what was recorded waits.
	behind = 2 * tickTime
)

// Clock moves simulated time: with the wall clock, and a little with every
// request, so that a client that does something and looks at once sees the
// machine at work. The zero Clock stands still until Start.
type Clock struct {
	mu   sync.Mutex
	run  func(ns uint64)
	last time.Time
	owed uint64        // simulated time until last that has not passed yet
	tick chan struct{} // closed at the next tick
	stop chan struct{}
	done chan struct{}
}

// Start lets time pass. run moves the machine by so many nanoseconds; each runs
// after every tick, outside of any lock.
func (c *Clock) Start(run func(ns uint64), each func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.last = run, time.Now()
	c.tick, c.stop, c.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	go c.loop(each)
}

// Stop ends what Start began and returns when the last tick is over.
func (c *Clock) Stop() {
	if c.stop == nil {
		return // never started
	}
	close(c.stop)
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = nil
	close(c.tick)
	c.tick = nil
}

func (c *Clock) loop(each func()) {
	defer close(c.done)
	ticker := time.NewTicker(tickTime)
	defer ticker.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ticker.C:
		}
		c.accrue(0)
		c.catchUp()
		each()
		c.mu.Lock()
		close(c.tick)
		c.tick = make(chan struct{})
		c.mu.Unlock()
	}
}

// Request is a client's request: time has passed, a round of it at least. The reads
// that follow an open are part of it, and so are the ioctls that follow a mapping. If the
// client looks at what was recorded, it sees all that was recorded until now.
func (c *Clock) Request(op Op, looks bool) {
	atLeast := uint64(roundTime)
	if op == OpRead || op == OpIoctl {
		atLeast = 0
	}
	if c.accrue(atLeast) && !looks {
		c.slice(atLeast)
		return
	}
	c.catchUp()
}

// accrue makes the machine owe the time since the last call, and atLeast nanoseconds. It
// reports whether the machine lags.
func (c *Clock) accrue(atLeast uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.owed = max(c.owed+uint64(max(now.Sub(c.last), 0)), atLeast)
	c.last = now
	return c.owed > uint64(behind)
}

// catchUp moves the machine until it owes nothing. It gives up when that has taken longer
// than patience: what is left then never passes.
func (c *Clock) catchUp() {
	for began := cpuTime(); c.slice(sliceTime); {
		if cpuTime()-began > patience {
			c.mu.Lock()
			c.owed = 0
			c.mu.Unlock()
			return
		}
	}
}

// slice moves the machine by so much of what it owes, and reports whether it owes more. The
// lock is held for one slice only, so that a request need not wait until a tick has caught
// up.
func (c *Clock) slice(most uint64) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ns := min(c.owed, most)
	if c.run == nil || ns == 0 {
		return false
	}
	c.owed -= ns
	c.run(ns)
	return c.owed > 0
}

type nonBlockKey struct{}

// withoutWaiting marks a read whose caller does not want to wait.
func withoutWaiting(ctx context.Context) context.Context {
	return context.WithValue(ctx, nonBlockKey{}, true)
}

// Wait returns after the next tick: it is what a reader does that finds nothing
// (tracer.Config.Wait). Errors: EINTR when ctx is done or the clock stops, EAGAIN
// for a read that must not wait.
func (c *Clock) Wait(ctx context.Context) error {
	if ctx.Value(nonBlockKey{}) != nil {
		return syscall.EAGAIN
	}
	c.mu.Lock()
	tick := c.tick
	c.mu.Unlock()
	if tick == nil {
		return syscall.EINTR
	}
	select {
	case <-tick:
		return nil
	case <-ctx.Done():
		return syscall.EINTR
	}
}
