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
		c.Request(OpRead)
		if c.Request(OpWrite); ran != time.Duration(n+1)*roundTime {
			t.Fatalf("%d requests have let %v pass", n+1, ran)
		}
	}
	c.pass(0, false)
	if now := time.Since(begin); ran < lag || ran > now {
		t.Errorf("after the tick %v have passed, want between %v and %v", ran, lag, now)
	}
}
