package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"

	"ftracelab/budget"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// How many rows of each table are kept. Rows beyond that are put together.
const (
	keptTasks  = 32 // of a CPU
	keptSizes  = 32 // of a type
	keptRanked = 1500
)

// A law is made of so many stacks at least.
const lawStacks = 1000

// growthStep is how many times as many stacks there are at the next point of the curve.
const growthStep = 1.1

// LearnOptions say what a Model is to tell of its trace.
type LearnOptions struct {
	From   string                 // [Learned.From]
	About  *About                 // [Model.About]
	Comm   func(pid int32) string // names of tasks; nil: none
	Memory *budget.Budget         // limits what is kept of tasks and different stacks; nil: the default size
}

// Learn reads src to its end and returns the model of it. It fails if src does, if there
// is no event, and if there are more different stacks, CPUs or types than a model holds.
func Learn(ctx context.Context, src record.Source, opt LearnOptions) (*Model, error) {
	l := learner{memory: budget.OrDefault(opt.Memory), types: map[string]*learnedType{}}
	var r record.Record
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r = record.Record{}
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = l.add(&r)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.events == 0 {
		return nil, errors.New("there is no event to learn from")
	}
	return l.model(opt), nil
}

// learner counts what the tables of a model are made of.
type learner struct {
	memory       *budget.Budget
	events, lost uint64
	first, last  uint64 // times
	cpus         []*learnedCPU
	types        map[string]*learnedType
	kernel, user learnedStacks
}

type learnedCPU struct {
	events, again   uint64
	first, last     uint64
	pid             int32
	gaps            [65]Pair // by the number of their binary digits: sum, count
	tasks           map[int32]uint64
	typ             *learnedType // of the last event
	kernel, user    bool         // whether that has had its stack
	lastType        *event.Type
	lastTypeCounted *learnedType
}

type learnedType struct {
	events, kernel, user uint64
	sizes                map[int]uint64
}

func (l *learner) add(r *record.Record) error {
	if r.Kind == record.Lost {
		if r.Count != record.LostUnknown {
			l.lost += r.Count
		}
		return nil
	}
	if r.CPU < 0 || r.CPU >= maxCPUs {
		return fmt.Errorf("an event of CPU %d: a model has %d CPUs at most", r.CPU, maxCPUs)
	}
	for len(l.cpus) <= r.CPU {
		l.cpus = append(l.cpus, nil)
	}
	c := l.cpus[r.CPU]
	if c == nil {
		c = &learnedCPU{tasks: map[int32]uint64{}}
		l.cpus[r.CPU] = c
	}
	switch {
	case r.Kind == record.Event:
		return l.event(c, r)
	case c.typ == nil: // its event was before the trace began
		return nil
	case r.Kind == record.KernelStack:
		if !c.kernel {
			c.kernel = true
			c.typ.kernel++
		}
		return l.kernel.add(r.Stack, l.memory)
	case r.Kind == record.UserStack:
		if !c.user {
			c.user = true
			c.typ.user++
		}
		return l.user.add(r.Stack, l.memory)
	}
	return nil
}

// taskCost is the memory of one more task of a CPU, or one more size of a type.
const taskCost = 64

func (l *learner) event(c *learnedCPU, r *record.Record) error {
	if l.events == 0 || r.Time < l.first {
		l.first = r.Time
	}
	l.last = max(l.last, r.Time)
	l.events++
	if c.events == 0 {
		c.first = r.Time
	} else {
		c.gap(r.Time - min(c.last, r.Time))
		if r.Common.PID == c.pid {
			c.again++
		}
	}
	c.last, c.pid = max(c.last, r.Time), r.Common.PID
	c.events++
	if c.tasks[c.pid]++; c.tasks[c.pid] == 1 {
		if err := l.memory.Take(taskCost, "the tasks of a model"); err != nil {
			return err
		}
	}
	t, err := l.typeOf(c, r.Type)
	if err != nil {
		return err
	}
	c.typ, c.kernel, c.user = t, false, false
	t.events++
	if t.sizes[len(r.Data)]++; t.sizes[len(r.Data)] == 1 {
		return l.memory.Take(taskCost, "the sizes of a model")
	}
	return nil
}

