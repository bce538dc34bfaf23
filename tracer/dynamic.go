package tracer

import (
	"context"
	"fmt"
	"slices"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// dynamicEvent is what is kept of an event that was added at run time.
type dynamicEvent struct {
	refs int // who else needs it: it cannot go while there are any
	// reg runs before the event is turned on in an instance, which it may refuse, and
	// after it was turned off; nil for nothing to do.
	//
	// Kernel: reg of struct trace_event_class, include/linux/trace_events.h.
	reg func(in dynevent.Instance, on bool) error
}

// switching tells a dynamic event that it is turned on or off.
func (ft *Ftrace) switching(tr *Instance, t *event.Type, on bool) error {
	if d := ft.dynamic[t]; d != nil && d.reg != nil {
		return d.reg((*dynInstance)(tr), on)
	}
	return nil
}

// isDynamic reports whether t was added at run time and is still there.
func (ft *Ftrace) isDynamic(t *event.Type) bool { return ft.dynamic[t] != nil }

// registered are the events in the order that a new instance lists them: the kernel's
// own, those of its modules and the dynamic ones, each as they came.
//
// Kernel: __trace_add_event_dirs, kernel/trace/trace_events.c: what came last stands
// first in the kernel's list, and each goes to the head of the instance's.
func (ft *Ftrace) registered() []*event.Type {
	all := slices.Clone(ft.types.All())
	own := slices.IndexFunc(all, func(t *event.Type) bool { return !events.OfModule(t) })
	modules := slices.Clone(all[:own])
	slices.Reverse(modules)
	added := len(all) - len(ft.dynamic)
	return slices.Concat(all[own:added], modules, all[added:])
}

// addEvent makes an event known in all instances, where it stands first. Its id is
// that of [event.Table.FreeID]. Errors: EEXIST if its name is taken.
//
// Kernel: trace_probe_register_event_call, kernel/trace/trace_probe.c;
// trace_add_event_call, kernel/trace/trace_events.c.
func (ft *Ftrace) addEvent(t *event.Type, reg func(in dynevent.Instance, on bool) error) error {
	if ft.types.ByName(t.System, t.Name) != nil {
		return fmt.Errorf("event %s exists: %w", t, syscall.EEXIST)
	}
	if err := ft.types.Add(t); err != nil {
		return fmt.Errorf("%w: %w", err, syscall.ENODEV)
	}
	if ft.dynamic == nil {
		ft.dynamic = map[*event.Type]*dynamicEvent{}
	}
	ft.dynamic[t] = &dynamicEvent{reg: reg}
	ft.maxID = max(ft.maxID, t.ID)
	ft.listening = grown(ft.listening, ft.maxID)
	ft.probes = grown(ft.probes, ft.maxID)
	ft.listening[t.ID], ft.probes[t.ID] = false, 0
	for tr := range ft.all {
		tr.types = slices.Concat([]*event.Type{t}, tr.types)
		tr.events = grown(tr.events, ft.maxID)
		tr.events[t.ID] = eventState{}
	}
	ft.createEventDirs(t)
	return nil
}

// createEventDirs has the machine call the function that makes an event's folder, in
// each instance, and before that its system's if the event is the first there.
//
// Kernel: event_create_dir and event_subsystem_dir, kernel/trace/trace_events.c.
func (ft *Ftrace) createEventDirs(t *event.Type) {
	c := ft.machine.CPUs()[writerCPU]
	for tr := range ft.all {
		if first := !slices.ContainsFunc(tr.types, func(o *event.Type) bool { return o != t && o.System == t.System }); first {
			c.CallWith("event_subsystem_dir", "eventfs_create_dir", t.System)
		}
		c.CallWith("event_create_dir", "eventfs_create_dir", t.Name)
	}
}

// grown is s with room for the id.
func grown[T any](s []T, id int) []T {
	return append(s, make([]T, max(0, id+1-len(s)))...)
}

// enabledSomewhere reports whether an instance has the event enabled, if only softly.
func (ft *Ftrace) enabledSomewhere(t *event.Type) bool {
	for tr := range ft.all {
		if tr.events[t.ID].enabled {
			return true
		}
	}
	return false
}

// removeEvent takes a dynamic event out of all instances. What they recorded goes with
// [Ftrace.resetCleared]. Errors: EBUSY while it is enabled somewhere or something else
// needs it.
//
// Kernel: trace_event_dyn_busy, kernel/trace/trace_dynevent.c; probe_remove_event_call,
// kernel/trace/trace_events.c.
func (ft *Ftrace) removeEvent(t *event.Type) error {
	if d := ft.dynamic[t]; d == nil || d.refs > 0 || ft.enabledSomewhere(t) {
		return fmt.Errorf("event %s is in use: %w", t, syscall.EBUSY)
	}
	for tr := range ft.all {
		tr.clearTrace = tr.clearTrace || tr.events[t.ID].wasEnabled
		tr.events[t.ID] = eventState{}
		tr.hists.Forget(t)
		tr.types = slices.DeleteFunc(slices.Clone(tr.types), func(have *event.Type) bool { return have == t })
	}
	ft.types.Remove(t)
	delete(ft.dynamic, t)
	return nil
}

// holdEvent keeps an event from going until releaseEvent. It does nothing to one that
// stays anyway.
//
// Kernel: trace_event_try_get_ref, kernel/trace/trace_events.c.
func (ft *Ftrace) holdEvent(t *event.Type) {
	if d := ft.dynamic[t]; d != nil {
		d.refs++
	}
}

// releaseEvent undoes holdEvent.
func (ft *Ftrace) releaseEvent(t *event.Type) {
	if d := ft.dynamic[t]; d != nil {
		d.refs--
	}
}

// resetCleared empties the buffers of the instances in which an event went that had
// been enabled: nobody could tell what its records mean.
//
// Kernel: tracing_reset_all_online_cpus, kernel/trace/trace.c.
func (ft *Ftrace) resetCleared() {
	for tr := range ft.all {
		if tr.clearTrace {
			tr.clearTrace = false
			tr.resetBuffer()
			tr.resetSnapshot()
		}
	}
}

// whileThere are the files of a dynamic event: who has one open when the event goes
// finds ENODEV.
//
// Kernel: event_file_file, kernel/trace/trace_events.c.
func (tr *Instance) whileThere(t *event.Type, nodes []tracefile.Node) []tracefile.Node {
	for n, node := range nodes {
		file, ok := node.(*tracefile.File)
		if !ok || file.Name == "id" {
			continue
		}
		guarded := *file
		guarded.Open = func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
			if err := tr.there(t); err != nil {
				return nil, err
			}
			h, err := file.Open(ctx, flags)
			if err != nil {
				return nil, err
			}
			return &eventHandle{h, func() error { return tr.there(t) }}, nil
		}
		nodes[n] = &guarded
	}
	return nodes
}

// there is ENODEV once the event is gone.
func (tr *Instance) there(t *event.Type) error {
	return tr.locked(func() error {
		if tr.ft.isDynamic(t) {
			return nil
		}
		return fmt.Errorf("event %s is gone: %w", t, syscall.ENODEV)
	})
}

// eventHandle is an open file of a dynamic event.
type eventHandle struct {
	tracefile.Handle
	there func() error
}

func (h *eventHandle) Read(ctx context.Context, p []byte) (int, error) {
	if err := h.there(); err != nil {
		return 0, err
	}
	return h.Handle.Read(ctx, p)
}

func (h *eventHandle) Write(ctx context.Context, p []byte) (int, error) {
	if err := h.there(); err != nil {
		return 0, err
	}
	return h.Handle.Write(ctx, p)
}
