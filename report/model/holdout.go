package model

import (
	"context"
	"errors"
	"fmt"
	"math"

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
}

// HeldOut compares the part of a trace that a model has not learned from with what the
// model says of it.
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
	h = new(HeldOut)
	err = part(false, func(src record.Source, _ *event.Table) (err error) {
		learned, err = Learn(ctx, src, LearnOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	err = part(true, func(src record.Source, types *event.Table) (err error) {
		h.Measured, err = measure(ctx, src, types)
		return err
	})
	if err != nil {
		return nil, err
	}
	if h.Measured.Events == 0 {
		return nil, errors.New("there is no event in what is held out")
	}
	src, err := learned.Open(RunOptions{Seed: 1, Events: h.Measured.Events})
	if err != nil {
		return nil, err
	}
	h.Predicted, err = measure(ctx, src, nil)
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
	r, err := report.Estimate(ctx, src, opt)
	if err != nil {
		return Figures{}, err
	}
	return Figures{
		Events: r.Input.Events, Stacks: r.Input.Stacks, Unique: r.Input.UniqueStacks,
		FullStacks: r.Designs[0].BytesPerEvent, Stackmap: r.Designs[1].BytesPerEvent,
	}, nil
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
