package machine

import (
	"maps"
	"slices"
)

// Subsystems lets begin run as soon as somebody listens to one of the events with these
// names ("system:event"), and never again. It runs at the beginning of a Run, between
// two steps. With a nil begin, they happen anyway. If it fails, that is a broken invariant of the workload.
func (m *Machine) Subsystems(names []string, begin func() error) {
	for _, name := range names {
		if m.subsystems[name] = append(m.subsystems[name], begin); begin == nil {
			m.subsystems[name] = nil
		}
	}
}

// LearnedTracepoints lists the names of the events of all learned activities, sorted.
func (m *Machine) LearnedTracepoints() []string { return slices.Sorted(maps.Keys(m.subsystems)) }

// listen switches an event of learned activities on or off, and reports whether there is
// one with that name.
func (m *Machine) listen(name string, on bool) bool {
	begins, ok := m.subsystems[name]
	if ok {
		m.learned[name] = on
	}
	if on && len(begins) > 0 && m.Hooks.Learned != nil {
		m.begins = append(m.begins, begins...)
		m.subsystems[name] = nil
	}
	return ok
}

// beginActivities begins what was asked for since the last Run.
func (m *Machine) beginActivities() {
	for len(m.begins) > 0 {
		begin := m.begins[0]
		m.begins = m.begins[1:]
		if err := begin(); err != nil {
			panic("machine: invariant: " + err.Error())
		}
	}
}

// Learned is the code of learned activities and what it refers to. The operands of OpCall,
// OpLearned and of the slab events are indexes into these tables.
type Learned struct {
	Sites      []Site
	Slabs      []Slab
	Happenings []Happening
	Pieces     []Piece
	Codes      []Code // what tasks execute
}

// AddLearned adds l to the running kernel. It takes over l's code, whose operands it
// changes to indexes into the tables of the kernel.
func (m *Machine) AddLearned(l Learned) {
	k := &m.kernel
	site, slab, happening, piece := int32(len(k.Sites)), int32(len(k.Slabs)), int32(len(k.Happenings)), int32(len(k.Pieces))
	k.Sites = append(slices.Clip(k.Sites), l.Sites...)
	m.addCallees(l.Sites)
	for _, s := range l.Slabs {
		s.Kind += uint16(slab)
		k.Slabs = append(slices.Clip(k.Slabs), s)
	}
	for _, h := range l.Happenings {
		if h.Raises > 0 {
			h.Raises += piece
		}
		k.Happenings = append(k.Happenings, h)
	}
	k.Pieces = append(k.Pieces, l.Pieces...)
	move := func(code Code) {
		for i := range code {
			switch op := &code[i]; {
			case op.Kind == OpCall:
				op.Arg += site
			case op.Kind == OpLearned:
				op.Arg += happening
			case op.Kind == OpTrace && op.Event >= EvKmalloc && op.Event <= EvKmemCacheFree:
				op.Arg += slab
			}
		}
		k.Values.Assign(code, k.Sites)
	}
	for i := range l.Pieces {
		move(l.Pieces[i].Code)
	}
	for _, code := range l.Codes {
		move(code)
	}
}
