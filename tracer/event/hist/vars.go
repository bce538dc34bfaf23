package hist

import (
	"fmt"
	"syscall"

	"ftracelab/tracer/event"
)

// eventName is SYSTEM.EVENT; nil means that none was given.
type eventName struct{ system, name string }

func (on *eventName) is(t *event.Type) bool { return t.System == on.system && t.Name == on.name }

// findVar finds a variable of the trigger by name, nil if there is none.
//
// Kernel: find_var_field, kernel/trace/trace_events_hist.c.
func (h *Hist) findVar(name string) *Field {
	for _, f := range h.fields {
		if f.flags&flagVar != 0 && f.varName == name {
			return f
		}
	}
	return nil
}

// findVar finds a variable among the triggers of an event. A nil File has none.
//
// Kernel: find_file_var, kernel/trace/trace_events_hist.c.
func (f *File) findVar(name string) *Field {
	if f == nil {
		return nil
	}
	for _, t := range f.triggers {
		if v := t.hist.findVar(name); v != nil {
			return v
		}
	}
	return nil
}

// taken reports whether a variable's name is in use already.
//
// Kernel: find_var, kernel/trace/trace_events_hist.c.
func (h *Hist) taken(name string) bool {
	return !h.remove && (h.findVar(name) != nil || h.file.findVar(name) != nil)
}

// findVarFile finds the event whose triggers have a variable. If no event is
// named, it is the only event that has such a variable. The result is nil if
// there is none.
//
// Kernel: find_var_file, kernel/trace/trace_events_hist.c.
func (in *Instance) findVarFile(on *eventName, name string) *File {
	if on != nil {
		return in.files[in.env.Event(on.system, on.name)]
	}
	var found *File
	for _, h := range in.vars {
		if h.file == found || h.findVar(name) == nil {
			continue
		}
		if found != nil {
			_ = in.fault(msgVarNotUnique, name, syscall.EINVAL)
			return nil
		}
		found = h.file
	}
	return found
}

// findEventVar finds the variable that a reference means. Without an event's
// name it first looks at the events that onmatch names.
//
// Kernel: find_event_var and find_match_var, kernel/trace/trace_events_hist.c.
func (h *Hist) findEventVar(on *eventName, name string) *Field {
	i := h.file.instance
	if on == nil {
		var found *Field
		for _, a := range h.actions {
			if a.handler != onmatch {
				continue
			}
			v := i.findVarFile(&a.match, name).findVar(name)
			switch {
			case v == nil:
			case found != nil:
				_ = i.fault(msgVarNotUnique, name, syscall.EINVAL)
				return nil
			default:
				found = v
			}
		}
		if found != nil {
			return found
		}
	}
	return i.findVarFile(on, name).findVar(name)
}

func (h *Hist) fault(msg, at string, errno syscall.Errno) error {
	return h.file.instance.fault(msg, at, errno)
}

// isVarRef reports whether a text is $NAME.
func isVarRef(text string) bool { return len(text) >= 2 && text[0] == '$' }

// localVar returns the field that a variable of the same command stands for, if
// that is a plain field: $NAME is then just another name for the field.
//
// Kernel: local_field_var_ref and field_name_from_var,
// kernel/trace/trace_events_hist.c.
func (h *Hist) localVar(on *eventName, text string) (field string, ok bool) {
	if on != nil && !on.is(h.file.typ) || !isVarRef(text) {
		return "", false
	}
	for _, v := range h.attrs.vars {
		if v.name != text[1:] {
			continue
		}
		if op, _ := rootOperator(v.expr); op == opNone && !isVarRef(v.expr) {
			return v.expr, true
		}
	}
	return "", false
}

