package tracer

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/functions"
)

// graphFilters select the calls that function_graph shows: set_graph_function,
// set_graph_notrace and max_graph_depth. They belong to the kernel, not to an
// instance.
type graphFilters struct {
	ft       *Ftrace
	filter   functions.Hash
	notrace  functions.Hash
	maxDepth uint32 // 0: no limit
}

// files returns the files of the filters.
func (g *graphFilters) files() []tracefile.Node {
	return []tracefile.Node{
		g.file("set_graph_function", &g.filter, "#### all functions enabled ####\n"),
		g.file("set_graph_notrace", &g.notrace, "#### no functions disabled ####\n"),
		g.ft.top.value("max_graph_depth", 0o640, func() string { return strconv.FormatUint(uint64(g.maxDepth), 10) + "\n" }, g.setMaxDepth),
	}
}

// file is set_graph_function or set_graph_notrace: the functions that function_graph
// shows, or leaves out, together with everything they call.
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

// word carries out one word that was written. Unlike in set_ftrace_filter, a number
// is not an index, and removing a function that is not in the set is an error.
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

// The word that function_graph keeps with a task says whether the task is inside a
// function of set_graph_function, the depth of that function (two bits of it), and
// whether the task is inside a function of set_graph_notrace.
//
// Kernel: TRACE_GRAPH_FL and its kin, kernel/trace/trace.h.
const (
	graphInside     = 1 << 0
	graphDepthShift = 2
	graphDepthMask  = 3 << graphDepthShift
	graphNotrace    = 1 << 4
)

// selects reports whether a call is inside a function of set_graph_function, or is
// the call of such a function.
//
// A task that calls such a function while tracing is off counts as inside it. But the
// return is not waited for, because the entry found no room. So until a call at the
// same depth returns, calls are shown whatever they are. That is why a trace often
// begins with one call that was not asked for; perf ftrace -G, which sets the tracer
// before tracing_on, shows it, too.
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
	// A function that an interrupt called is shown in spite of nofuncgraph-irqs.
	g.ft.data(c.Current).graphIRQ = c.InHardIRQ
	return true
}

// graphLeaves ends, at the function's return, what selects began.
//
// Kernel: ftrace_graph_addr_finish, kernel/trace/trace.h.
func graphLeaves(word *uint64, ret fgraph.Ret) {
	if *word&graphInside != 0 && uint64(ret.Depth) == *word&graphDepthMask>>graphDepthShift {
		*word &^= graphInside
	}
}

// setMaxDepth handles a write to max_graph_depth; only the low 32 bits count.
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
