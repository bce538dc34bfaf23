package hist

import (
	"slices"
	"syscall"
)

// Registry holds what the triggers of all instances share: their names, their
// working memory, and how much memory their maps take.
//
// Kernel: named_triggers, kernel/trace/trace_events_trigger.c; hist_pads,
// kernel/trace/trace_events_hist.c.
type Registry struct {
	named  []*Trigger // the newest first
	pads   [padsMax]pad
	nested int   // pads in use
	bytes  int64 // of all maps, if they were full
}

// find returns the trigger that all triggers of a name share, or nil if there
// is none.
//
// Kernel: find_named_trigger, kernel/trace/trace_events_trigger.c.
func (r *Registry) find(name string) *Trigger {
	for _, t := range r.named {
		if name != "" && t.named == nil && t.name == name {
			return t
		}
	}
	return nil
}

// save gives a trigger its name.
func (r *Registry) save(t *Trigger, name string) {
	t.name = name
	r.named = slices.Insert(r.named, 0, t)
}

func (r *Registry) forget(t *Trigger) {
	t.name = ""
	r.named = slices.DeleteFunc(r.named, func(o *Trigger) bool { return o == t })
}

// find returns the trigger of the event that t matches, or nil if there is none.
//
// Kernel: have_hist_trigger_match, kernel/trace/trace_events_hist.c.
func (f *File) find(t *Trigger) *Trigger {
	named := f.instance.registry.find(t.hist.attrs.name)
	for _, test := range f.triggers {
		if t.matches(test, named, false) {
			return test
		}
	}
	return nil
}

// updateExisting pauses, continues or clears the trigger that t matches. It
// reports whether t asks for that and such a trigger exists.
//
// Kernel: existing_hist_update_only, kernel/trace/trace_events_hist.c.
func (f *File) updateExisting(t *Trigger) bool {
	a := &t.hist.attrs
	if !a.pause && !a.cont && !a.clear {
		return false
	}
	if a.name != "" {
		named := f.instance.registry.find(a.name)
		if named == nil || !t.matches(named, named, true) {
			return false
		}
	}
	test := f.find(t)
	if test == nil {
		return false
	}
	switch {
	case a.pause:
		test.paused = true
	case a.cont:
		test.paused = false
	default:
		test.hist.m.Clear()
	}
	return true
}

// register makes t one of its event's triggers. Of triggers of one name, the
// later ones count into the first one's map.
//
// Errors, all of them in error_log: EINVAL if the name belongs to a different
// hist, or there is no such clock; EEXIST if the event has an equal trigger;
// ENOENT if t only continues or clears and there is no trigger to do that to.
//
// Kernel: hist_register_trigger, kernel/trace/trace_events_hist.c.
func (f *File) register(t *Trigger) error {
	i, h := f.instance, t.hist
	named := i.registry.find(h.attrs.name)
	if named != nil && !t.matches(named, named, true) {
		return i.fault(msgNamedMismatch, h.attrs.name, syscall.EINVAL)
	}
	if (h.attrs.name == "" || named != nil) && f.find(t) != nil {
		return i.fault(msgTriggerExists, "", syscall.EEXIST)
	}
	if h.attrs.cont || h.attrs.clear {
		return i.fault(msgNothingToClear, "", syscall.ENOENT)
	}
	t.paused = h.attrs.pause
	if named != nil {
		t.hist, t.named = named.hist, named
	}
	if h.timestamps {
		if i.env.SetClock(h.attrs.clock) != nil {
			return i.fault(msgSetClock, h.attrs.clock, syscall.EINVAL)
		}
		i.env.AbsoluteStamps(true)
	}
	t.hold()
	if named != nil {
		h.forgetVars()
		h.destroy()
	}
	return nil
}

// hold counts one more user of a trigger and of the trigger whose map it shares.
//
// Kernel: event_hist_trigger_init and event_hist_trigger_named_init,
// kernel/trace/trace_events_hist.c.
func (t *Trigger) hold() {
	r := t.hist.file.instance.registry
	switch {
	case t.named != nil:
		t.named.ref++
		r.save(t, t.named.name)
	case t.ref == 0 && t.hist.attrs.name != "":
		r.save(t, t.hist.attrs.name)
	}
	t.ref++
}

// free undoes hold. When the last user is gone, the map is released.
//
// Kernel: event_hist_trigger_free and event_hist_trigger_named_free,
// kernel/trace/trace_events_hist.c.
func (t *Trigger) free() {
	if t.named != nil {
		t.named.free()
	}
	if t.ref--; t.ref > 0 {
		return
	}
	if t.name != "" {
		t.hist.file.instance.registry.forget(t)
	}
	if t.named == nil {
		t.hist.release()
	}
}

// enable puts a registered trigger after the event's other triggers.
//
// Kernel: hist_trigger_enable, kernel/trace/trace_events_hist.c.
func (f *File) enable(t *Trigger) {
	f.triggers = append(f.triggers, t)
	f.instance.env.Enable(f.typ, true)
}

// unregister removes the trigger that t matches, if there is one.
//
// Kernel: hist_unregister_trigger, kernel/trace/trace_events_hist.c.
func (f *File) unregister(t *Trigger) {
	if test := f.find(t); test != nil {
		f.drop(test)
	}
}

// RemoveAll removes the triggers of the event, unless the hist of another event
// reads a variable of one of them.
//
// Kernel: hist_unreg_all, kernel/trace/trace_events_hist.c.
func (f *File) RemoveAll() {
	if slices.ContainsFunc(f.all(), func(t *Trigger) bool { return t.hist.referenced() }) {
		return
	}
	for f.Len() > 0 {
		f.drop(f.triggers[0])
		f.holdSynth(-1)
	}
}

// Clear removes the triggers of the event when their instance is removed, even if
// others read their variables. If the event is a synthetic one, it can then never
// be removed, because the kernel forgets to release it.
//
// Kernel: clear_event_triggers, kernel/trace/trace_events_trigger.c.
func (f *File) Clear() {
	for f.Len() > 0 {
		f.drop(f.triggers[0])
	}
}

// drop takes a trigger off its event.
func (f *File) drop(t *Trigger) {
	f.triggers = slices.DeleteFunc(f.triggers, func(o *Trigger) bool { return o == t })
	f.instance.env.Enable(f.typ, false)
	if t.hist.timestamps {
		f.instance.env.AbsoluteStamps(false)
	}
	t.free()
}

// Pause is what enable_hist and disable_hist do with all hists of the event.
//
// Kernel: hist_enable_trigger, kernel/trace/trace_events_hist.c.
func (f *File) Pause(on bool) {
	for _, t := range f.all() {
		t.paused = on
	}
}
