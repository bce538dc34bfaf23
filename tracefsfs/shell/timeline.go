package shell

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
)

// timeline is the simulated time as the processes of a shell share it. Only the
// foreground moves it on: a sleep, a wait, or a reader that waits for trace_pipe. A
// background job that waits for time is woken when the time has come. Before time
// moves on, each job has come to a point where it waits or has ended. So what happens
// at which time does not depend on which goroutine is faster, and time stands still
// at the prompt, whatever runs in the background.
//
// Departure: a job that computes for long, and neither waits nor begins commands, is
// not waited for longer than jobPatience. It then runs beside the others, as a process
// of a real system would.
type timeline struct {
	sleep func(context.Context, time.Duration) error // Config.Sleep
	now   func() time.Duration                       // since some beginning

	drive sync.Mutex // held while time moves on

	mu      sync.Mutex // guards what follows
	jobs    map[string]*job
	waiting []*waiter
	alarms  map[*alarm]bool
	ended   []*job        // not told of yet, the oldest first
	changed chan struct{} // closed when a job began to wait or ended
}

// waiter is a process of a background job that waits.
type waiter struct {
	ctx   context.Context
	job   *job
	until func() bool   // called with timeline.mu held
	at    time.Duration // the time at which until begins to hold; 0 if it is not known
	woken chan struct{}
}

const (
	// timeStep is how far time moves on before those that wait for an event, not for
	// a time, look again.
	timeStep = time.Millisecond
	// callsPerStep is how many commands a background job begins before it has to wait
	// for time to move on: commands take none, and a loop of them would never end.
	callsPerStep = 64
	// jobPatience is how long the foreground waits for jobs that do not wait.
	jobPatience = 200 * time.Millisecond
)

func newTimeline(cfg *Config) *timeline {
	tl := &timeline{sleep: cfg.Sleep, jobs: map[string]*job{}, alarms: map[*alarm]bool{}, changed: make(chan struct{})}
	if tl.sleep == nil {
		tl.sleep = func(context.Context, time.Duration) error { return nil }
	}
	if now := cfg.Now; now != nil && cfg.Sleep != nil {
		tl.now = func() time.Duration { return time.Duration(now().UnixNano()) }
	} else { // nobody knows the time but us
		var elapsed time.Duration
		sleep := tl.sleep
		tl.sleep = func(ctx context.Context, d time.Duration) error {
			tl.mu.Lock()
			elapsed += d
			tl.mu.Unlock()
			return sleep(ctx, d)
		}
		tl.now = func() time.Duration { return elapsed }
	}
	return tl
}

// tell wakes those that look after jobs. The caller holds mu.
func (tl *timeline) tell() {
	close(tl.changed)
	tl.changed = make(chan struct{})
}

// settle waits until each job waits or has ended.
func (tl *timeline) settle(ctx context.Context) {
	var patience <-chan time.Time
	for {
		tl.mu.Lock()
		busy, changed := tl.busy(), tl.changed
		tl.mu.Unlock()
		if !busy {
			return
		}
		if patience == nil {
			patience = time.After(jobPatience)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-patience:
			return
		}
	}
}

// busy: is there a job that runs? The caller holds mu.
func (tl *timeline) busy() bool {
	for _, j := range tl.jobs {
		if j.script.Err() == nil && (j.blocked == 0 || j.ctx.Err() != nil) {
			return true
		}
	}
	return false
}

// until waits until a condition holds. j is the job of the process, nil for the
// foreground, which moves time on. at is the time at which the condition begins to
// hold; 0 if that is not known.
func (tl *timeline) until(ctx context.Context, j *job, at time.Duration, cond func() bool) error {
	if j == nil {
		return tl.foreground(ctx, at, cond)
	}
	w := &waiter{ctx: ctx, job: j, until: cond, at: at, woken: make(chan struct{})}
	tl.mu.Lock()
	if cond() {
		tl.mu.Unlock()
		return nil
	}
	j.blocked++
	j.calls = 0
	tl.waiting = append(tl.waiting, w)
	tl.tell()
	tl.mu.Unlock()
	select {
	case <-w.woken:
		return ctx.Err()
	case <-ctx.Done():
	}
	tl.mu.Lock()
	defer tl.mu.Unlock()
	if n := slices.Index(tl.waiting, w); n >= 0 {
		tl.waiting = slices.Delete(tl.waiting, n, n+1)
		j.blocked--
	}
	return ctx.Err()
}

func (tl *timeline) foreground(ctx context.Context, at time.Duration, cond func() bool) error {
	for {
		tl.drive.Lock()
		done, err := tl.advance(ctx, at, cond)
		tl.drive.Unlock()
		if done || err != nil {
			return err
		}
	}
}

