package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"ftracelab/budget"
	"ftracelab/report"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// Misses say by how many percent a prediction is too high, or too low if it is negative.
type Misses struct {
	FullStacks float64 `yaml:"full-stacks-pct"` // bytes per event in full
	Stackmap   float64 `yaml:"stackmap-pct"`    // bytes per event through a stackmap
	Unique     float64 `yaml:"unique-pct"`      // different stacks
}

// A model is believed within these bounds, in percent.
const (
	MaxBytesMiss  = 5
	MaxUniqueMiss = 10
)

// Doubts says which of the misses are too large to believe the model, one sentence each.
func (m *Misses) Doubts() (doubts []string) {
	for _, d := range []struct {
		what string
		miss float64
		max  int
	}{
		{"the bytes per event with full stacks", m.FullStacks, MaxBytesMiss},
		{"the bytes per event with a stackmap", m.Stackmap, MaxBytesMiss},
		{"the number of different stacks", m.Unique, MaxUniqueMiss},
	} {
		if math.Abs(d.miss) > float64(d.max) {
			doubts = append(doubts, fmt.Sprintf("the halves of the trace differ: what a model of the first predicts for the second is off by %+.1f %% in %s; the limit is %d %%", d.miss, d.what, d.max))
		}
	}
	return doubts
}

// Figures are what a prediction is judged by.
type Figures struct {
	Events, Stacks, Unique uint64
	FullStacks, Stackmap   float64 // bytes per event
	// Frames are those of the call tree that the different stacks make from the root on, the
	// boxes of a flame graph. Only the first stacks count, as in [Stacks.Own].
	Frames uint64
}

// Slices is how many slices a trace is cut into to see whether a wrong prediction is the
// model's fault.
const Slices = 1000

// Doubts says why what is drawn from the model may be wrong, one sentence each: nothing if
// the halves of the trace agree or were not compared.
func (l *Learned) Doubts() []string {
	if l.HeldOut == nil {
		return nil
	}
	doubts := l.HeldOut.Doubts()
	switch {
	case len(doubts) == 0 || l.Slices == nil:
	case len(l.Slices.Doubts()) == 0:
		doubts = append(doubts, fmt.Sprintf("learned from every second of %s slices, the model predicts the others within the limits: the load changes in the course of the trace, and a model does not know when", report.Group(Slices)))
	default:
		doubts = append(doubts, fmt.Sprintf("nor does every second of %s slices predict the others (%+.1f %% and %+.1f %% of the bytes per event, %+.1f %% of the different stacks): the trace is too short for what is in it", report.Group(Slices), l.Slices.FullStacks, l.Slices.Stackmap, l.Slices.Unique))
	}
	return doubts
}

// HeldOut compares a trace, or a part of one, that a model has not learned from with what
// the model says of it.
type HeldOut struct {
	Predicted, Measured Figures
}

// Misses are the differences in percent.
func (h *HeldOut) Misses() Misses {
	miss := func(predicted, measured float64) float64 {
		if measured == 0 {
			return 0
		}
		return math.Round(1e4*(predicted/measured-1)) / 100
	}
	return Misses{
		FullStacks: miss(h.Predicted.FullStacks, h.Measured.FullStacks),
		Stackmap:   miss(h.Predicted.Stackmap, h.Measured.Stackmap),
		Unique:     miss(float64(h.Predicted.Unique), float64(h.Measured.Unique)),
	}
}

// HoldOut cuts the trace that m was learned from into slices of the same time, or of the
// same number of events if it has no times. It learns a model from the first, third, fifth
// … and compares what that predicts with what is in the others. So with two slices, the
// first half predicts the second; with many, the parts hold the same load even if it
// changes, which shows whether a wrong prediction is the model's fault. The model is told
// how many events it has to predict. open is called twice and begins the trace anew; types
// are those of report.Options.
func (m *Model) HoldOut(ctx context.Context, slices int, open func() (src record.Source, types *event.Table, done func() error, err error)) (h *HeldOut, err error) {
	part := func(held bool, use func(record.Source, *event.Table) error) error {
		src, types, done, err := open()
		if err != nil {
			return err
		}
		return errors.Join(use(&partSource{src: src, learned: m.Learned, slices: slices, held: held}, types), done())
	}
	var learned *Model
	err = part(false, func(src record.Source, _ *event.Table) (err error) {
		learned, err = Learn(ctx, src, LearnOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	err = part(true, func(src record.Source, types *event.Table) (err error) {
		h, err = learned.Try(ctx, src, types)
		return err
	})
	return h, err
}

// Try compares a trace with what m says of one with as many events. types are those of
// report.Options.
func (m *Model) Try(ctx context.Context, src record.Source, types *event.Table) (h *HeldOut, err error) {
	h = new(HeldOut)
	if h.Measured, err = measure(ctx, src, types); err != nil {
		return nil, err
	}
	if h.Measured.Events == 0 {
		return nil, errors.New("there is no event to compare with")
	}
	drawn, err := m.Open(RunOptions{Seed: 1, Events: h.Measured.Events})
	if err != nil {
		return nil, err
	}
	h.Predicted, err = measure(ctx, drawn, nil)
	return h, err
}

func measure(ctx context.Context, src record.Source, types *event.Table) (Figures, error) {
	opt := report.Options{Types: types, TopStacks: -1}
	for _, name := range []string{"full-stacks", "stackmap"} {
		d, err := record.NamedDesign(name, 0, 1)
		if err != nil {
			return Figures{}, err
		}
		opt.Designs = append(opt.Designs, d)
	}
	seen := &treeSource{Source: src, memory: budget.OrDefault(nil)}
	r, err := report.Estimate(ctx, seen, opt)
	if err != nil {
		return Figures{}, err
	}
	return Figures{
		Frames: uint64(len(seen.kernel.tree) + len(seen.user.tree)),
		Events: r.Input.Events, Stacks: r.Input.Stacks, Unique: r.Input.UniqueStacks,
		FullStacks: r.Designs[0].BytesPerEvent, Stackmap: r.Designs[1].BytesPerEvent,
	}, nil
}

// treeSource notes the frames of the stacks that pass.
type treeSource struct {
	record.Source
	memory       *budget.Budget
	kernel, user learnedStacks
}

func (s *treeSource) Next(r *record.Record) error {
	err := s.Source.Next(r)
	switch {
	case err == nil && r.Kind == record.KernelStack:
		return s.kernel.add(r.Stack, s.memory)
	case err == nil && r.Kind == record.UserStack:
		return s.user.add(r.Stack, s.memory)
	}
	return err
}

// partSource delivers every second slice of a trace. A stack is in the slice of its event.
type partSource struct {
	src     record.Source
	learned Learned
	slices  int
	held    bool // the second slice is the first that is delivered
	events  uint64
	in      []bool // by CPU: whether the last event was delivered
}

func (s *partSource) Next(r *record.Record) error {
	for {
		if err := s.src.Next(r); err != nil {
			return err
		}
		if r.CPU < 0 || r.CPU >= maxCPUs {
			return fmt.Errorf("an event of CPU %d: a model has %d CPUs at most", r.CPU, maxCPUs)
		}
		for len(s.in) <= r.CPU {
			s.in = append(s.in, false)
		}
		if r.Kind == record.Event {
			at := float64(s.events) / float64(s.learned.Events)
			if s.learned.Seconds > 0 {
				at = float64(r.Time-s.learned.first) / float64(s.learned.last-s.learned.first+1)
			}
			s.events++
			s.in[r.CPU] = int(at*float64(s.slices))%2 == 1 == s.held
		}
		if s.in[r.CPU] {
			return nil
		}
	}
}
