package hist

import (
	"strings"
	"syscall"
)

// SynthEvent is a synthetic event that actions generate.
type SynthEvent interface {
	// Name is the event's name.
	Name() string
	NumFields() int
	SynthField(i int) SynthField
	// Hold counts the actions that generate it and the hist triggers on it: it
	// cannot be removed while there are any.
	Hold(n int)
	// Generate makes the event happen, if it is enabled, with one value for
	// each field: refs[args[i]] for field i.
	Generate(m *Moment, refs []Value, args []int)
}

// SynthField is a field of a synthetic event, with which a parameter must agree.
//
// Kernel: struct synth_field, kernel/trace/trace_synth.h.
type SynthField struct {
	Type    string // as the format file has it
	Size    int
	Signed  bool
	Text    bool // char[N] or char[]
	Dynamic bool // char[]
	Stack   bool // long[]
}

// takes reports whether a variable may be passed for the field.
//
// Kernel: check_synth_field, kernel/trace/trace_events_hist.c.
func (s *SynthField) takes(v *Field) bool {
	switch {
	case strings.Contains(v.typ, "char[") && s.Text && s.Dynamic:
		return true
	case v.flags&flagStacktrace != 0 != s.Stack:
		return false
	case s.Stack, s.Type == v.typ:
		return true
	}
	return s.Size == v.size && (s.Text || s.Signed == v.signed)
}

// makeTrace looks up the synthetic event that an action generates and the
// variables that it passes. For a field of an event it makes a variable.
//
// Kernel: trace_action_create, kernel/trace/trace_events_hist.c.
func (h *Hist) makeTrace(a *action) error {
	synth := h.file.instance.env.Synth(a.event())
	if synth == nil {
		return h.fault(msgSynthEventNotFound, a.event(), syscall.EINVAL)
	}
	for n, param := range a.params {
		ref, err := h.makeParam(a, param, synth, n)
		if err != nil {
			return err
		}
		a.refs = append(a.refs, ref)
	}
	if len(a.params) != synth.NumFields() {
		return h.fault(msgSynthCount, synth.Name(), syscall.EINVAL)
	}
	a.synth = synth
	synth.Hold(1)
	return nil
}

// makeParam makes one parameter and returns the index of its reference.
func (h *Hist) makeParam(a *action, text string, synth SynthEvent, n int) (int, error) {
	on, param := (*eventName)(nil), text
	if system, rest, dot := strings.Cut(text, "."); dot {
		name, last, dot := strings.Cut(rest, ".")
		if !dot {
			return 0, invalid("no field of an event", text)
		}
		on, param = &eventName{system, name}, last
	}
	v := h.paramVar(a, on, param)
	if v == nil {
		return 0, invalid("no parameter", text)
	}
	if n < synth.NumFields() {
		if field := synth.SynthField(n); field.takes(v) {
			ref, err := h.reference(v, on)
			if err != nil {
				return 0, err
			}
			return ref.ref, nil
		}
	}
	return 0, h.fault(msgSynthType, unqualified(param), syscall.EINVAL)
}

// paramVar finds the variable of a parameter, or makes one for a field. If no
// event is given, the parameter belongs to this event or else to the event of
// onmatch.
//
// Kernel: trace_action_find_var and trace_action_create_field_var,
// kernel/trace/trace_events_hist.c.
func (h *Hist) paramVar(a *action, on *eventName, param string) *Field {
	here := on == nil || on.is(h.file.typ)
	there := on
	if on == nil && a.handler == onmatch {
		there = &a.match
	}
	if name, ok := strings.CutPrefix(param, "$"); ok {
		if here {
			if v := h.findVar(name); v != nil {
				return v
			}
		}
		v := h.findEventVar(there, name)
		if v == nil {
			_ = h.fault(msgParamNotFound, name, syscall.EINVAL)
		}
		return v
	}
	if here {
		if v, err := h.newFieldVar(param); err == nil {
			h.fieldVars = append(h.fieldVars, v)
			if v.value.flags&(flagString|flagStacktrace) != 0 {
				h.fieldTexts++
			}
			return v.variable
		}
		param = unqualified(param)
	}
	if there == nil {
		return nil
	}
	return h.hiddenVar(there, param)
}

// hiddenVar makes a variable of another event's field by adding a hidden hist
// trigger there; it copies keys and filter of an existing compatible trigger.
//
// Kernel: create_field_var_hist, kernel/trace/trace_events_hist.c.
func (h *Hist) hiddenVar(on *eventName, field string) *Field {
	i := h.file.instance
	fault := func(msg string) *Field {
		_ = i.fault(msg, field, syscall.EINVAL)
		return nil
	}
	if len(h.hidden) == paramsMax {
		return fault(msgTooManyFieldVars)
	}
	typ := i.env.Event(on.system, on.name)
	if typ == nil {
		return fault(msgEventNotFound)
	}
	like := h.compatible(i.files[typ])
	if like == nil {
		return fault(msgHistNotFound)
	}
	variable := "synthetic_" + field
	if len(variable) >= textMax {
		return nil
	}
	if v := h.findEventVar(on, variable); v != nil {
		return v
	}
	command := []byte("keys=")
	for n, key := range like.hist.keys() {
		if n > 0 {
			command = append(command, ',')
		}
		command = key.appendExpr(command)
	}
	command = append(command, ":"+variable+"="+field...)
	if like.filterText != "" {
		command = append(command, " if "+like.filterText...)
	}
	if len(command) >= textMax {
		return nil
	}
	file := i.File(typ)
	if err := file.write(string(command), false); err != nil {
		return fault(msgHistCreate)
	}
	h.hidden = append(h.hidden, hiddenHist{file, string(command)})
	v := h.findEventVar(on, variable)
	if v == nil {
		return fault(msgSynthVarNotFound)
	}
	return v
}

// compatible finds a trigger of an event with keys like this one's.
//
// Kernel: find_compatible_hist and compatible_keys,
// kernel/trace/trace_events_hist.c.
func (h *Hist) compatible(f *File) *Trigger {
	if f == nil {
		return nil
	}
	for _, t := range f.triggers {
		keys, others := h.keys(), t.hist.keys()
		same := len(keys) == len(others)
		for n := 0; same && n < len(keys); n++ {
			same = keys[n].typ == others[n].typ && keys[n].size == others[n].size && keys[n].signed == others[n].signed
		}
		if same {
			return t
		}
	}
	return nil
}
