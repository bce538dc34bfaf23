package functions

import (
	"fmt"
	"slices"
	"strconv"

	"ftracelab/machine"
)

// All yields the functions that can be traced, in the order of
// available_filter_functions.
//
// Kernel: do_for_each_ftrace_rec, kernel/trace/ftrace.c.
func (u *Users) All(yield func(machine.Symbol) bool) {
	for _, s := range u.machine.Kallsyms().All() {
		if s.Traceable && !yield(s) {
			return
		}
	}
}

// ShowFunctions returns the text of available_filter_functions.
//
// Kernel: t_show, kernel/trace/ftrace.c.
func (u *Users) ShowFunctions() ([]byte, error) {
	var text []byte
	for s := range u.All {
		text = append(Append(text, s), '\n')
	}
	return text, nil
}

// ShowAddresses returns the text of available_filter_functions_addrs.
func (u *Users) ShowAddresses() ([]byte, error) {
	var text []byte
	for s := range u.All {
		text = append(strconv.AppendUint(text, s.IP(), 16), ' ')
		text = append(Append(text, s), '\n')
	}
	return text, nil
}

// Append appends a function as files list it: with its module.
func Append(text []byte, s machine.Symbol) []byte {
	text = append(text, s.Name...)
	if s.Module != "" {
		text = append(append(append(text, " ["...), s.Module...), ']')
	}
	return text
}

// AppendAt appends the function whose patched call is at ip. For a function whose module
// was unloaded, ip is 0 and AppendAt appends 0x0.
func (u *Users) AppendAt(text []byte, ip uint64) []byte {
	name, module, _, _, ok := u.machine.Kallsyms().Lookup(ip)
	if !ok {
		return fmt.Appendf(text, "%#x", ip)
	}
	return Append(text, machine.Symbol{Name: name, Module: module})
}

// ShowEnabled returns the text of enabled_functions: the functions that are traced now,
// each with the number of its users.
func (u *Users) ShowEnabled() ([]byte, error) {
	var text []byte
	if u.Enabled == 0 {
		return nil, nil
	}
	for s := range u.All {
		if users, _ := u.users(s.IP()); users > 0 {
			text = u.appendUsers(text, s)
		}
	}
	return text, nil
}

// ShowTouched returns the text of touched_functions: the functions that were ever
// traced.
func (u *Users) ShowTouched() ([]byte, error) {
	var text []byte
	for s := range u.All {
		if ip := s.IP(); u.touched[ip] || u.touchedAll && !u.untouched[ip] {
			text = u.appendUsers(text, s)
		}
	}
	return text, nil
}

// users counts the users that trace a function; one is the user that is called first.
func (u *Users) users(ip uint64) (count int, one *Ops) {
	for n := len(u.ops) - 1; n >= 0; n-- {
		if o := u.ops[n]; o.Traces(ip) {
			count, one = count+1, o
		}
	}
	return count, one
}

// appendUsers appends a line of enabled_functions. It has D if a module takes the calls
// directly, and R if a user wants all registers. The blanks stand for flags of features
// that do not exist here, such as live patching.
//
// Departure: the addresses of trampolines are made up.
func (u *Users) appendUsers(text []byte, s machine.Symbol) []byte {
	users, one := u.users(s.IP())
	regs := " "
	if u.wantsRegs(s.IP()) {
		regs = "R"
	}
	if u.Enabled == 0 {
		users = 0
	}
	direct, isDirect := u.directAt(s), " "
	if direct == nil || users == 0 {
		direct = nil
	} else {
		isDirect = "D"
	}
	text = fmt.Appendf(Append(text, s), " (%d) %s   %s     ", users, regs, isDirect)
	switch {
	case users == 1:
		handler := u.symbolSize(one.Handler)
		text = fmt.Appendf(text, "\ttramp: 0x%016x (%s) ->%s", one.Trampoline, handler, handler)
	case users > 1:
		text = fmt.Appendf(text, " ->%s", u.symbolSize("arch_ftrace_ops_list_func"))
	}
	if direct != nil {
		text = fmt.Appendf(text, "\n\tdirect-->%s", symbolSize(direct.To()))
	}
	return append(text, '\n')
}

// wantsRegs reports whether a user of a function wants all registers.
func (u *Users) wantsRegs(ip uint64) bool {
	return slices.ContainsFunc(u.ops, func(o *Ops) bool { return o.Regs && o.Traces(ip) })
}

// symbolSize returns a function as %pS prints its address.
func (u *Users) symbolSize(name string) string {
	s, ok := u.machine.Kallsyms().ByName(name)
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

// freeTrampoline returns the lowest page that is not the trampoline of any user.
func (u *Users) freeTrampoline() uint64 {
	taken := make(map[uint64]bool, len(u.ops))
	for _, o := range u.ops {
		taken[o.Trampoline] = true
	}
	at := uint64(trampolines)
	for taken[at] {
		at += 4096
	}
	return at
}

// Touch notes that a function has been traced.
func (u *Users) Touch(ip uint64) { u.touched[ip] = true }

// Settle remembers which functions are traced now.
//
// Kernel: FTRACE_FL_TOUCHED, include/linux/ftrace.h.
func (u *Users) Settle() {
	if u.Enabled == 0 {
		return
	}
	for _, o := range u.ops {
		if o.Hash != nil {
			u.touchHash(o.Hash)
		}
	}
	for _, g := range u.graphHashes {
		u.touchHash(g.hash)
	}
}

func (u *Users) touchHash(h *OpsHash) {
	switch {
	case u.touchedAll && len(u.untouched) == 0:
	case h.Filter.Empty() && h.Notrace.Count == 0:
		u.touchedAll = true
		clear(u.untouched)
	case h.Filter.Empty():
		for s := range u.All {
			if ip := s.IP(); !h.Notrace.Has(ip) {
				u.touched[ip] = true
			}
		}
	default:
		for ip := range h.Filter.All {
			if !h.Notrace.Has(ip) {
				u.touched[ip] = true
			}
		}
	}
}

// touchModule notes that the functions of a module have not been traced. It is called
// when the module was loaded, and when it is unloaded, because another module may get
// its addresses.
func (u *Users) touchModule(name string, loaded bool) {
	for s := range u.All {
		if s.Module != name {
			continue
		}
		delete(u.touched, s.IP())
		if delete(u.untouched, s.IP()); loaded && u.touchedAll {
			u.untouched[s.IP()] = true
		}
	}
}