func (l *learner) typeOf(c *learnedCPU, typ *event.Type) (*learnedType, error) {
	if c.lastTypeCounted != nil && typ == c.lastType {
		return c.lastTypeCounted, nil
	}
	name := "unknown:unknown"
	if typ != nil {
		name = typ.System + ":" + typ.Name
	}
	t := l.types[name]
	if t == nil {
		if len(l.types) == maxTypes {
			return nil, fmt.Errorf("event %s: a model has %d types of events at most", name, maxTypes)
		}
		t = &learnedType{sizes: map[int]uint64{}}
		l.types[name] = t
	}
	c.lastType, c.lastTypeCounted = typ, t
	return t, nil
}

func (c *learnedCPU) gap(ns uint64) {
	g := &c.gaps[bits.Len64(ns)]
	g[0] += ns
	g[1]++
}

// model makes the tables.
func (l *learner) model(opt LearnOptions) *Model {
	m := &Model{
		Schema: Schema, About: opt.About,
		Learned: Learned{
			From: opt.From, Events: l.events, Lost: l.lost, Seconds: float64(l.last-l.first) / 1e9,
			first: l.first, last: l.last,
		},
		Kernel: l.kernel.model(), User: l.user.model(),
	}
	for n, c := range l.cpus {
		if c != nil && c.events > 0 {
			m.CPUs = append(m.CPUs, l.cpu(n, c, opt.Comm))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.types)) {
		t := l.types[name]
		e := Event{Name: name, Events: t.events, Kernel: t.kernel, User: t.user}
		for _, size := range slices.Sorted(maps.Keys(t.sizes)) {
			e.Sizes = append(e.Sizes, Pair{uint64(size), t.sizes[size]})
		}
		e.Sizes = merged(e.Sizes, keptSizes)
		m.Events = append(m.Events, e)
	}
	slices.SortStableFunc(m.Events, func(a, b Event) int { return cmp.Compare(b.Events, a.Events) })
	return m
}

func (l *learner) cpu(n int, c *learnedCPU, comm func(int32) string) CPU {
	out := CPU{CPU: n, Events: c.events}
	if l.last > l.first {
		c.gap(c.first - l.first + l.last - c.last)
		for _, g := range c.gaps {
			if g[1] > 0 {
				out.Gaps = append(out.Gaps, Pair{(g[0] + g[1]/2) / g[1], g[1]})
			}
		}
	}
	pids := slices.SortedFunc(maps.Keys(c.tasks), func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.tasks[b], c.tasks[a]), cmp.Compare(a, b))
	})
	same := 0.0 // the probability that two events are of one task, whenever they come
	for i, pid := range pids {
		events := c.tasks[pid]
		same += math.Pow(float64(events)/float64(c.events), 2)
		if i >= keptTasks {
			out.Others[0]++
			out.Others[1] += events
			continue
		}
		t := Task{PID: pid, Events: events}
		if comm != nil {
			t.Comm = comm(pid)
		}
		out.Tasks = append(out.Tasks, t)
	}
	if c.events > 1 && same < 1 {
		again := (float64(c.again)/float64(c.events-1) - same) / (1 - same)
		out.Again = rounded(min(max(0, again), 0.9999))
	}
	return out
}

// merged puts neighbours of a list that is sorted by size together until there are at
// most limit, always the two that are fewest.
func merged(sizes []Pair, limit int) []Pair {
	for len(sizes) > limit {
		at := 0
		for n := 1; n+1 < len(sizes); n++ {
			if sizes[n][1]+sizes[n+1][1] < sizes[at][1]+sizes[at+1][1] {
				at = n
			}
		}
		a, b := sizes[at], sizes[at+1]
		count := a[1] + b[1]
		sizes[at] = Pair{max(event.CommonSize, (a[0]*a[1]+b[0]*b[1]+count/2)/count), count}
		sizes = slices.Delete(sizes, at+1, at+2)
	}
	return sizes
}

// rounded keeps four digits, which is what a file needs.
func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }
