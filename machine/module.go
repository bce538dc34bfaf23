package machine

import (
	"fmt"
	"slices"
	"syscall"
)

// Module is code that is loaded into the running kernel.
type Module struct {
	Name      string // as lsmod lists it, with underscores
	Functions []string
	Untraced  []string // functions that ftrace cannot trace; they come behind Functions
	Formats   []string // the constant strings and formats of its calls of trace_printk
	Direct    []Direct
	Block     bool // it is the driver of the block device
	// Registered runs when the first listener of a tracepoint has come, and after the last
	// one has gone. It has to do with the module if it is one of its tracepoints. nil: the
	// module does not want to know.
	//
	// Kernel: regfunc and unregfunc of struct tracepoint, kernel/tracepoint.c.
	Registered func(m *Machine, e Event, on bool)
	// Symbols are the functions of a module whose addresses are known; then there are no
	// Functions.
	Symbols []Symbol
}

// These modules lie after those that were loaded when the symbol table was read. Each
// has pages of its own, and its functions are a cache line or more apart.
const (
	moduleBase   = 0xffffffffc0800000
	moduleSize   = 0x4000
	functionSize = 0x80
)

// LoadModule gives the functions of modules addresses and adds them to the symbol table,
// which is a new table from then on. Errors: EEXIST if there is a module with one of the
// names; then none is loaded.
//
// Departure: addresses and sizes are made up.
//
// Kernel: load_module, kernel/module/main.c.
func (m *Machine) LoadModule(mods ...Module) error {
	for i := range mods {
		if m.HasModule(mods[i].Name) {
			return fmt.Errorf("module %s is loaded: %w", mods[i].Name, syscall.EEXIST)
		}
	}
	m.kallsyms = m.kallsyms.with(mods, functionSize)
	mods = slices.Clone(mods)
	for n := range mods {
		mods[n].Direct = slices.Clone(mods[n].Direct)
		for _, s := range m.kallsyms.modules.of(mods[n].Name) {
			for d := range mods[n].Direct {
				mods[n].Direct[d].found(&s)
			}
		}
	}
	var symbols []Symbol
	for i := range mods {
		symbols = append(symbols, mods[i].Symbols...)
	}
	if len(symbols) > 0 {
		m.kallsyms = m.kallsyms.With(symbols)
	}
	for _, mod := range mods {
		m.modules = append(m.modules, &mod)
		if m.Hooks.Module != nil {
			m.Hooks.Module(&mod, true)
		}
	}
	return nil
}

// UnloadModule removes a module that LoadModule has loaded; no code of it may be
// running. Errors: ENOENT if there is none with that name, EBUSY if it is in use.
//
// Kernel: delete_module, kernel/module/main.c.
func (m *Machine) UnloadModule(name string) error {
	at := m.moduleAt(name)
	if at < 0 {
		return fmt.Errorf("module %s is not loaded: %w", name, syscall.ENOENT)
	}
	if m.ModuleRefs(name) > 0 {
		return fmt.Errorf("module %s is in use: %w", name, syscall.EBUSY)
	}
	if m.Hooks.Module != nil {
		m.Hooks.Module(m.modules[at], false)
	}
	m.kallsyms = m.kallsyms.without(name)
	m.modules = slices.Delete(m.modules, at, at+1)
	return nil
}

// registered tells the modules that a tracepoint has listeners now, or none any more.
func (m *Machine) registered(e Event, on bool) {
	for _, mod := range m.modules {
		if mod.Registered != nil {
			mod.Registered(m, e, on)
		}
	}
}

// ModuleRefs counts what refers to a module that LoadModule has loaded: it cannot be
// unloaded before that is 0.
//
// Kernel: module_refcount, kernel/module/main.c.
func (m *Machine) ModuleRefs(name string) int {
	if m.Hooks.ModuleRefs == nil || !m.HasModule(name) {
		return 0
	}
	return m.Hooks.ModuleRefs(name)
}

// HasModule reports whether LoadModule has loaded a module with that name.
func (m *Machine) HasModule(name string) bool { return m.moduleAt(name) >= 0 }

func (m *Machine) moduleAt(name string) int {
	return slices.IndexFunc(m.modules, func(mod *Module) bool { return mod.Name == name })
}

// LoadedModules lists the modules that LoadModule has loaded, in that order.
func (m *Machine) LoadedModules() []string {
	var names []string
	for _, mod := range m.modules {
		names = append(names, mod.Name)
	}
	return names
}

// Assemble makes code for the running kernel: build names the functions, and each step
// takes cost nanoseconds.
func (m *Machine) Assemble(cost uint32, build func(*Assembler)) (Code, error) {
	a := NewAssembler(m.kallsyms, cost)
	build(a)
	code, err := a.Code()
	if err != nil {
		return nil, err
	}
	first := int32(len(m.kernel.Sites))
	m.kernel.Sites = append(m.kernel.Sites, a.Sites...)
	m.addCallees(a.Sites)
	said := int32(len(m.kernel.Printks))
	m.kernel.Printks = append(slices.Clip(m.kernel.Printks), a.Printks...)
	for i := range code {
		switch code[i].Kind {
		case OpCall:
			code[i].Arg += first
		case OpPrintk:
			code[i].Arg += said
		}
	}
	m.kernel.Values.Assign(code, m.kernel.Sites)
	return code, nil
}

// Sites are the call sites of the kernel. They must not be changed.
func (m *Machine) Sites() []Site { return m.kernel.Sites }

// AddSite adds a call site to the running kernel and returns its index.
func (m *Machine) AddSite(s Site) int32 {
	m.kernel.Sites = append(m.kernel.Sites, s)
	m.addCallees([]Site{s})
	return int32(len(m.kernel.Sites) - 1)
}
