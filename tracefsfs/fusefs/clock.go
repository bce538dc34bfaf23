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
	// patience is how long the machine may take to catch up at a tick. A machine that is
	// traced in full, or on a busy computer, may be slower than the wall clock: then it
	// lags.
	patience = 30 * time.Millisecond
	// behind is when the machine lags. Then a request does not wait until it has caught
	// up, because a script makes thousands of requests, and each would wait.
	behind = 2 * tickTime
)

// Clock moves simulated time: with the wall clock, and a little with every
// request, so that a client that does something and looks at once sees the
// machine at work. The zero Clock stands still until Start.
type Clock struct {
	mu   sync.Mutex
	run  func(ns uint64)
	last time.Time
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
		c.pass(0, false)
		each()
		c.mu.Lock()
		close(c.tick)
		c.tick = make(chan struct{})
		c.mu.Unlock()
	}
}

// Request is a client's request: time has passed, a round of it at least. The reads
// that follow an open are part of it, and so are the ioctls that follow a mapping.
func (c *Clock) Request(op Op) {
	if op == OpRead || op == OpIoctl {
		c.pass(0, true)
		return
	}
	c.pass(roundTime, true)
}

// pass moves the machine to now, and by atLeast nanoseconds. At a tick it gives up when that
// has taken longer than patience: what is left then never passes. For a request of a machine
// that lags, only atLeast passes, and the next tick sees to the rest.
func (c *Clock) pass(atLeast uint64, request bool) {
	c.mu.Lock()
	now := time.Now()
	left := max(uint64(max(now.Sub(c.last), 0)), atLeast)
	if request && now.Sub(c.last) > behind {
		left = atLeast
		c.last = c.last.Add(time.Duration(atLeast))
	} else {
		c.last = now
	}
	c.mu.Unlock()
	for left > 0 && time.Since(now) <= patience {
		slice := min(left, sliceTime)
		left -= slice
		if !c.slice(slice) {
			return
		}
	}
}

// slice moves the machine a little. It reports false if the clock stands still. The lock is
// held for one slice only, so that a request need not wait until a tick has caught up.
func (c *Clock) slice(ns uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil {
		return false
	}
	c.run(ns)
	return true
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
