package tracer

import (
	"fmt"
	"slices"
	"strconv"

	"ftracelab/tracer/functions"

	"ftracelab/workload/machine"
)

// functions yields the functions that can be traced, in the order of
// available_filter_functions.
//
// Kernel: do_for_each_ftrace_rec, kernel/trace/ftrace.c.
func (ft *Ftrace) functions(yield func(machine.Symbol) bool) {
	for _, s := range ft.machine.Kallsyms().All() {
		if s.Traceable && !yield(s) {
			return
		}
	}
}

// showFunctions is the text of available_filter_functions.
//
// Kernel: t_show, kernel/trace/ftrace.c.
func (ft *Ftrace) showFunctions() ([]byte, error) {
	var text []byte
	for s := range ft.functions {
		text = append(appendFunction(text, s), '\n')
	}
	return text, nil
}

// showFunctionAddresses is the text of available_filter_functions_addrs.
func (ft *Ftrace) showFunctionAddresses() ([]byte, error) {
	var text []byte
	for s := range ft.functions {
		text = append(strconv.AppendUint(text, s.IP(), 16), ' ')
		text = append(appendFunction(text, s), '\n')
	}
	return text, nil
}

func appendFunction(text []byte, s machine.Symbol) []byte {
	text = append(text, s.Name...)
	if s.Module != "" {
		text = append(append(append(text, " ["...), s.Module...), ']')
	}
	return text
}

// appendFunctionAt appends the function whose patched call is at ip: of one whose
// module went, a bare 0x0.
func (ft *Ftrace) appendFunctionAt(text []byte, ip uint64) []byte {
	name, module, _, _, ok := ft.machine.Kallsyms().Lookup(ip)
	if !ok {
		return fmt.Appendf(text, "%#x", ip)
	}
	return appendFunction(text, machine.Symbol{Name: name, Module: module})
}

// showEnabledFunctions is the text of enabled_functions: what is traced now and
// by how many.
func (ft *Ftrace) showEnabledFunctions() ([]byte, error) {
	var text []byte
	if ft.functionsEnabled == 0 {
		return nil, nil
	}
	for s := range ft.functions {
		if users, _ := ft.users(s.IP()); users > 0 {
			text = ft.appendUsers(text, s)
		}
	}
	return text, nil
}

// showTouchedFunctions is the text of touched_functions: what was ever traced.
func (ft *Ftrace) showTouchedFunctions() ([]byte, error) {
	var text []byte
	for s := range ft.functions {
		if ip := s.IP(); ft.touched[ip] || ft.touchedAll && !ft.untouched[ip] {
			text = ft.appendUsers(text, s)
		}
	}
	return text, nil
}

// users counts who traces a function; one is the latest of them.
func (ft *Ftrace) users(ip uint64) (count int, one *functions.Ops) {
	for n := len(ft.ops) - 1; n >= 0; n-- {
		if o := ft.ops[n]; o.Traces(ip) {
			count, one = count+1, o
		}
	}
	return count, one
}

// appendUsers appends a line of enabled_functions, with D where a module takes calls
// directly, and R where somebody wants all registers. The blanks are flags that belong to
// what is not here, such as live patching.
//
// Departure: the addresses of trampolines are made up.
func (ft *Ftrace) appendUsers(text []byte, s machine.Symbol) []byte {
	users, one := ft.users(s.IP())
	regs := " "
	if ft.wantsRegs(s.IP()) {
		regs = "R"
	}
	if ft.functionsEnabled == 0 {
		users = 0
	}
	direct, isDirect := ft.directAt(s), " "
	if direct == nil || users == 0 {
		direct = nil
	} else {
		isDirect = "D"
	}
	text = fmt.Appendf(appendFunction(text, s), " (%d) %s   %s     ", users, regs, isDirect)
	switch {
	case users == 1:
		handler := ft.symbolSize(one.Handler)
		text = fmt.Appendf(text, "\ttramp: 0x%016x (%s) ->%s", one.Trampoline, handler, handler)
	case users > 1:
		text = fmt.Appendf(text, " ->%s", ft.symbolSize("arch_ftrace_ops_list_func"))
	}
	if direct != nil {
		text = fmt.Appendf(text, "\n\tdirect-->%s", symbolSize(direct.To()))
	}
	return append(text, '\n')
}

// wantsRegs reports whether a user of a function wants all registers.
func (ft *Ftrace) wantsRegs(ip uint64) bool {
	return slices.ContainsFunc(ft.ops, func(o *functions.Ops) bool { return o.Regs && o.Traces(ip) })
}

// symbolSize is a function as %pS prints its address.
func (ft *Ftrace) symbolSize(name string) string {
	s, ok := ft.machine.Kallsyms().ByName(name)
	if !ok {
		return name
	}
	return symbolSize(s)
}

func symbolSize(s machine.Symbol) string {
	module := ""
	if s.Module != "" {
		module = " [" + s.Module + "]"
	}
	return fmt.Sprintf("%s+0x0/%#x%s", s.Name, s.Size, module)
}

// trampolines is where the first trampoline is: the start of the modules' space.
const trampolines = 0xffffffffc0000000

// freeTrampoline is the lowest page that no user's trampoline takes.
func (ft *Ftrace) freeTrampoline() uint64 {
	taken := make(map[uint64]bool, len(ft.ops))
	for _, o := range ft.ops {
		taken[o.Trampoline] = true
	}
	at := uint64(trampolines)
	for taken[at] {
		at += 4096
	}
	return at
}

// touch remembers which functions are traced now.
//
// Kernel: FTRACE_FL_TOUCHED, include/linux/ftrace.h.
func (ft *Ftrace) touch() {
	for _, o := range ft.ops {
		if o.Hash != nil {
			ft.touchHash(o.Hash)
		}
	}
	for _, g := range ft.graphHashes {
		ft.touchHash(g.hash)
	}
}

func (ft *Ftrace) touchHash(h *functions.OpsHash) {
	switch {
	case ft.touchedAll && len(ft.untouched) == 0:
	case h.Filter.Empty() && h.Notrace.Count == 0:
		ft.touchedAll = true
		clear(ft.untouched)
	case h.Filter.Empty():
		for s := range ft.functions {
			if ip := s.IP(); !h.Notrace.Has(ip) {
				ft.touched[ip] = true
			}
		}
	default:
		for ip := range h.Filter.All {
			if !h.Notrace.Has(ip) {
				ft.touched[ip] = true
			}
		}
	}
}

// touchModule notes that the functions of a module have not been traced: it has just
// come, or goes and another may have its addresses.
func (ft *Ftrace) touchModule(name string, loaded bool) {
	for s := range ft.functions {
		if s.Module != name {
			continue
		}
		delete(ft.touched, s.IP())
		if delete(ft.untouched, s.IP()); loaded && ft.touchedAll {
			ft.untouched[s.IP()] = true
		}
	}
}
