package tracer

import (
	"fmt"
	"syscall"

	"ftracelab/tracer/functions"

	"ftracelab/fgraph"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/workload/machine"
)

// graphFilterFile is set_graph_function or set_graph_notrace: which functions
// function_graph shows with all they call, and which it leaves out with all they
// call. The sets are the kernel's, not an instance's.
//
// Kernel: ftrace_graph_open and ftrace_graph_set_hash, kernel/trace/ftrace.c.
func (tr *Instance) graphFilterFile(name string, set *functions.Hash, none string) tracefile.Node {
	return tr.editFile(name, filterFile{
		show: func() ([]byte, error) { return tr.ft.showGraphFilter(set, none), nil },
		edit: func(trunc bool) functions.Hash {
			if trunc {
				return functions.Hash{}
			}
			return set.Edit()
		},
		word:   tr.ft.graphFilterWord,
		settle: func(edit *functions.Hash) { *set = edit.Settled() },
	})
}

// graphFilterWord does what a word says. Unlike in set_ftrace_filter a number is
// no index, and to take out what is not there is a fault.
func (ft *Ftrace) graphFilterWord(edit *functions.Hash, word string) error {
	m := parseMatch(word)
	found := false
	if !m.byIndex {
		for s := range ft.matching(m, nil) {
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

// showGraphFilter lists the set in the order of the kernel's table.
//
// Kernel: g_show, kernel/trace/ftrace.c.
func (ft *Ftrace) showGraphFilter(set *functions.Hash, none string) []byte {
	if set.Empty() {
		return []byte(none)
	}
	var text []byte
	for ip := range set.All {
		text = append(ft.users.AppendAt(text, ip), '\n')
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

// graphSelects reports whether a call is inside a function of
// set_graph_function, or is the call of one.
//
// A task that calls such a function while tracing is off counts as inside it, though
// its return is not waited for, because the entry found no room: the next call that
// returns to the same depth is then shown, whatever it is. So a trace often begins
// with one call that was not asked for; perf ftrace -G, which sets the tracer before
// tracing_on, shows it, too.
//
// Kernel: ftrace_graph_addr and ftrace_graph_ignore_func, kernel/trace/trace.h.
func (ft *Ftrace) graphSelects(c *machine.CPU, word *uint64, call fgraph.Call) bool {
	if *word&graphInside != 0 || ft.graphFilter.Empty() {
		return true
	}
	if !ft.graphFilter.Has(call.Func) {
		return false
	}
	*word = *word&^graphDepthMask | graphInside | uint64(call.Depth)<<graphDepthShift&graphDepthMask
	// One called by an interrupt is shown in spite of nofuncgraph-irqs.
	ft.data(c.Current).graphIRQ = c.InHardIRQ
	return true
}

// graphLeaves ends what graphSelects began.
//
// Kernel: ftrace_graph_addr_finish, kernel/trace/trace.h.
func graphLeaves(word *uint64, ret fgraph.Ret) {
	if *word&graphInside != 0 && uint64(ret.Depth) == *word&graphDepthMask>>graphDepthShift {
		*word &^= graphInside
	}
}
