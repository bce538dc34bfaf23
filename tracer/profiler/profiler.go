// Package profiler is the function profiler: it counts calls of functions and adds up
// their times, by CPU.
//
// Kernel: CONFIG_FUNCTION_PROFILER, kernel/trace/ftrace.c.
package profiler

import (
	"cmp"
	"fmt"
	"slices"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/plugin"
)

// Host is what the profiler needs of ftrace.
type Host interface {
	plugin.Ftrace
	// RegisterGraph calls ops for the functions that the top instance traces, until
	// UnregisterGraph. The error says that there is no room for another user.
	RegisterGraph(ops *fgraph.Ops) error
	UnregisterGraph(ops *fgraph.Ops)
	// Subtime is a word on the shadow stack, of the function that returns or of one that
	// is up callers further out. It is nil if there is none.
	Subtime(s *fgraph.Stack, up int) *uint64
	// GraphTime is options/graph-time of the top instance: a function's time includes
	// the time of the functions that it called.
	GraphTime() bool
}

// Profiler is the state of the profiler.
type Profiler struct {
	ft   Host
	ops  fgraph.Ops
	on   bool
	cpus []map[uint64]*profile // nil before it was first switched on
}

// New returns a profiler that is switched off.
func New(ft Host) *Profiler { return &Profiler{ft: ft} }

// profile is what is known of a function on one CPU; times are in ns.
//
// Kernel: struct ftrace_profile, kernel/trace/ftrace.c.
type profile struct {
	ip                 uint64
	order              int // of its first call
	hits, time, timeSq uint64
}

// entry counts a call. It wants every return.
//
// Kernel: profile_graph_entry, kernel/trace/ftrace.c.
func (p *Profiler) entry(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
	cpu := p.cpus[c.ID]
	f := cpu[call.Func]
	if f == nil {
		f = &profile{ip: call.Func, order: len(cpu)}
		cpu[call.Func] = f
	}
	f.hits++
	if sub := p.ft.Subtime(s, 0); sub != nil {
		*sub = 0
	}
	return true
}

// leave adds up what a call took: with nograph-time without what the
// functions it called took.
//
// Kernel: profile_graph_return, kernel/trace/ftrace.c.
func (p *Profiler) leave(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
	took := ret.Rettime - ret.Calltime
	if !p.ft.GraphTime() {
		if caller := p.ft.Subtime(s, 1); caller != nil {
			*caller += took
		}
		if sub := p.ft.Subtime(s, 0); sub != nil && *sub < took {
			took -= *sub
		} else {
			took = 0
		}
	}
	if f := p.cpus[c.ID][ret.Func]; f != nil { // it may have been called on another CPU
		f.time += took
		f.timeSq += took * took
	}
}

// set switches the profiler; it begins with nothing counted, and what it
// counted stays to be read.
//
// Kernel: ftrace_profile_write, kernel/trace/ftrace.c.
func (p *Profiler) set(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("function_profile_enabled: %w", err)
	}
	if on := n != 0; on == p.on {
		return nil
	}
	if p.on {
		p.ft.UnregisterGraph(&p.ops)
		p.on = false
		return nil
	}
	p.cpus = make([]map[uint64]*profile, len(p.ft.Machine().CPUs()))
	for cpu := range p.cpus {
		p.cpus[cpu] = map[uint64]*profile{}
	}
	p.ops = fgraph.Ops{Entry: p.entry, Return: p.leave}
	if err := p.ft.RegisterGraph(&p.ops); err != nil {
		return fmt.Errorf("function_profile_enabled: %w", err)
	}
	p.on = true
	return nil
}

func (p *Profiler) show() string {
	if p.on {
		return "1\n"
	}
	return "0\n"
}

// Files are function_profile_enabled and the folder trace_stat.
func (p *Profiler) Files() []tracefile.Node {
	ft := p.ft
	return []tracefile.Node{
		ft.Value("function_profile_enabled", 0o640, p.show, p.set),
		&tracefile.Dir{Name: "trace_stat", Mode: 0o750, Children: func() []tracefile.Node {
			var files []tracefile.Node
			for cpu := range ft.Machine().CPUs() {
				files = append(files, ft.Seq(fmt.Sprintf("function%d", cpu), 0o640, func() ([]byte, error) { return p.showCPU(cpu), nil }))
			}
			return files
		}},
	}
}

// showCPU is the text of trace_stat/functionN: what took longest first, and
// of equals what was called later. With a tracing_thresh only functions that
// took so long on average are shown.
//
// Kernel: function_stat_show, kernel/trace/ftrace.c, and insert_stat,
// kernel/trace/trace_stat.c.
func (p *Profiler) showCPU(cpu int) []byte {
	text := []byte("  Function                               Hit    Time            Avg             s^2\n" +
		"  --------                               ---    ----            ---             ---\n")
	if p.cpus == nil {
		return text
	}
	for _, f := range sortedProfiles(p.cpus[cpu]) {
		avg := f.time / f.hits
		if avg < *p.ft.Threshold() {
			continue
		}
		name, _, _, _, _ := p.ft.Machine().Kallsyms().Lookup(f.ip)
		text = fmt.Appendf(text, "  %-30.30s  %10d    ", name, f.hits)
		text = fgraph.AppendDuration(text, f.time)
		text = fgraph.AppendDuration(append(text, "    "...), avg)
		text = fgraph.AppendDuration(append(text, "    "...), f.variance())
		text = append(text, '\n')
	}
	return text
}

// variance is s² in units of 1000 ns², so that it prints as µs².
func (p *profile) variance() uint64 {
	if denominator := p.hits * (p.hits - 1) * 1000; denominator != 0 {
		return (p.hits*p.timeSq - p.time*p.time) / denominator
	}
	return 0
}

func sortedProfiles(of map[uint64]*profile) []*profile {
	sorted := make([]*profile, 0, len(of))
	for _, p := range of {
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, func(a, b *profile) int {
		if a.time != b.time {
			return cmp.Compare(b.time, a.time)
		}
		return cmp.Compare(b.order, a.order)
	})
	return sorted
}
