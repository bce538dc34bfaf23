package tracer

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/tracer/functions"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
)

// graphFilters say which calls function_graph shows: set_graph_function,
// set_graph_notrace and max_graph_depth. They are the kernel's, not an instance's.
type graphFilters struct {
	ft       *Ftrace
	filter   functions.Hash
	notrace  functions.Hash
	maxDepth uint32 // 0: no limit
}

// files are their files.
func (g *graphFilters) files() []tracefile.Node {
	return []tracefile.Node{
		g.file("set_graph_function", &g.filter, "#### all functions enabled ####\n"),
		g.file("set_graph_notrace", &g.notrace, "#### no functions disabled ####\n"),
		g.ft.top.value("max_graph_depth", 0o640, func() string { return strconv.FormatUint(uint64(g.maxDepth), 10) + "\n" }, g.setMaxDepth),
	}
}

// file is set_graph_function or set_graph_notrace: which functions function_graph shows
// with all they call, and which it leaves out with all they call.
//
// Kernel: ftrace_graph_open and ftrace_graph_set_hash, kernel/trace/ftrace.c.
func (g *graphFilters) file(name string, set *functions.Hash, none string) tracefile.Node {
	return g.ft.top.editFile(name, filterFile{
		show: func() ([]byte, error) { return g.show(set, none), nil },
		edit: func(trunc bool) functions.Hash {
			if trunc {
				return functions.Hash{}
			}
			return set.Edit()
		},
		word:   g.word,
		settle: func(edit *functions.Hash) { *set = edit.Settled() },
	})
}

// word does what a word says. Unlike in set_ftrace_filter a number is
// no index, and to take out what is not there is a fault.
func (g *graphFilters) word(edit *functions.Hash, word string) error {
	m := parseMatch(word)
	found := false
	if !m.byIndex {
		for s := range g.ft.matching(m, nil) {
			if m.out {
				found = found || edit.Has(s.IP())
				edit.Remove(s.IP())
				continue
			}
			found = true
			edit.Add(s.IP())
		}
	}
	if !found {
		return fmt.Errorf("no function matches %q: %w", word, syscall.EINVAL)
	}
	return nil
}

// show lists the set in the order of the kernel's table.
//
// Kernel: g_show, kernel/trace/ftrace.c.
func (g *graphFilters) show(set *functions.Hash, none string) []byte {
	if set.Empty() {
		return []byte(none)
	}
	var text []byte
	for ip := range set.All {
		text = append(g.ft.users.AppendAt(text, ip), '\n')
	}
	return text
}

// The word function_graph keeps with a task: whether it is inside a function of
// set_graph_function, at which depth that is (two bits of it), and whether it is
// inside one of set_graph_notrace.
//
// Kernel: TRACE_GRAPH_FL and its kin, kernel/trace/trace.h.
const (
	graphInside     = 1 << 0
	graphDepthShift = 2
	graphDepthMask  = 3 << graphDepthShift
	graphNotrace    = 1 << 4
)

// selects reports whether a call is inside a function of
// set_graph_function, or is the call of one.
//
// A task that calls such a function while tracing is off counts as inside it, though
// its return is not waited for, because the entry found no room: the next call that
// returns to the same depth is then shown, whatever it is. So a trace often begins
// with one call that was not asked for; perf ftrace -G, which sets the tracer before
// tracing_on, shows it, too.
//
// Kernel: ftrace_graph_addr and ftrace_graph_ignore_func, kernel/trace/trace.h.
func (g *graphFilters) selects(c *machine.CPU, word *uint64, call fgraph.Call) bool {
	if *word&graphInside != 0 || g.filter.Empty() {
		return true
	}
	if !g.filter.Has(call.Func) {
		return false
	}
	*word = *word&^graphDepthMask | graphInside | uint64(call.Depth)<<graphDepthShift&graphDepthMask
	// One called by an interrupt is shown in spite of nofuncgraph-irqs.
	g.ft.data(c.Current).graphIRQ = c.InHardIRQ
	return true
}

// graphLeaves ends what selects began.
//
// Kernel: ftrace_graph_addr_finish, kernel/trace/trace.h.
func graphLeaves(word *uint64, ret fgraph.Ret) {
	if *word&graphInside != 0 && uint64(ret.Depth) == *word&graphDepthMask>>graphDepthShift {
		*word &^= graphInside
	}
}

// setMaxDepth is a write to max_graph_depth, of which the low 32 bits count.
//
// Kernel: graph_depth_write, kernel/trace/trace_functions_graph.c.
func (g *graphFilters) setMaxDepth(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("max_graph_depth: %w", err)
	}
	g.maxDepth = uint32(n)
	return nil
}
