package fusefs

import (
	"testing"
	"time"
)

// A request of a machine that lags does not wait until the machine has caught up. The next
// tick catches up, and no time gets lost or passes twice.
func TestRequestDoesNotWait(t *testing.T) {
	var ran time.Duration
	c := Clock{run: func(ns uint64) { ran += time.Duration(ns) }}
	const lag = 10 * time.Second
	begin := time.Now().Add(-lag)
	c.last = begin
	for n := range 100 {
		c.Request(OpRead, false)
		c.Request(OpOpen, false)
		if c.Request(OpWrite, false); ran != 2*time.Duration(n+1)*roundTime {
			t.Fatalf("%d requests have let %v pass", n+1, ran)
		}
	}
	c.accrue(0)
	c.catchUp()
	if now := time.Since(begin); ran < lag || ran > now {
		t.Errorf("after the tick %v have passed, want between %v and %v", ran, lag, now)
	}
}

// Who looks at what was recorded sees the machine as it is now, however busy the computer is.
func TestReaderWaits(t *testing.T) {
	var ran time.Duration
	c := Clock{run: func(ns uint64) {
		time.Sleep(100 * time.Microsecond) // other processes run
		ran += time.Duration(ns)
	}}
	const lag = time.Second
	c.last = time.Now().Add(-lag)
	if c.Request(OpOpen, true); ran < lag {
		t.Errorf("it shows what was recorded until %v ago", lag-ran)
	}
}

// A machine that is slower than the clock on the wall loses time.
func TestSlowMachineLosesTime(t *testing.T) {
	var ran time.Duration
	c := Clock{run: func(ns uint64) {
		for end := cpuTime() + 2*time.Duration(ns); cpuTime() < end; {
		}
		ran += time.Duration(ns)
	}}
	c.last = time.Now().Add(-10 * time.Second)
	c.accrue(0)
	c.catchUp()
	if ran > patience || c.owed != 0 {
		t.Errorf("%v have passed, %v are owed", ran, time.Duration(c.owed))
	}
}
