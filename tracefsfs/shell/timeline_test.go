package shell

import (
	"context"
	"strings"
	"testing"
	"time"
)

// What happens at which time does not depend on which goroutine is faster.
func TestJobsAreDeterministic(t *testing.T) {
	const script = `
for i in 1 2 3; do
	{ sleep .00$i; echo $i at $(date +%N); sleep .01; echo $i again at $(date +%N); } >> /tmp/log &
done
while :; do echo loop; done > /tmp/loop & loop=$!
sleep .005
( sleep .003; echo subshell ) | cat >> /tmp/log &
sleep .004
kill $loop
wait
date +%N
cat /tmp/log
wc -l < /tmp/loop`
	const want = `13000000
1 at 001000000
2 at 002000000
3 at 003000000
subshell
1 again at 011000000
2 again at 012000000
3 again at 013000000
320
`
	for n := range 50 {
		l := newTimedLab(t)
		if _, err := l.sh.Run(context.Background(), strings.NewReader(script), "test"); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimLeft(l.out.String(), "0"); got != want {
			t.Fatalf("run %d: got\n%s\nwant\n%s\nstderr %s", n, got, want, l.err.String())
		}
	}
}

// Jobs of one script are not those of the next, nor those of another shell within it.
func TestJobsHaveNamesOfTheirOwn(t *testing.T) {
	l := newTimedLab(t)
	for _, script := range []string{
		"sleep 1 & kill $!; wait",
		"sh -c 'sleep 1 & kill $!; wait'; sh -c 'echo born & wait'",
		"{ sleep .1; echo alive; } & wait",
	} {
		if _, err := l.sh.Run(context.Background(), strings.NewReader(script), "test"); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.out.String(); got != "born\nalive\n" {
		t.Errorf("got %q, stderr %q", got, l.err.String())
	}
}

// newTimedLab is a lab with simulated time.
func newTimedLab(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	cfg := l.sh.cfg
	var now time.Duration // guarded by the timeline, in which both functions are called
	cfg.Sleep = nil
	cfg.Now = nil
	sh, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	sh.timeline.now = func() time.Duration { return now }
	sh.timeline.sleep = func(_ context.Context, d time.Duration) error {
		sh.timeline.mu.Lock()
		defer sh.timeline.mu.Unlock()
		now += d
		return nil
	}
	sh.cfg.Now = func() time.Time { return time.Unix(0, int64(sh.timeline.time())) }
	l.sh = sh
	return l
}

// A job that neither waits nor begins commands does not hold the others up for ever.
func TestBusyJobIsNotWaitedFor(t *testing.T) {
	l := newTimedLab(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	script := "i=0; while ((i >= 0)); do ((i++)); done & sleep .001; echo on"
	if _, err := l.sh.Run(ctx, strings.NewReader(script), "test"); err != nil {
		t.Fatal(err)
	}
	if got := l.out.String(); got != "on\n" {
		t.Errorf("got %q", got)
	}
}
