package hist

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/hist/tracingmap"
)

// Command carries out the text that was written to an event's trigger file
// after "hist:", or after "!hist:" if remove is set: it makes, pauses,
// continues, clears or removes a trigger. Removing a trigger that does not
// exist succeeds.
//
// Errors, most of them in error_log: EINVAL, EEXIST, ENOENT, EDOM, E2BIG,
// ENOMEM, ERANGE as in the kernel; EBUSY if another trigger reads a variable of
// the trigger that is removed.
//
// Kernel: event_hist_trigger_parse, kernel/trace/trace_events_hist.c.
func (in *Instance) Command(t *event.Type, text string, remove bool) error {
	in.command, in.location = "", ""
	if text == "" {
		return invalid("no command", text)
	}
	return in.File(t).command(text, remove)
}

// command is Command for one event; error_log shows this command with a fault.
func (f *File) command(text string, remove bool) error {
	i := f.instance
	i.command, i.location = "hist:"+text, "hist:"+f.typ.System+":"+f.typ.Name
	err := f.write(text, remove)
	if err == nil {
		i.command, i.location = "", ""
	}
	return err
}

// write is command without setting the command that error_log shows. A trigger
// that an action makes uses it, because its faults belong to the action's
// command.
func (f *File) write(text string, remove bool) error {
	text, cond, err := splitFilter(text)
	if err != nil {
		return err
	}
	// A minus is an operator, but not in this modifier.
	text = strings.ReplaceAll(text, ".sym-offset", ".symXoffset")
	a, err := f.instance.parseAttrs(text)
	if err != nil {
		return err
	}
	h, err := f.newHist(a, remove)
	if err != nil {
		return err
	}
	t := &Trigger{hist: h, filterText: cond}
	if cond != "" {
		env := f.instance.env
		if t.filter, err = filter.Parse(f.typ, cond, env.Filter()); err != nil {
			env.LogFilter(err)
			return err
		}
	}
	if remove {
		return f.remove(t)
	}
	if f.updateExisting(t) {
		return nil
	}
	if err := f.add(t); err != nil {
		h.release()
		return err
	}
	return nil
}

// splitFilter cuts a command at its " if ". Errors: EINVAL if it begins with if,
// or nothing follows it.
func splitFilter(text string) (command, cond string, err error) {
	for at := 0; ; at++ {
		n := strings.Index(text[at:], "if")
		if n < 0 {
			return text, "", nil
		}
		at += n
		switch {
		case at == 0:
			return "", "", invalid("no command before", text)
		case !isBlank(text[at-1]):
			continue
		case at+len("if ") >= len(text):
			return "", "", invalid("no filter in", text)
		case !isBlank(text[at+len("if")]):
			continue
		}
		cond = strip(text[at:])
		if len(cond) <= len("if ") {
			return "", "", invalid("no filter in", text)
		}
		return strip(text[:at-1]), cond[len("if "):], nil
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// remove removes the trigger that matches t.
func (f *File) remove(t *Trigger) error {
	found := f.find(t)
	switch {
	case found == nil:
		return nil
	case found.hist.referenced():
		return fmt.Errorf("hist: a variable of %s is read: %w", f.typ, syscall.EBUSY)
	}
	f.unregister(t)
	f.holdSynth(-1)
	return nil
}

// add puts a trigger on the event.
func (f *File) add(t *Trigger) error {
	h := t.hist
	if err := h.makeActions(); err != nil {
		return err
	}
	if h.hasVars() {
		f.instance.vars = slices.Insert(f.instance.vars, 0, h)
	}
	if h.attrs.bits == 0 {
		h.attrs.bits = tracingmap.DefaultBits
	}
	if err := h.makeMap(h.attrs.bits); err != nil {
		return err
	}
	if err := f.register(t); err != nil {
		return err
	}
	f.enable(t)
	f.holdSynth(1)
	return nil
}

// holdSynth counts the triggers of the event if it is a synthetic one.
func (f *File) holdSynth(n int) {
	if synth := f.instance.env.SynthOf(f.typ); synth != nil {
		synth.Hold(n)
	}
}

// HasVariables reports whether some trigger of the instance defines or reads
// variables; the instance cannot be removed then.
//
// Kernel: save_hist_vars, kernel/trace/trace_events_hist.c.
func (in *Instance) HasVariables() bool { return len(in.vars) > 0 }

// release frees everything that a hist holds once nobody uses it any more.
//
// Kernel: event_hist_trigger_free, kernel/trace/trace_events_hist.c.
func (h *Hist) release() {
	h.forgetVars()
	for _, hidden := range h.hidden {
		// The trigger exists and nobody else reads its variable, so this cannot
		// fail.
		_ = hidden.file.command(hidden.command, true)
	}
	h.destroy()
}

// forgetVars takes the hist out of the instance's list of hists with variables.
//
// Kernel: remove_hist_vars, kernel/trace/trace_events_hist.c.
func (h *Hist) forgetVars() {
	i := h.file.instance
	i.vars = slices.DeleteFunc(i.vars, func(o *Hist) bool { return o == h })
}

// destroy undoes makeActions and makeMap. A trigger that still reads one of the
// variables keeps finding the map.
//
// Kernel: destroy_actions, kernel/trace/trace_events_hist.c.
func (h *Hist) destroy() {
	i := h.file.instance
	for _, a := range h.actions {
		if a.synth != nil {
			a.synth.Hold(-1)
			a.synth = nil
		}
	}
	if i.snapshot != nil && i.snapshot.hist == h {
		i.env.DisarmSnapshot()
		i.snapshot = nil
	}
	if h.m != nil {
		i.registry.bytes -= h.m.Bytes()
	}
}
