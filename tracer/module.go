package tracer

import (
	"ftracelab/machine"
	"ftracelab/tracer/functions"
)

// Do calls do with the machine between two of its steps: to add a task, to load a
// module, to take a CPU offline. do must not run the machine; Run does that. With Do
// and Run, an Ftrace is what package workload calls a Lab.
func (ft *Ftrace) Do(do func(*machine.Machine) error) error {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	return do(ft.machine)
}

// moduleChanged runs when a module has been loaded, and before one is unloaded.
// Definitions that waited for a loaded module select its functions now. Functions of
// an unloaded module can no longer be selected, but that does not make the sets
// empty.
//
// Kernel: ftrace_module_enable, process_cached_mods and ftrace_release_mod,
// kernel/trace/ftrace.c.
func (ft *Ftrace) moduleChanged(mod *machine.Module, loaded bool) {
	_ = ft.change(func() error { ft.followModule(mod, loaded); return nil })
}

func (ft *Ftrace) followModule(mod *machine.Module, loaded bool) {
	name := mod.Name
	if loaded {
		ft.addModuleEvents(name)
		ft.dyn.ModuleCame(name)
	} else {
		ft.removeModuleEvents(name)
		ft.dyn.ModuleGoes(name)
	}
	ft.users.ModuleChanged(mod, loaded)
	if loaded {
		ft.hold(mod)
	}
	for tr := range ft.all {
		for _, f := range []*functionFilter{&tr.filter, &tr.notrace} {
			if loaded {
				f.moduleLoaded(name)
			}
		}
		if !loaded {
			ft.forgetModule(name, &tr.functions.Filter, &tr.functions.Notrace)
			for _, p := range tr.probes {
				ft.forgetModule(name, &p.hash.Filter, &p.hash.Notrace)
			}
		}
	}
	for n := range ft.tracers {
		if goes := ft.tracers[n].ModuleGoes; goes != nil && !loaded {
			goes(mod)
		}
	}
	if !loaded {
		ft.forgetModule(name, &ft.graphFilters.filter, &ft.graphFilters.notrace, &ft.stackTracer.hash.Filter)
	}
	ft.changed()
}

func (f *functionFilter) moduleLoaded(name string) {
	edit := f.set.Edit()
	kept := f.pending[:0]
	for _, p := range f.pending {
		if p.module == name {
			f.tr.ft.matchInto(&edit, p.functions, moduleMatch(name))
		} else {
			kept = append(kept, p)
		}
	}
	if len(kept) == len(f.pending) {
		return
	}
	f.pending = kept
	f.settle(&edit)
}

func (ft *Ftrace) forgetModule(name string, sets ...*functions.Hash) {
	for s := range ft.users.All {
		if s.Module != name {
			continue
		}
		for _, set := range sets {
			set.Forget(s.IP())
		}
	}
}