// advance moves time on by a step, unless the condition holds.
func (tl *timeline) advance(ctx context.Context, at time.Duration, cond func() bool) (done bool, err error) {
	for woke := true; woke; {
		tl.settle(ctx)
		if err := ctx.Err(); err != nil {
			return false, err
		}
		tl.mu.Lock()
		woke = tl.wakeOne()
		if ctx.Err() == nil && cond() {
			tl.mu.Unlock()
			return true, nil
		}
		tl.mu.Unlock()
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return false, tl.sleep(ctx, tl.step(at))
}

// step is how far time may move on: to the next time at which somebody wakes, and by
// timeStep if somebody waits for an event.
func (tl *timeline) step(at time.Duration) time.Duration {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	now := tl.now()
	d := timeStep
	if at != 0 && len(tl.waiting) == 0 {
		d = at - now
	} else if at != 0 {
		d = min(d, at-now)
	}
	for _, w := range tl.waiting {
		if w.at != 0 {
			d = min(d, w.at-now)
		}
	}
	for a := range tl.alarms {
		d = min(d, a.at-now)
	}
	return max(d, 0)
}

// wakeOne rings the alarms whose time has come. Then it wakes the first of those, by the
// names of their jobs, whose condition holds or who are to end.
// The caller holds mu.
func (tl *timeline) wakeOne() bool {
	now := tl.now()
	for a := range tl.alarms {
		if now >= a.at {
			a.ring()
			delete(tl.alarms, a)
		}
	}
	next := -1
	for n, w := range tl.waiting {
		if (next < 0 || w.job.name < tl.waiting[next].job.name) && (w.ctx.Err() != nil || w.until()) {
			next = n
		}
	}
	if next < 0 {
		return false
	}
	w := tl.waiting[next]
	tl.waiting = slices.Delete(tl.waiting, next, next+1)
	w.job.blocked--
	close(w.woken)
	return true
}

// sleepFor lets a process sleep.
func (tl *timeline) sleepFor(ctx context.Context, j *job, d time.Duration) error {
	at := tl.time() + d
	return tl.until(ctx, j, at, func() bool { return tl.now() >= at })
}

// time is the present time.
func (tl *timeline) time() time.Duration {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	return tl.now()
}

// tick lets a process wait until time has moved on a little.
func (tl *timeline) tick(ctx context.Context, j *job) error {
	return tl.sleepFor(ctx, j, timeStep)
}

// command is called before each command: a job in a loop has to let time pass, and the
// foreground goes on when the jobs that it began have come as far as they get.
func (tl *timeline) command(ctx context.Context, env expand.Environ) {
	j := tl.jobOf(env)
	if j == nil {
		tl.settle(ctx)
		return
	}
	tl.mu.Lock()
	j.calls++
	rest := j.calls >= callsPerStep
	tl.mu.Unlock()
	if rest {
		ctx, stop := within(ctx, j)
		defer stop()
		_ = tl.tick(ctx, j) // a killed job ends at its next command
	}
}

// wait is what the shell's own wait does first: it waits for jobs of the shell that
// env belongs to. A name that is none is left to the interpreter, which complains.
func (tl *timeline) wait(ctx context.Context, env expand.Environ, args []string) {
	prefix := env.Get(jobName).String() + "/"
	var names []string
	for _, arg := range args {
		names = append(names, prefix+strings.TrimPrefix(arg, "g"))
	}
	ended := func() bool {
		for name, j := range tl.jobs {
			rest, below := strings.CutPrefix(name, prefix)
			mine := below && !strings.ContainsAny(rest, "/:")
			if mine && j.script.Err() == nil && (len(names) == 0 || slices.Contains(names, name)) {
				return false
			}
		}
		return true
	}
	j := tl.jobOf(env)
	if j != nil {
		var stop func()
		ctx, stop = within(ctx, j)
		defer stop()
	}
	tl.mu.Lock()
	now := ended()
	tl.mu.Unlock()
	if !now {
		_ = tl.until(ctx, j, 0, ended) // if the script ends, so does the interpreter's wait
	}
}

// join waits until a job has ended. mine is the job of the process; nil for the foreground.
func (tl *timeline) join(ctx context.Context, mine, j *job) {
	ctx, stop := within(ctx, mine)
	defer stop()
	ended := func() bool { return tl.jobs[j.name] != j || j.script.Err() != nil }
	tl.mu.Lock()
	now := ended()
	tl.mu.Unlock()
	if !now {
		_ = tl.until(ctx, mine, 0, ended) // it ends with ctx, or with the job
	}
}

// within is ctx, ending also when the job is killed.
func within(ctx context.Context, j *job) (context.Context, func()) {
	if j == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(j.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// timeKey is of the process in whose context a file is opened or a command runs.
type timeKey struct{}

type timed struct {
	tl    *timeline
	job   *job
	owner string // of the descriptors
}

// withTime is ctx of a process of the shell.
func (sh *Shell) withTime(ctx context.Context, hc interp.HandlerContext) context.Context {
	return context.WithValue(ctx, timeKey{}, timed{sh.timeline, sh.timeline.jobOf(hc.Env), owner(hc.Env)})
}

// ErrNoProcess is WaitForTime's error for a context that is not of a shell's process.
var ErrNoProcess = errors.New("shell: not the context of a process")

// WaitForTime lets the process in whose context a file was opened wait until simulated
// time has moved on a little. A file that waits for an event calls it and looks again.
//
// Errors: ErrNoProcess; EINTR if the process ends.
func WaitForTime(ctx context.Context) error {
	p, ok := ctx.Value(timeKey{}).(timed)
	if !ok {
		return ErrNoProcess
	}
	if err := p.tl.tick(ctx, p.job); err != nil {
		if ctx.Err() != nil {
			return syscall.EINTR
		}
		return err
	}
	return nil
}
