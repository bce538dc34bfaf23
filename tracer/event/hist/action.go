package hist

import (
	"strings"
	"syscall"

	"ftracelab/tracer/event/filter"
)

// handlers are the words an action begins with.
var handlers = [...]string{onmatch: "onmatch(", onmax: "onmax(", onchange: "onchange("}

// handlerOf returns the handler that an action begins with, or 0 if there is none.
func handlerOf(text string) handler {
	for id, word := range handlers {
		if word != "" && strings.HasPrefix(text, word) {
			return handler(id)
		}
	}
	return 0
}

// parseActions reads the actions. Their variables and events are looked up
// later, by makeActions.
//
// Kernel: parse_actions, kernel/trace/trace_events_hist.c.
func (h *Hist) parseActions() error {
	for _, text := range h.attrs.actions {
		a := &action{handler: handlerOf(text)}
		subject, rest, closed := strings.Cut(text[len(handlers[a.handler]):], ")")
		if a.handler != onmatch {
			if !closed {
				return invalid("no closing parenthesis in", text)
			}
			a.track = subject
		} else if err := h.parseMatch(a, subject, closed); err != nil {
			return err
		}
		if err := h.parseAction(a, rest); err != nil {
			return err
		}
		h.actions = append(h.actions, a)
	}
	return nil
}

// parseMatch reads the event of onmatch.
//
// Kernel: onmatch_parse, kernel/trace/trace_events_hist.c.
func (h *Hist) parseMatch(a *action, subject string, closed bool) error {
	if !closed {
		return h.fault(msgNoClosingParen, subject, syscall.EINVAL)
	}
	system, name, dot := strings.Cut(subject, ".")
	if !dot {
		return h.fault(msgSubsysNotFound, system, syscall.EINVAL)
	}
	if h.file.instance.env.Event(system, name) == nil {
		return h.fault(msgInvalidEvent, name, syscall.EINVAL)
	}
	a.match = eventName{system, name}
	return nil
}

// parseAction reads .save(…), .snapshot(), .trace(EVENT,…) or .EVENT(…). Only
// the beginning of the word counts, so .saved(…) also saves.
//
// Kernel: action_parse, kernel/trace/trace_events_hist.c.
func (h *Hist) parseAction(a *action, text string) error {
	_, text, dot := strings.Cut(text, ".")
	name, rest, open := strings.Cut(text, "(")
	if !dot || !open {
		return h.fault(msgActionNotFound, "", syscall.EINVAL)
	}
	params, _, closed := strings.Cut(rest, ")")
	a.name = name
	switch {
	case strings.HasPrefix(name, "save"):
		a.kind = save
	case strings.HasPrefix(name, "snapshot"):
		if a.kind = snapshot; !closed {
			return h.fault(msgNoClosingParen, params, syscall.EINVAL)
		}
	default:
		a.kind = trace
		a.keyword = strings.HasPrefix(name, "trace")
	}
	if a.kind != snapshot {
		if err := h.parseParams(a, params); err != nil {
			return err
		}
	}
	if a.kind != trace && a.handler == onmatch {
		return h.fault(msgActionMismatch, name, syscall.EINVAL)
	}
	return nil
}

// Kernel: parse_action_params, kernel/trace/trace_events_hist.c.
func (h *Hist) parseParams(a *action, text string) error {
	for n, more := 0, true; more; n++ {
		if len(a.params) == paramsMax {
			return h.fault(msgTooManyParams, "", syscall.EINVAL)
		}
		var param string
		param, text, more = strings.Cut(text, ",")
		param = strip(param)
		switch {
		case len(param) < 2:
			return h.fault(msgInvalidParam, param, syscall.EINVAL)
		case n == 0 && a.keyword:
			a.synthName = param
		default:
			a.params = append(a.params, param)
		}
	}
	return nil
}

// event is the name of the synthetic event that a trace action generates; for
// other actions it is the action's own name.
func (a *action) event() string {
	if a.keyword {
		return a.synthName
	}
	return a.name
}

// strip returns s without blanks at its ends.
//
// Kernel: strstrip, include/linux/string.h.
func strip(s string) string { return filter.SkipSpace(filter.Command(s)) }

// makeActions looks up what the actions name and makes the variables they need.
//
// Kernel: create_actions, kernel/trace/trace_events_hist.c.
func (h *Hist) makeActions() error {
	for _, a := range h.actions {
		if a.handler != onmatch {
			if err := h.makeTrack(a); err != nil {
				return err
			}
		}
		if err := h.makeAction(a); err != nil {
			return err
		}
	}
	return nil
}

// makeTrack looks up the variable of onmax or onchange.
//
// Kernel: track_data_create, kernel/trace/trace_events_hist.c.
func (h *Hist) makeTrack(a *action) error {
	name, ok := strings.CutPrefix(a.track, "$")
	if !ok {
		return h.fault(msgOnxNotVar, a.track, syscall.EINVAL)
	}
	v := h.findVar(name)
	if v == nil {
		return h.fault(msgOnxVarNotFound, name, syscall.EINVAL)
	}
	var err error
	if a.trackRef, err = h.reference(v, nil); err != nil {
		return err
	}
	kept := "__max"
	if a.handler == onchange {
		kept = "__change"
	}
	if a.trackVar, err = h.newVar(kept, 8, "u64"); err != nil {
		return h.fault(msgOnxVarCreate, "", syscall.EINVAL)
	}
	return nil
}

// Kernel: action_create, kernel/trace/trace_events_hist.c.
func (h *Hist) makeAction(a *action) error {
	switch a.kind {
	case snapshot:
		return h.makeSnapshot(a)
	case save:
		return h.makeSave(a)
	}
	return h.makeTrace(a)
}

// makeSave makes the variables of save().
func (h *Hist) makeSave(a *action) error {
	if len(h.saveVars) > 0 {
		return h.fault(msgTooManySaves, "", syscall.EEXIST)
	}
	for _, param := range a.params {
		v, err := h.newFieldVar(param)
		if err != nil {
			_ = h.fault(msgFieldVarCreate, unqualified(param), syscall.EINVAL)
			return err
		}
		h.saveVars = append(h.saveVars, v)
		if v.value.flags&(flagString|flagStacktrace) != 0 {
			h.saveTexts++
		}
	}
	return nil
}

// newFieldVar makes a variable that holds a field of the event and has the
// field's name.
//
// Kernel: create_field_var, kernel/trace/trace_events_hist.c.
func (h *Hist) newFieldVar(name string) (fieldVar, error) {
	if len(h.fieldVars) == paramsMax {
		return fieldVar{}, h.fault(msgTooManyFieldVars, name, syscall.EINVAL)
	}
	fl := flagVar
	value, err := h.parseAtom(name, &fl, nil)
	name = unqualified(name)
	if err != nil {
		_ = h.fault(msgFieldVarParse, name, syscall.EINVAL)
		return fieldVar{}, err
	}
	v, err := h.newVar(name, value.size, value.typ)
	if err != nil {
		_ = h.fault(msgVarCreateFind, name, syscall.EINVAL)
		return fieldVar{}, err
	}
	v.flags |= value.flags & flagStacktrace
	return fieldVar{v, value}, nil
}
