package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"ftracelab/budget"
	"ftracelab/internal/strictyaml"
	"ftracelab/report"
)

// Schema is the value of the key schema.
const Schema = "ftracelab/model/2"

// schema1 is that of older files, which are read, too: their stacks have no Own.
const schema1 = "ftracelab/model/1"

// Model is what was learned of a trace.
type Model struct {
	Schema  string  `yaml:"schema"`
	About   *About  `yaml:"about,omitempty"` // nil: nobody has said anything
	Learned Learned `yaml:"learned"`
	CPUs    []CPU   `yaml:"cpus"`
	Events  []Event `yaml:"events"`
	Kernel  *Stacks `yaml:"kernel-stacks,omitempty"` // nil: there were none
	User    *Stacks `yaml:"user-stacks,omitempty"`
}

// About is what a person says of a model to those who get it.
type About struct {
	Title  string `yaml:"title"`  // one line
	Source string `yaml:"source"` // what ran, and what was recorded of it
	Kernel string `yaml:"kernel"`
	Date   string `yaml:"date"`  // of the capture
	Lacks  string `yaml:"lacks"` // what the model does not hold
}

// Learned says what a model was learned from.
type Learned struct {
	From    string  `yaml:"from"`
	Events  uint64  `yaml:"events"`
	Lost    uint64  `yaml:"lost"`    // events that are known to be missing
	Seconds float64 `yaml:"seconds"` // 0: the trace had no times
	// HeldOut is how well the first half of the trace predicted the second; nil: nobody
	// has tried.
	HeldOut *Misses `yaml:"held-out,omitempty"`
	// Slices is how well every second of [Slices] slices predicted the others; nil: nobody
	// has tried.
	Slices *Misses `yaml:"held-out-slices,omitempty"`

	first, last uint64 // the times of the trace, for [Model.HoldOut]
}

// Pair and Triple are rows of numbers. They take one line in the file.
type (
	Pair   [2]uint64
	Triple [3]uint64
)

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *Pair) UnmarshalYAML(n *yaml.Node) error { return row(p[:], n) }

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Triple) UnmarshalYAML(n *yaml.Node) error { return row(t[:], n) }

func row(to []uint64, n *yaml.Node) error {
	var numbers []uint64
	if err := n.Decode(&numbers); err != nil {
		return err
	}
	if len(numbers) != len(to) {
		return fmt.Errorf("line %d: a row of %d numbers: want %d", n.Line, len(numbers), len(to))
	}
	copy(to, numbers)
	return nil
}

// CPU is what one CPU recorded.
type CPU struct {
	CPU    int    `yaml:"cpu"`
	Events uint64 `yaml:"events"`
	// Gaps are times between one event and the next: nanoseconds, and how often. Each row
	// is the mean of the gaps that have as many binary digits. The time before the CPU's
	// first event and after its last is a gap, too, so that all of them add up to the
	// length of the trace.
	Gaps []Pair `yaml:"gaps,flow,omitempty"`
	// Again is the probability that an event is of the same task as the one before it
	// because that one goes on running.
	Again float64 `yaml:"again"`
	// Tasks are those with the most events, and Others the number and the events of all
	// others.
	Tasks  []Task `yaml:"tasks,flow,omitempty"`
	Others Pair   `yaml:"others,flow"`
}

// Task is a task's part of a CPU's events.
type Task struct {
	PID    int32  `yaml:"pid"`
	Comm   string `yaml:"comm,omitempty"`
	Events uint64 `yaml:"events"`
}

// Event is a type of events.
type Event struct {
	Name   string `yaml:"name"` // SYSTEM:NAME
	Events uint64 `yaml:"events"`
	Kernel uint64 `yaml:"with-kernel-stack"` // of Events
	User   uint64 `yaml:"with-user-stack"`
	// Sizes are bytes of a record, common header included, and how many have them.
	Sizes []Pair `yaml:"sizes,flow"`
}

// Stacks is how often stacks came.
type Stacks struct {
	// Ranked are the stacks, from the most common to the rarest: how often a stack came,
	// how many addresses it has, and how many different stacks are like that.
	Ranked []Triple `yaml:"ranked,flow"`
	// Growth is how many of the first stacks were different: points of a curve.
	Growth []Pair `yaml:"growth,flow"`
	// Own says of the different stacks how many addresses, on the leaf's side, each had for
	// itself when it first came: those behind the callers that it shared with a stack before
	// it. A row is a number of addresses, and how many stacks have so many.
	Own []Pair `yaml:"own,flow,omitempty"`
	// Exponent of Heaps' law, by which the curve goes on behind its last point. nil: there
	// were too few stacks for a law.
	Exponent *float64 `yaml:"exponent,omitempty"`
}

// Bounds of a model: they limit what drawing from it takes.
const (
	maxCPUs   = 1024
	maxTypes  = 4096
	maxRecord = 1 << 16
	maxDepth  = 4096
	maxStacks = 1 << 18
	maxCount  = 1 << 40
)

// MaxBytes is how long the text of a model may be.
const MaxBytes = 1 << 20

// parseCost is the memory that reading takes for each byte of the text.
const parseCost = 100

// Parse reads a model from YAML and checks it. The error names the line and what is
// allowed there. The memory that it takes is taken from memory; nil is a budget of the
// default size.
func Parse(text []byte, memory *budget.Budget) (*Model, error) {
	if len(text) > MaxBytes {
		return nil, errTooLong
	}
	if err := budget.OrDefault(memory).Take(parseCost*int64(len(text)), "the text of a model"); err != nil {
		return nil, err
	}
	m := new(Model)
	if err := strictyaml.Decode(text, m); err != nil {
		return nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, locate(text, err)
	}
	return m, nil
}

var errTooLong = fmt.Errorf("the text of a model has %d bytes at most", MaxBytes)

// ParseAbout reads an About from YAML, as Parse reads a model.
func ParseAbout(text []byte) (*About, error) {
	a := new(About)
	if err := strictyaml.Decode(text, a); err != nil {
		return nil, err
	}
	if err := a.validate(); err != nil {
		return nil, locate(text, err)
	}
	return a, nil
}

// Short says, one sentence each, for what m was learned from too little.
func (m *Model) Short() (short []string) {
	for _, s := range []struct {
		whose string
		*Stacks
	}{{"kernel", m.Kernel}, {"user", m.User}} {
		if s.Stacks == nil || s.Exponent != nil {
			continue
		}
		short = append(short, fmt.Sprintf("the trace has %s %s stacks, too few for a law of new ones (%s): no more than that can be drawn",
			report.Group(s.Growth[len(s.Growth)-1][0]), s.whose, report.Group(lawStacks)))
	}
	return short
}

// Write writes m as YAML. It writes nothing if the text would be longer than Parse reads.
func (m *Model) Write(w io.Writer) error {
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(m), e.Close()); err != nil {
		return err
	}
	if text.Len() > MaxBytes {
		return errTooLong
	}
	_, err := w.Write(text.Bytes())
	return err
}
