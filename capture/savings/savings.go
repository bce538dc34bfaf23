// Package savings makes the estimate of a capture: package report has the figures, package
// capture the records, and this package brings them together. The commands of ftracelab and
// the page of lab/web both use it, so that they say the same.
package savings

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"ftracelab/budget"
	"ftracelab/capture"
	"ftracelab/report"
	"ftracelab/report/join"
	"ftracelab/tracer/record"
)

// Options say how a capture is read and estimated.
type Options struct {
	Capture capture.Options // its Memory and Read are set here
	Report  report.Options  // its Memory and what a capture says of itself are set here
	Memory  int64           // bytes that each reading of the capture may take; 0: the default

	// Watch stands between a capture and whoever takes its records, to show how much of it
	// was read; read counts the bytes. nil: nothing does.
	Watch func(c *capture.Capture, read *atomic.Int64) record.Source
}

// Of makes the estimate for one capture, which open opens. If user stacks in it were
// unwound later and it can be opened again, each stack is counted at the events that asked
// for it. skipped tells what was left out with KeepGoing.
func Of(ctx context.Context, open func(capture.Options) (*capture.Capture, error), again bool, o Options) (r *report.Report, skipped, err error) {
	opt := o.fresh()
	c, err := open(opt)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ro := o.Report
	ro.Memory = opt.Memory
	info := c.Info()
	ro.Path, ro.Format = info.Path, info.Format
	ro.Types = c.Types()
	ro.PagesSize = info.SubbufSize
	ro.Ticks = info.Ticks != ""
	if ro.SubbufSize == 0 {
		ro.SubbufSize = info.SubbufSize
	}
	if opt.KeepGoing {
		// If something is skipped, the pages after it differ from those of the capture.
		ro.Caveats = []string{"with --keep-going the pages are not held against the capture's own"}
	} else {
		ro.Pages = c.Pages
	}
	ro.Symbols = c
	if r, err = report.Estimate(ctx, o.watched(c, opt), ro); err != nil {
		return nil, nil, err
	}
	info = c.Info()
	if d := r.Input.Deferred; d != nil && d.Stacks > 0 && again {
		if r, err = joined(ctx, open, o, ro); err != nil {
			return nil, nil, err
		}
	}
	return r, info.Skipped(), info.NothingLeft()
}

// fresh are the options of one reading.
func (o *Options) fresh() capture.Options {
	opt := o.Capture
	opt.Memory, opt.Read = budget.OrDefault(nil), new(atomic.Int64)
	if o.Memory > 0 {
		opt.Memory = budget.New(o.Memory)
	}
	return opt
}

func (o *Options) watched(c *capture.Capture, opt capture.Options) record.Source {
	if o.Watch == nil {
		return c
	}
	return o.Watch(c, opt.Read)
}

// joined makes the estimate for a capture whose user stacks were unwound later, with each
// stack at the events that asked for it. The capture is read twice more: for the stacks, and
// for the events.
func joined(ctx context.Context, open func(capture.Options) (*capture.Capture, error), o Options, ro report.Options) (*report.Report, error) {
	opt := o.fresh()
	table, err := Table(open, opt)
	if err != nil {
		return nil, err
	}
	c, err := open(opt)
	if err != nil {
		return nil, err
	}
	ro.Memory, ro.Types, ro.Symbols, ro.Pages = opt.Memory, c.Types(), table.Symbols(c), nil
	ro.Caveats = append(slices.Clone(ro.Caveats), "the user stacks were joined to their events, so the pages are not held against the capture's own")
	counts := table.Counts()
	ro.Joined = &counts
	r, err := report.Estimate(ctx, table.Source(o.watched(c, opt)), ro)
	return r, errors.Join(err, c.Close())
}

// Table reads the user stacks of a capture that were unwound later.
func Table(open func(capture.Options) (*capture.Capture, error), opt capture.Options) (_ *join.Table, err error) {
	c, err := open(opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	t := join.NewTable(opt.Memory)
	for _, s := range c.Info().Stats {
		if s.Overrun+s.CommitOverrun > 0 {
			t.Overrun(s.CPU, false)
		}
		if s.DroppedEvents > 0 {
			t.Overrun(s.CPU, true)
		}
	}
	var r record.Record
	for {
		switch err := c.Next(&r); {
		case err == io.EOF:
			return t, nil
		case err != nil:
			return nil, err
		}
		if err := t.See(&r); err != nil {
			return nil, err
		}
	}
}
