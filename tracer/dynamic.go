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

// dynamicEvent is the state of an event that was added at run time.
type dynamicEvent struct {
	module string // the event came with this module and goes with it; else it is empty
	refs   int    // how many others need it: it cannot be removed while there are any
	// reg runs before the event is turned on in an instance, which reg may refuse,
	// and after the event was turned off. It is nil if there is nothing to do.
	//
	// Kernel: reg of struct trace_event_class, include/linux/trace_events.h.
	reg func(in dynevent.Instance, on bool) error
}

// switching tells a dynamic event that it is being turned on or off in an instance.
func (ft *Ftrace) switching(tr *Instance, t *event.Type, on bool) error {
	if d := ft.dynamic[t]; d != nil && d.reg != nil {
		return d.reg((*dynInstance)(tr), on)
	}
	return nil
}

// isDynamic reports whether t was added at run time and is still there.
func (ft *Ftrace) isDynamic(t *event.Type) bool { return ft.dynamic[t] != nil }

// registered returns the events in the order in which a new instance lists them: the
// kernel's own, then those of its modules, then the dynamic ones, each group in the
// order in which its events came.
//
// Kernel: __trace_add_event_dirs, kernel/trace/trace_events.c: the latest event is
// first in the kernel's list, and each event is put at the head of the instance's
// list.
func (ft *Ftrace) registered() []*event.Type {
	all := slices.Clone(ft.types.All())
	own := slices.IndexFunc(all, func(t *event.Type) bool { return !events.OfModule(t) })
	modules := slices.Clone(all[:own])
	slices.Reverse(modules)
	added := len(all) - len(ft.dynamic)
	return slices.Concat(all[own:added], modules, all[added:])
}

// addEvent adds an event to all instances, at the head of their lists. Its id comes
// from [event.Table.FreeID]. It returns EEXIST if the event's name is taken.
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

// createEventDirs makes the machine call, for each instance, the function that
// creates the event's folder. If the event is the first of its system, the function
// that creates the system's folder is called before.
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

// grown returns s, made longer if necessary, so that it has room for the id.
func grown[T any](s []T, id int) []T {
	return append(s, make([]T, max(0, id+1-len(s)))...)
}

// enabledSomewhere reports whether some instance has the event enabled, even if only
// softly.
func (ft *Ftrace) enabledSomewhere(t *event.Type) bool {
	for tr := range ft.all {
		if tr.events[t.ID].enabled {
			return true
		}
	}
	return false
}

// removeEvent removes a dynamic event from all instances. [Ftrace.resetCleared]
// removes what they recorded. It returns EBUSY while the event is enabled somewhere
// or something else needs it.
//
// Kernel: trace_event_dyn_busy, kernel/trace/trace_dynevent.c; probe_remove_event_call,
// kernel/trace/trace_events.c.
func (ft *Ftrace) removeEvent(t *event.Type) error {
	if d := ft.dynamic[t]; d == nil || d.refs > 0 || ft.enabledSomewhere(t) {
		return fmt.Errorf("event %s is in use: %w", t, syscall.EBUSY)
	}
	ft.dropEvent(t)
	return nil
}

// dropEvent removes an event that nobody needs.
func (ft *Ftrace) dropEvent(t *event.Type) {
	for tr := range ft.all {
		tr.clearTrace = tr.clearTrace || tr.events[t.ID].wasEnabled
		tr.events[t.ID] = eventState{}
		tr.hists.Forget(t)
		tr.types = slices.DeleteFunc(slices.Clone(tr.types), func(have *event.Type) bool { return have == t })
	}
	ft.types.Remove(t)
	delete(ft.dynamic, t)
}

// holdEvent keeps an event from being removed until releaseEvent is called. It does
// nothing to an event that is not dynamic.
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

// resetCleared empties the buffers of the instances that lost an event which had been
// enabled there: nobody could tell what its records mean.
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

// whileThere returns the files of a dynamic event, changed so that opening, reading
// or writing them fails with ENODEV when the event is gone. The file id stays as it
// is.
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

// there returns ENODEV when the event is gone.
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

// Poll says that a file whose event is gone fails.
//
// Kernel: event_hist_poll, kernel/trace/trace_events_hist.c.
func (h *eventHandle) Poll() tracefile.Events {
	if h.there() != nil {
		return tracefile.PollErr
	}
	return h.Handle.Poll()
}

func (h *eventHandle) Write(ctx context.Context, p []byte) (int, error) {
	if err := h.there(); err != nil {
		return 0, err
	}
	return h.Handle.Write(ctx, p)
}
