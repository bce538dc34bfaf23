// Package returnhooks compares the ways in which Linux has seen functions return, from the
// slots of 2008 to fprobes on the shadow stack: the same calls, made by the same
// simulated machine, through each of them. [Run] makes a [Table] of what each has seen,
// what it has missed and why, how much memory it keeps, and what a hit does to memory.
//
// Nanoseconds of this program would say nothing about a kernel, so none are measured.
package returnhooks

import (
	"fmt"
	"slices"

	"ftracelab/fgraph"
	"ftracelab/fgraph/rethook"
	"ftracelab/fgraph/work"
	"ftracelab/machine"
	"ftracelab/workload"
)

// Options say what is run.
type Options struct {
	Scenario  string   // "" is the usual mix
	Functions []string // whose returns are wanted; without any: schedule
	CPUs      int
	Seed      uint64
	Duration  machine.Time
}

// Table is the result: a row for each design.
type Table struct {
	Functions []string     `json:"functions"`
	Seconds   float64      `json:"simulated_seconds"`
	CPUs      int          `json:"cpus"`
	Seed      uint64       `json:"seed"`
	Tasks     int          `json:"tasks"` // that were alive at the end
	Designs   []Row        `json:"designs"`
	Published []Comparison `json:"published"`
	Explains  []string     `json:"explains"`
}

// Row is what one design has done.
type Row struct {
	Name      string `json:"name"`
	What      string `json:"what"`
	EntryOnly bool   `json:"entry_only,omitempty"` // Seen counts entries
	Calls     uint64 `json:"calls"`
	Seen      uint64 `json:"seen"`
	Missed    uint64 `json:"missed"`
	Why       string `json:"why,omitempty"` // of Missed
	// InFlight are calls that were hooked and had not returned at the end; those of
	// tasks that have ended are among them.
	InFlight    uint64 `json:"in_flight"`
	PerTask     int    `json:"bytes_per_task"`
	PerFunction int    `json:"bytes_per_function"`
	Fixed       int    `json:"bytes_once"`
	// What a call and its return did to memory, on average over Calls.
	PerHit PerHit `json:"per_hit"`
}

// PerHit is a [work.Count] divided by the number of calls.
type PerHit struct {
	Atomic  float64 `json:"atomic_shared"`
	Words   float64 `json:"words_written"`
	Lines   float64 `json:"cache_lines"`
	Lookups float64 `json:"hash_lookups"`
}

// Run makes the machine do the same for every design. Errors: a scenario or function
// that does not exist, and a machine that is not possible.
func Run(opt Options) (*Table, error) {
	if len(opt.Functions) == 0 {
		opt.Functions = []string{"schedule"}
	}
	t := &Table{
		Functions: opt.Functions, Seconds: float64(opt.Duration) / 1e9, CPUs: opt.CPUs, Seed: opt.Seed,
	}
	for _, d := range designs() {
		row, tasks, err := one(d, opt)
		if err != nil {
			return nil, err
		}
		t.Tasks = tasks
		t.Designs = append(t.Designs, row)
	}
	t.compare()
	return t, nil
}

// one runs the machine with one design.
func one(d design, opt Options) (row Row, tasksLeft int, err error) {
	scenario, err := workload.Find(opt.Scenario)
	if err != nil {
		return row, 0, err
	}
	m, err := machine.New(machine.Config{CPUs: opt.CPUs, Seed: opt.Seed})
	if err != nil {
		return row, 0, err
	}
	if err := scenario.Start(m); err != nil {
		return row, 0, err
	}
	s := &site{
		cpus: opt.CPUs, work: new(work.Count),
		tasks: tasks{map[*machine.Task]*rethook.Task{}, map[*machine.Task]*fgraph.Stack{}},
	}
	for _, name := range opt.Functions {
		f, ok := m.Kallsyms().ByName(name)
		if !ok || !f.Traceable {
			return row, 0, fmt.Errorf("function %q: there is none that can be traced", name)
		}
		if !slices.Contains(s.fns, f.IP()) {
			s.fns = append(s.fns, f.IP())
		}
	}
	row = Row{Name: d.name, What: d.what}
	s.seen = func() { row.Seen++ }
	h := d.make(s)
	wanted := map[uint64]bool{}
	for _, fn := range s.fns {
		wanted[fn] = true
	}
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		if wanted[f.IP] {
			row.Calls++
			h.call(c, f)
		}
	}
	m.Hooks.Return = func(c *machine.CPU, f *machine.Frame) {
		for f.Replaced() {
			h.leave(c, f)
		}
	}
	m.Hooks.Exit = func(t *machine.Task) {
		if h.exit != nil {
			h.exit(t)
		}
	}
	m.Run(opt.Duration)
	row.EntryOnly, row.Missed = h.entryOnly, h.missed()
	if row.Missed > 0 {
		row.Why = h.why
	}
	row.InFlight = row.Calls - row.Seen - row.Missed
	row.PerTask, row.PerFunction, row.Fixed = h.perTask, h.perFunction, h.fixed
	if n := float64(row.Calls); n > 0 {
		w := s.work
		row.PerHit = PerHit{float64(w.Atomic) / n, float64(w.Words) / n, float64(w.Lines) / n, float64(w.Lookups) / n}
	}
	return row, len(m.Tasks()), nil
}
