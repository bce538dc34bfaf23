package tracer

import (
	"fmt"

	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// This file has the events that come and go with a module. Like dynamic events, they get
// their ids and their folders when they come.

// moduleEvent is an event of a module.
type moduleEvent struct {
	at   machine.Event // its tracepoint
	typ  *event.Type   // as declared, without an id
	fire func(t *event.Type) pointProbe
}

// moduleEvents returns the events of a module in the order in which its object file has
// them, which is the order in which they get their ids.
func (ft *Ftrace) moduleEvents(module string) []moduleEvent {
	if module != "trace_events_sample" {
		return nil
	}
	return ft.sampleEvents()
}

// addModuleEvents adds the events of a module that has been loaded.
//
// Kernel: trace_module_add_events, kernel/trace/trace_events.c.
func (ft *Ftrace) addModuleEvents(module string) {
	for _, e := range ft.moduleEvents(module) {
		id, err := ft.types.FreeID()
		if err != nil {
			return // the kernel warns and goes on without the event
		}
		t := e.typ.WithID(id)
		if ft.addEvent(t, nil) != nil {
			continue // a dynamic event has its name
		}
		ft.dynamic[t].module = module
		ft.points[e.at] = e.fire(t)
		ft.probes[id] = ft.probeOf(t, e.at)
	}
}

// probeOf returns an address inside the function that makes the records of a module's
// event. If the compiler has split that function, it is the inner one.
func (ft *Ftrace) probeOf(t *event.Type, at machine.Event) uint64 {
	for _, prefix := range []string{"do_trace_event_raw_event_", "trace_event_raw_event_"} {
		if s, ok := ft.machine.Kallsyms().ByName(prefix + at.Template()); ok {
			return s.Addr + s.Size/2
		}
	}
	return 0
}

// removeModuleEvents removes the events of a module that is about to be unloaded, with
// their filters and triggers. Buffers that may hold records of them are emptied.
//
// Kernel: trace_module_remove_events and event_remove, kernel/trace/trace_events.c.
func (ft *Ftrace) removeModuleEvents(module string) {
	for _, e := range ft.moduleEvents(module) {
		t := ft.types.ByName(e.typ.System, e.typ.Name)
		if d := ft.dynamic[t]; d == nil || d.module != module {
			continue
		}
		for tr := range ft.all {
			s := &tr.events[t.ID]
			for trig := range s.triggers.All {
				tr.dropTrigger(t, trig)
			}
			s.hists.Clear()
			tr.turnOff(t)
		}
		ft.listening[t.ID] = false
		ft.points[e.at] = nil
		ft.dropEvent(t)
	}
	ft.resetCleared()
}

// moduleRefs counts the triggers and dynamic events that need an event of the module.
//
// Kernel: trace_event_try_get_ref, kernel/trace/trace_events.c: it takes the module.
func (ft *Ftrace) moduleRefs(module string) (n int) {
	for _, d := range ft.dynamic {
		if d.module == module {
			n += d.refs
		}
	}
	return n
}

// sampleEvents returns the events of the module trace_events_sample.
//
// Kernel: do_simple_thread_func and simple_thread_func_fn, which give the arguments,
// samples/trace_events/trace-events-sample.c; TP_fast_assign in trace-events-sample.h.
func (ft *Ftrace) sampleEvents() []moduleEvent {
	// text is the event of a tracepoint whose arguments are a text and the number of the round.
	text := func(at machine.Event, d *event.Def[events.SampleFooRecord], foo string) moduleEvent {
		return moduleEvent{at, d.Type, func(t *event.Type) pointProbe {
			return classPoint(ft, d, t, func(r *events.SampleFooRecord, a *machine.Sample) { r.Foo, r.Bar = foo, a.Count })
		}}
	}
	// The threads may run on every CPU.
	cpus := make([]uint64, (len(ft.machine.CPUs())+63)/64)
	for n := range ft.machine.CPUs() {
		cpus[n/64] |= 1 << (n % 64)
	}
	return []moduleEvent{
		{machine.EvSampleFooRelLoc, events.SampleFooRelLoc.Type, func(t *event.Type) pointProbe {
			return classPoint(ft, events.SampleFooRelLoc, t, func(r *events.SampleFooRelLocRecord, a *machine.Sample) {
				*r = events.SampleFooRelLocRecord{Foo: "Hello __rel_loc", Bar: a.Count, Bitmask: []uint64{0xdeadbeef}, Cpumask: cpus}
			})
		}},
		text(machine.EvSampleTemplatePrint, events.SampleFooWithTemplatePrint, "I have to be different"),
		text(machine.EvSampleTemplateFn, events.SampleFooWithTemplateFn, "Look at me too"),
		text(machine.EvSampleTemplateCond, events.SampleFooWithTemplateCond, "prints other times"),
		text(machine.EvSampleTemplateSimple, events.SampleFooWithTemplateSimple, "HELLO"),
		text(machine.EvSampleFooBarFn, events.SampleFooBarWithFn, "Look at me"),
		text(machine.EvSampleFooBarCond, events.SampleFooBarWithCond, "Some times print"),
		{machine.EvSampleFooBar, events.SampleFooBar.Type, func(t *event.Type) pointProbe {
			return classPoint(ft, events.SampleFooBar, t, func(r *events.SampleFooBarRecord, a *machine.Sample) {
				*r = fooBar(a.Count, cpus)
			})
		}},
	}
}

// fooBar makes the record of sample-trace:foo_bar. cpus is the mask of the CPUs on which the
// thread may run.
func fooBar(count int32, cpus []uint64) events.SampleFooBarRecord {
	const foo = "hello"
	strings := [...]string{"Mother Goose", "Snoopy", "Gandalf", "Frodo", "One ring to rule them all"}
	n := int(count) % len(strings)
	r := events.SampleFooBarRecord{
		Bar: count, List: []int32{1, 2, 3, 4}[:n], Str: strings[n], CPUs: cpus, CPUM: cpus,
		Vstr: fmt.Sprintf("iter=%d", count), Lstr: foo[:min(int(count)/2, len(foo))],
	}
	copy(r.Foo[:], foo)
	return r
}
