package tracer

import (
	"slices"

	"ftracelab/machine"
	"ftracelab/tracer/event"
)

// listen tells the machine which tracepoints anybody listens to, so that the others
// cost only a comparison.
func (ft *Ftrace) listen() {
	clear(ft.listening)
	names := map[string]bool{}
	for tr := range ft.all {
		for _, t := range tr.types {
			if tr.events[t.ID].enabled {
				ft.listening[t.ID] = true
				if d := ft.dynamic[t]; d == nil || d.module != "" {
					names[tracepointOf(t)] = true
				}
			}
		}
		for _, name := range tr.current.Points {
			names[name] = true
		}
	}
	ft.dyn.Points(names)
	for _, name := range ft.rv.Points() {
		names[name] = true
	}
	if ft.followsForks() {
		names["sched:sched_process_fork"], names["sched:sched_process_free"] = true, true
	}
	for _, name := range slices.Concat(machine.Tracepoints(), ft.machine.LearnedTracepoints()) {
		// Enable fails only for a tracepoint that the machine does not have; it has
		// these.
		_ = ft.machine.Enable(name, names[name])
	}
}

// tracepointOf returns the tracepoint to which an event is attached: its own or, for
// the syscalls system, the one that all system calls pass.
func tracepointOf(t *event.Type) string {
	if t.System != "syscalls" {
		return t.System + ":" + t.Name
	}
	if len(t.Name) > 8 && t.Name[:8] == "sys_exit" {
		return "raw_syscalls:sys_exit"
	}
	return "raw_syscalls:sys_enter"
}

// findProbes looks up, for each event, an address inside the function that
// makes its record: the innermost frame of the event's kernel stack. Events of
// one class share it.
func (ft *Ftrace) findProbes() {
	ft.probes = make([]uint64, ft.maxID+1)
	class := unscriptedClasses()
	for e := machine.EvNone + 1; e.Valid(); e++ {
		class[e.TracepointName()] = e.Template()
	}
	k := ft.machine.Kallsyms()
	for _, t := range ft.types.All() {
		if s, ok := k.ByName("trace_event_raw_event_" + class[t.System+":"+t.Name]); ok {
			ft.probes[t.ID] = s.Addr + s.Size/2
		}
	}
}
