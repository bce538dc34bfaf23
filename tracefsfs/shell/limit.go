package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// DefaultMemory is the limit on a shell's memory if Config does not say another.
const DefaultMemory = 512 << 20

// Why a script is ended.
var (
	errMemory error = strerror{syscall.ENOMEM}
	errFork         = fmt.Errorf("fork: %w", strerror{syscall.EAGAIN})
)

// limit keeps the scripts of a shell within their memory. What can be counted
// before it is allocated is refused exactly: the words of a command (see charge),
// what a command substitution reads (see substitution), processes (see fork), and
// what the commands hold (see hold). The watch is the last line: while a script
// runs it looks how large the heap is.
//
// Departure: where a process of a real system fails, the whole script ends, with
// status 2.
type limit struct {
	bytes    int // of all
	stderr   io.Writer
	base     int           // what was in use before the shell
	released chan struct{} // a process ended
	mu       sync.Mutex    // guards what follows
	cancel   context.CancelCauseFunc
	failed   error
	forked   *atomic.Int32 // the script's processes
}

func newLimit(bytes int, stderr io.Writer) *limit {
	if bytes <= 0 {
		bytes = DefaultMemory
	}
	return &limit{bytes: bytes, stderr: stderr, base: alive(), released: make(chan struct{}, 1), forked: new(atomic.Int32)}
}

// maxWords is how many bytes the words of one command may come to.
func (l *limit) maxWords() int { return l.bytes / 16 }

// maxVariables is how many bytes all variables that a command sees may come to.
func (l *limit) maxVariables() int { return l.bytes / 4 }

// maxHeld is how many bytes of its input one command may hold.
func (l *limit) maxHeld() int { return l.bytes / 8 }

// watchStep is how often the watch looks. Go clears some 5 GB in a second: the
// heap cannot outgrow what it saw last by much.
const watchStep = 10 * time.Millisecond

// begin starts to watch over a script, whose context ends when it is ended. end is
// called after it and says whether, and why, it was.
func (l *limit) begin(ctx context.Context) (_ context.Context, end func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.cancel, l.failed, l.forked = cancel, nil, new(atomic.Int32)
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(watchStep)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if l.over(0) {
					l.fail(errMemory)
				}
			}
		}
	}()
	return ctx, func() error {
		close(done)
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.failed
	}
}

// speak lets standard error speak again after a script was ended. Until then, or until
// the next script begins, what is left of the ended one says nothing.
func (l *limit) speak() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = nil
}

// fail ends the script, and says why once.
func (l *limit) fail(why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = why
		if errors.Is(why, errMemory) {
			fmt.Fprintf(l.stderr, "sh: %v (the limit is %d MB)\n", why, l.bytes>>20)
		} else {
			fmt.Fprintf(l.stderr, "sh: %v\n", why)
		}
		if l.cancel != nil {
			l.cancel(why)
		}
	}
	return l.failed
}

// Write is the shell's standard error, which says no more once the script was
// ended: what fails then fails because of that.
func (l *limit) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return len(p), nil
	}
	return l.stderr.Write(p)
}

// over: would so many bytes more be too many? What is dead and not yet collected
// does not count, which is only asked for when it matters.
func (l *limit) over(more int) bool {
	if inUse()-l.base+more <= l.bytes {
		return false
	}
	runtime.GC()
	return inUse()-l.base+more > l.bytes
}

// inUse is how many bytes of memory Go's objects and stacks take.
func inUse() int {
	return measure("/memory/classes/heap/objects:bytes", "/memory/classes/heap/stacks:bytes")
}

// alive is how many bytes the last garbage collection found in use.
func alive() int { return measure("/gc/heap/live:bytes") }

func measure(names ...string) int {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	n := 0
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			n += int(s.Value.Uint64())
		}
	}
	return n
}

// Processes: those that run beside the shell, which are background jobs and the
// parts of pipelines.
const (
	maxProcesses = 1024
	// forkPatience is how long a fork waits for a process to end, if there are
	// that many.
	forkPatience = 100 * time.Millisecond
)

// fork counts a process more; exited counts it out.
//
// Kernel: copy_process, kernel/fork.c (RLIMIT_NPROC).
func (l *limit) fork(ctx context.Context) (exited func(), err error) {
	l.mu.Lock()
	forked := l.forked
	l.mu.Unlock()
	var patience <-chan time.Time
	for {
		if now := forked.Load(); now < maxProcesses {
			if forked.CompareAndSwap(now, now+1) {
				return func() { l.exited(forked) }, nil
			}
			continue
		}
		if patience == nil {
			patience = time.After(forkPatience)
		}
		select {
		case <-l.released:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience:
			if err := ctx.Err(); err != nil {
				return nil, err // its script has ended, and does not speak any more
			}
			return nil, l.fail(errFork)
		}
	}
}

// exit gives what counts a process of the present script out.
func (l *limit) exit() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	forked := l.forked
	return func() { l.exited(forked) }
}

func (l *limit) exited(forked *atomic.Int32) {
	forked.Add(-1)
	select {
	case l.released <- struct{}{}:
	default:
	}
}
