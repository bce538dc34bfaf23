package main

import (
	"path/filepath"
	"strings"

	"ftracelab/machine"
)

// stackedCaptures are the captures of Debian's kernel with kernel stacks: those of the
// oracle, and those of the subsystems.
var stackedCaptures = []string{"debian/stacks/kmem_stack", "debian/stacks/sched_stack", "stacks_kmem", "stacks_sched", "stacks_function"}

// addStacked collects who calls whom from recorded stacks. A function that has jumped to
// another one is not on a stack.
func (f *facts) addStacked(oracleDir, subsystems string) error {
	o := oracle(filepath.Join(oracleDir, "debian"))
	syms, err := readSymbols(o)
	if err != nil {
		return err
	}
	hidden := map[string]bool{}
	for _, s := range syms {
		hidden[s.Name] = hidden[s.Name] || s.Module == "" && !s.Traceable
	}
	for _, folder := range stackedCaptures {
		dir := captureDir(oracleDir, subsystems, folder)
		records, err := readFolder(dir)
		if err != nil {
			return err
		}
		modules, err := moduleSymbols(filepath.Join(dir, "kallsyms.modules.txt"))
		if err != nil {
			return err
		}
		kernel := make([]machine.Symbol, 0, len(syms))
		for _, s := range syms {
			if s.Module == "" {
				kernel = append(kernel, s)
			}
		}
		name := namer(kernel, modules)
		for i := range records {
			if r := &records[i]; r.typ == kernelStack {
				f.addStackOf(r, name, hidden)
			}
		}
	}
	return nil
}

func (f *facts) addStackOf(r *record, name func(uint64) string, hidden map[string]bool) {
	n := min(int(r.u32(8)), (len(r.data)-stackFields)/8)
	child := "" // the last function that ftrace can see
	inner := ""
	for i := range n {
		fn := name(r.u64(stackFields + 8*i))
		if inner != "" && !hidden[inner] && fn != "" {
			f.stacked[fact{functionParent, inner, fn}] = true
		}
		inner = fn
		if call, ok := strings.CutPrefix(fn, "__do_sys_"); ok && hidden[fn] && child != "" {
			f.stacked[fact{graphParent, child, "__x64_sys_" + call}] = true // which has jumped there
		}
		if fn == "" || hidden[fn] {
			continue
		}
		if child != "" {
			f.stacked[fact{graphParent, child, fn}] = true
		}
		child = fn
	}
}
