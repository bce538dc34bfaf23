package main

import (
	"cmp"
	"slices"

	"ftracelab/machine"
	"ftracelab/workload"
)

// returnCaptures are captures of function_graph on a kernel that is built with
// CONFIG_FUNCTION_GRAPH_RETVAL.
var returnCaptures = []string{
	"function_graph/graph_default", "function_graph/graph_depth3", "function_graph/graph_retval", "function_graph/graph_setfn",
	"function_graph/graph_vfs", "function_graph/graph_wrap", "extra/graph_stack",
}

// Offsets in funcgraph_exit.
const (
	exitFunc   = 8
	exitRetval = 16
)

// learnReturns finds the value that each function returned most often; if several are
// equally common, it takes the smallest. The functions of that kernel are found in ks
// by their names. Pointers to that kernel's own text and data are left out, because
// they mean nothing here.
func learnReturns(o oracle, ks *machine.Kallsyms) ([]workload.Return, error) {
	ids, err := eventIDs(o)
	if err != nil {
		return nil, err
	}
	syms, err := readSymbols(o)
	if err != nil {
		return nil, err
	}
	names := map[uint64]string{}
	for _, s := range syms {
		if names[s.Addr] == "" {
			names[s.Addr] = s.Name
		}
	}
	counts := map[workload.Return]int{}
	for _, dir := range returnCaptures {
		records, err := readCapture(o, dir)
		if err != nil {
			return nil, err
		}
		for i := range records {
			r := &records[i]
			if r.typ != ids["ftrace/funcgraph_exit"] || inImage(r.u64(exitRetval)) {
				continue
			}
			if s, ok := ks.ByName(names[r.u64(exitFunc)]); ok {
				counts[workload.Return{Func: s.Addr, Value: r.u64(exitRetval)}]++
			}
		}
	}
	var list []workload.Return
	for r := range counts {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b workload.Return) int {
		return cmp.Or(cmp.Compare(a.Func, b.Func), cmp.Compare(counts[b], counts[a]), cmp.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(list, func(a, b workload.Return) bool { return a.Func == b.Func }), nil
}

// inImage reports whether v is an address in the kernel's image or in its modules.
func inImage(v uint64) bool { return v >= 0xffffffff80000000 && v < 0xffffffffff000000 }