// parseVarRef makes a reference from $NAME. It returns nil if the text is not a
// reference or there is no such variable.
//
// Kernel: parse_var_ref, kernel/trace/trace_events_hist.c.
func (h *Hist) parseVarRef(on *eventName, text string) *Field {
	if !isVarRef(text) {
		return nil
	}
	name := text[1:]
	if v := h.findEventVar(on, name); v != nil {
		if ref, err := h.reference(v, on); err == nil {
			return ref
		}
	}
	_ = h.fault(msgVarNotFound, name, syscall.EINVAL)
	return nil
}

// reference makes a reference to a variable, or returns the existing one.
// Errors: ENOMEM if there are too many.
//
// Kernel: create_var_ref, kernel/trace/trace_events_hist.c.
func (h *Hist) reference(v *Field, on *eventName) (*Field, error) {
	if at := h.findRef(v); at >= 0 {
		return h.refs[at], nil
	}
	if len(h.refs) == varsMax {
		return nil, fmt.Errorf("hist: more than %d references: %w", varsMax, syscall.ENOMEM)
	}
	f := &Field{flags: flagVarRef, fn: fnVarRef, ref: len(h.refs)}
	f.refersTo(v, on)
	h.refs = append(h.refs, f)
	return f, nil
}

// findRef returns the index of the trigger's reference to a variable, or -1 if
// there is none.
//
// Kernel: find_var_ref and find_var_ref_idx, kernel/trace/trace_events_hist.c.
func (h *Hist) findRef(v *Field) int {
	for at, ref := range h.refs {
		if ref.index == v.index && ref.hist == v.hist {
			return at
		}
	}
	return -1
}

// refersTo makes the field a reference that reads v.
//
// Kernel: init_var_ref, kernel/trace/trace_events_hist.c.
func (f *Field) refersTo(v *Field, on *eventName) {
	f.index, f.hist = v.index, v.hist
	f.size, f.signed, f.typ = v.size, v.signed, v.typ
	f.flags |= v.flags & (flagTimestamp | flagUsecs | flagStacktrace)
	f.on = on
	if f.name = v.varName; f.name == "" {
		f.name = v.name
	}
}

// newAlias makes a variable whose value is that of another variable.
//
// Kernel: create_alias, kernel/trace/trace_events_hist.c.
func (h *Hist) newAlias(ref *Field, v *varDef) *Field {
	f := &Field{flags: flagAlias | flagVar, fn: ref.fn, varName: v.name, operands: [2]*Field{ref}, ref: ref.ref}
	f.refersTo(ref, ref.on)
	return f
}

// newVar makes a variable that no command names. Errors: EINVAL if its name is
// taken, or there are too many variables.
//
// Kernel: create_var, kernel/trace/trace_events_hist.c.
func (h *Hist) newVar(name string, size int, typ string) (*Field, error) {
	if h.taken(name) || h.slots == varsMax {
		return nil, invalid("no variable", name)
	}
	h.slots++
	return &Field{flags: flagVar, varName: name, hist: h, index: h.slots - 1, size: size, typ: typ}, nil
}

// referenced reports whether another trigger reads a variable of this one.
//
// Kernel: check_var_refs, kernel/trace/trace_events_hist.c.
func (h *Hist) referenced() bool {
	for _, v := range h.fields {
		if v.flags&flagVar == 0 {
			continue
		}
		for _, other := range h.file.instance.vars {
			if other != h && other.findRef(v) >= 0 {
				return true
			}
		}
	}
	return false
}

// hasVars reports whether the trigger defines or reads variables.
//
// Kernel: has_hist_vars, kernel/trace/trace_events_hist.c.
func (h *Hist) hasVars() bool {
	for _, f := range h.fields {
		if f.hasVars(0) {
			return true
		}
	}
	return len(h.refs) > 0
}

// Kernel: field_has_hist_vars, kernel/trace/trace_events_hist.c.
func (f *Field) hasVars(level int) bool {
	switch {
	case f == nil || level > operandLevels:
		return false
	case f.flags&(flagVar|flagVarRef) != 0:
		return true
	}
	return f.operands[0].hasVars(level+1) || f.operands[1].hasVars(level+1)
}
