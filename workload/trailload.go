package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ftracelab/machine"
)

// followed is what a machine has to know of the loads of its scenario. The loads themselves
// are read when their processes begin.
type followed struct {
	names      []string
	blended    bool  // it is the blended load
	site, slab int32 // where the sites and slabs of the trails begin among the kernel's
}

// follows makes the functions on the trails of loads known, and adds the sites and slabs of
// trails to those of k, which is not booted yet.
func (w *mix) follows(k *machine.Kernel, names []string) (f followed, err error) {
	blended := slices.ContainsFunc(names, func(n string) bool { return blendPaces[n] > 0 })
	f = followed{names: names, blended: blended, site: int32(len(k.Sites)), slab: int32(len(k.Slabs))}
	if len(names) == 0 {
		return f, nil
	}
	tables, err := loadTrailTables()
	if err != nil {
		return f, err
	}
	if err := w.addFunctions(tables.Modules, f.blended); err != nil {
		return f, err
	}
	ks := w.m.Kallsyms()
	k.Sites, k.Slabs = slices.Grow(k.Sites, len(tables.Sites)), slices.Clip(k.Slabs)
	for _, s := range tables.Sites {
		site, err := tables.site(ks, s)
		if err != nil && !f.blended {
			return f, err // blend leaves modules out
		}
		k.Sites = append(k.Sites, site)
	}
	for _, s := range tables.Slabs {
		s.Kind = uint16(len(k.Slabs))
		k.Slabs = append(k.Slabs, s)
	}
	return f, nil
}

// Functions of modules whose addresses nobody knows lie here, so far apart: behind the
// modules with known addresses, and in front of those that are loaded later.
const (
	trailModules  = 0xffffffffc0500000
	trailFunction = 0x80
)

// addFunctions makes the functions of modules known, as far as they are not yet. The
// addresses of most modules are those of the learned activities.
func (w *mix) addFunctions(mods []TrailModule, blended bool) error {
	head, err := loadActivityHead()
	if err != nil {
		return err
	}
	var load []machine.Module
	at := uint64(trailModules)
	for _, mod := range mods {
		if blended && slices.Contains(ownDrivers, mod.Name) {
			continue
		}
		if i := slices.IndexFunc(head.modules, func(m ActivityModule) bool { return m.Name == mod.Name }); i >= 0 {
			load = append(load, machine.Module{Name: mod.Name, Symbols: head.modules[i].Symbols})
			continue
		}
		made := machine.Module{Name: mod.Name}
		for _, fn := range mod.Functions {
			if _, ok := w.m.Kallsyms().ByName(fn); !ok {
				made.Symbols = append(made.Symbols, machine.Symbol{
					Addr: at, Size: trailFunction, Name: fn, Module: mod.Name, Type: 't', Traceable: true, Endbr: true,
				})
				at += trailFunction
			}
		}
		if len(made.Symbols) > 0 {
			load = append(load, made)
		}
	}
	if len(load) == 0 {
		return nil
	}
	return w.m.LoadModule(load...)
}

// site gives the address of a site in a kernel's symbol table.
func (tr *TrailTables) site(ks *machine.Kallsyms, s TrailSite) (machine.Site, error) {
	fn, ok := ks.ByName(tr.Names[s.Func])
	if !ok {
		return machine.Site{}, fmt.Errorf("workload: no function %q", tr.Names[s.Func])
	}
	site := machine.Site{Func: fn.Addr, Hidden: !fn.Traceable}
	if fn.Name == "ret_from_fork" {
		site.Hidden = true // a kernel thread has entered it before anything was traced
	}
	if s.Caller >= 0 {
		from, ok := ks.ByName(tr.Names[s.Caller])
		if !ok {
			return machine.Site{}, fmt.Errorf("workload: no function %q", tr.Names[s.Caller])
		}
		offset := uint64(s.Offset)
		if from.Size > 0 && offset >= from.Size {
			offset %= from.Size // a module's function, which is smaller here
		}
		site.Ret = from.Addr + offset
	}
	return site, nil
}

// trails reads the loads that the machine follows.
func (w *mix) trails(f followed) ([]*trailing, error) {
	if len(f.names) == 0 {
		return nil, nil
	}
	shared, err := loadTrails()
	if err != nil {
		return nil, err
	}
	tr := new(Trails)
	*tr = *shared
	tr.Stays = slices.Clip(tr.Stays)
	var list []*trailing
	for _, name := range f.names {
		load, err := tr.load(name)
		if err != nil {
			return nil, err
		}
		list = append(list, &trailing{w: w, load: load, forks: f.blended})
	}
	code := &trailBuilder{w: w, tr: tr, followed: f, made: make([]*trailStay, len(tr.Stays)), added: map[machine.Site]int32{}}
	if f.blended {
		ks := w.m.Kallsyms()
		code.loom = newLoom(w.model, func(fn uint64) bool {
			s, _ := ks.At(fn)
			return strings.HasPrefix(s.Name, "vfs_")
		})
		if s, ok := ks.ByName("wake_up_new_task"); ok {
			code.wakesNew = s.Addr
		}
	}
	for _, tg := range list {
		tg.code = code
	}
	return list, nil
}

// blendBegins is how long after the machine the blended load begins. Until then, and beside
// it, there are the processes of the model.
const blendBegins = 100 * machine.Millisecond

// startTrails adds the processes of the loads. Those of the blended load are read when they
// begin, so that a machine that is booted for a moment does without.
func (w *mix) startTrails(f followed) {
	w.blendAt = math.MaxUint64
	if f.blended {
		w.followed, w.blendAt = f, w.m.Now()+blendBegins
	}
	for _, load := range w.loads {
		load.start()
	}
}

// blend lets the blended load begin.
func (w *mix) blend() {
	w.blendAt = math.MaxUint64
	var err error
	if w.loads, err = w.trails(w.followed); err != nil {
		panic("workload: invariant: " + err.Error()) // all of it is embedded
	}
	for _, load := range w.loads {
		load.start()
	}
}
