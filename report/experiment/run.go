package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"ftracelab/report"
	"ftracelab/tracer/record"
)

// Source is a workload that has been opened.
type Source struct {
	record.Source
	Options report.Options // types, symbols and the like; designs and sizes are the trial's
	Close   func() error
}

// Runner runs the trials of a spec.
type Runner struct {
	// Open opens a workload for a seed. It is called from several goroutines.
	Open func(ctx context.Context, w Workload, seed uint32) (*Source, error)
	// Jobs is how many trials run at once; 0 means 1.
	Jobs  int
	Store Store
	// Progress, if it is not nil, is told after each trial how many of all are done and
	// whether this one had been finished before. It is called by one goroutine at a time.
	Progress func(done, all int, before bool)
}

// Run runs what the store does not have yet and returns the table. The first error ends
// it; what was finished until then is in the store.
func (r *Runner) Run(ctx context.Context, s Spec) (*Table, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	trials := s.trials()
	outcomes := make([]Outcome, len(trials))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var mu sync.Mutex // of done and Progress
	done := 0
	finished := func(before bool) {
		mu.Lock()
		defer mu.Unlock()
		done++
		if r.Progress != nil {
			r.Progress(done, len(trials), before)
		}
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(1, r.Jobs) {
		workers.Go(func() {
			for n := range next {
				o, before, err := r.one(ctx, &s, trials[n])
				if err != nil {
					cancel(fmt.Errorf("%v: %w", &trials[n], err))
					continue
				}
				outcomes[n] = o
				finished(before)
			}
		})
	}
feed:
	for n := range trials {
		select {
		case next <- n:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return newTable(s, outcomes), nil
}

// one runs a trial, or takes its outcome from the store.
func (r *Runner) one(ctx context.Context, s *Spec, t Trial) (o Outcome, before bool, err error) {
	if o, ok, err := r.Store.load(&t); ok || err != nil {
		return o, ok, err
	}
	designs, err := s.designs(t.Seed)
	if err != nil {
		return Outcome{}, false, err
	}
	src, err := r.Open(ctx, t.Workload, t.Seed)
	if err != nil {
		return Outcome{}, false, err
	}
	opt := src.Options
	opt.Designs, opt.Seed, opt.BufferSizeKB, opt.SubbufSize, opt.TopStacks = designs, t.Seed, t.BufferSizeKB, t.SubbufSize, -1
	rep, err := report.Estimate(ctx, src, opt)
	if err := errors.Join(err, src.Close()); err != nil {
		return Outcome{}, false, err
	}
	o = outcome(t, rep)
	if err := r.Store.save(&o); err != nil {
		return Outcome{}, false, keepError(err)
	}
	return o, false, nil
}

// keepError says what an error of the store is about.
func keepError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("the outcome cannot be kept: %w", err)
	}
	return err
}
