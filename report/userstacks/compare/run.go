// Package compare traces the same workloads once with user stacks that are unwound later,
// and once with user stacks that are walked at every event. From the first trace it
// computes what each design of package userstacks would take; what the two designs that the
// simulated kernel has did take is measured beside it.
package compare

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ftracelab/budget"
	"ftracelab/report/experiment"
	"ftracelab/report/join"
	"ftracelab/report/userstacks"
	"ftracelab/ringbuf"
	"ftracelab/tracer/record"
)

// Workload is what the simulated machine does, and which of its events are traced.
type Workload struct {
	Name     string   `json:"name"`
	Scenario string   `json:"scenario"`
	Set      []string `json:"set"` // writes to tracefs files, FILE=VALUE
}

// Options say what is run.
type Options struct {
	Workloads []Workload
	Seeds     []uint32
	// Open runs a workload and returns its trace. set has further writes to tracefs files.
	Open func(ctx context.Context, w Workload, seed uint32, set ...string) (*Trace, error)
}

// Trace is a trace that can be read several times.
type Trace struct {
	Open func() (Reading, error)
	// Lossy tells, by CPU, of which CPUs the oldest events were overwritten.
	Lossy []int
}

// Reading is a trace that is being read.
type Reading interface {
	record.Source
	io.Closer
}

// The options of ftrace that the two traces have.
const (
	walkOption  = "options/userstacktrace=1"
	delayOption = "options/userstacktrace_delay=1"
)

// Trial is a workload with one seed.
type Trial struct {
	Seed uint32           `json:"seed"`
	Rows []userstacks.Row `json:"designs"`
	Law  userstacks.Law   `json:"law"`
	Join join.Counts      `json:"-"`
	// What the kernel that has the design wrote, in bytes, and by how much the prediction
	// from the trace with cookies differs from it.
	TracedWalk       uint64  `json:"traced_walk_bytes"`
	TracedDeferred   uint64  `json:"traced_deferred_bytes"`
	WalkErrorPct     float64 `json:"walk_error_pct"`
	DeferredErrorPct float64 `json:"deferred_error_pct"`
	// FromWalkPct is by how much a prediction of deferred from the trace with user_stack
	// differs. That record has 8 addresses at most, and does not name the stay.
	FromWalkPct float64 `json:"deferred_from_walk_error_pct"`
}

// Run runs all workloads with all seeds.
func Run(ctx context.Context, opt Options) (*Table, error) {
	t := &Table{Seeds: opt.Seeds}
	for _, w := range opt.Workloads {
		b := Block{Workload: w}
		for _, seed := range opt.Seeds {
			trial, err := one(ctx, opt, w, seed)
			if err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", w.Name, seed, err)
			}
			b.Trials = append(b.Trials, *trial)
		}
		b.summarize()
		t.Blocks = append(t.Blocks, b)
	}
	t.remember()
	return t, nil
}

// one traces a workload twice.
func one(ctx context.Context, opt Options, w Workload, seed uint32) (*Trial, error) {
	trial := &Trial{Seed: seed}
	delayed, err := opt.Open(ctx, w, seed, delayOption)
	if err != nil {
		return nil, err
	}
	table := join.NewTable(budget.OrDefault(nil))
	for _, cpu := range delayed.Lossy {
		table.Overrun(cpu, false)
	}
	if err := delayed.read(func(r *record.Record) error {
		if unwindRecord(r) {
			trial.TracedDeferred += uint64(ringbuf.EventSize(len(r.Data)))
		}
		return table.See(r)
	}, nil); err != nil {
		return nil, err
	}
	account := userstacks.New()
	if err := delayed.read(add(account), table.Source); err != nil {
		return nil, err
	}
	trial.Join = table.Counts()
	account.Without(trial.Join.Without())
	trial.Rows, trial.Law = account.Rows(), account.Law()

	walked, err := opt.Open(ctx, w, seed, walkOption)
	if err != nil {
		return nil, err
	}
	fromWalk := userstacks.New()
	count := add(fromWalk)
	if err := walked.read(func(r *record.Record) error {
		if r.Kind == record.UserStack {
			trial.TracedWalk += uint64(ringbuf.EventSize(len(r.Data)))
		}
		return count(r)
	}, nil); err != nil {
		return nil, err
	}
	for _, r := range trial.Rows {
		switch r.Name {
		case "walk":
			trial.WalkErrorPct = apart(r.Bytes, trial.TracedWalk)
		case "deferred":
			trial.DeferredErrorPct = apart(r.Bytes, trial.TracedDeferred)
		}
	}
	for _, r := range fromWalk.Rows() {
		if r.Name == "deferred" {
			trial.FromWalkPct = apart(r.Bytes, trial.TracedDeferred)
		}
	}
	return trial, nil
}

// unwindRecord reports whether r is a cookie or a stack that was unwound later.
func unwindRecord(r *record.Record) bool {
	return r.Kind == record.Event && r.Type != nil && r.Type.System == "ftrace" &&
		(r.Type.Name == "user_unwind_cookie" || r.Type.Name == "user_unwind_stack")
}

// add returns a function that adds the user stacks of a trace to an account.
func add(a *userstacks.Account) func(*record.Record) error {
	var last []record.Record // the last event of each CPU
	return func(r *record.Record) error {
		for len(last) <= r.CPU {
			last = append(last, record.Record{})
		}
		switch r.Kind {
		case record.Event:
			last[r.CPU] = *r
		case record.UserStack:
			e := &last[r.CPU]
			a.Add(&record.Stack{Common: r.Common, IPs: r.Stack, NewEntry: e.NewEntry, Call: e.Call, Stay: r.Stay})
		}
		return nil
	}
}

// read reads the trace once, through another source if one is given.
func (t *Trace) read(each func(*record.Record) error, through func(record.Source) record.Source) (err error) {
	in, err := t.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var src record.Source = in
	if through != nil {
		src = through(in)
	}
	var r record.Record
	for {
		if err := src.Next(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(&r); err != nil {
			return err
		}
	}
}

// apart is by how many percent a differs from b.
func apart(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return 100 * (float64(a)/float64(b) - 1)
}

// figure summarizes a number of all trials.
func (b *Block) figure(of func(*Trial) float64) experiment.Figure {
	var values []float64
	for i := range b.Trials {
		values = append(values, of(&b.Trials[i]))
	}
	return experiment.Summarize(values)
}
