package hist

import (
	"slices"

	"ftracelab/tracer/event"
)

// matches reports whether two triggers count the same in the same way. named is
// the first trigger of t's name, nil if t has none or is the first; with
// ignoreFilter the filters may differ.
//
// Kernel: hist_trigger_match, kernel/trace/trace_events_hist.c.
func (t *Trigger) matches(test, named *Trigger, ignoreFilter bool) bool {
	if named != nil && named != test && named != test.named {
		return false
	}
	if named == nil && test.name != "" {
		return false
	}
	a, b := t.hist, test.hist
	if a.nVals != b.nVals || !ignoreFilter && t.filterText != test.filterText {
		return false
	}
	return slices.EqualFunc(a.fields, b.fields, (*Field).same) &&
		slices.Equal(a.sort, b.sort) &&
		slices.EqualFunc(a.actions, b.actions, (*action).same)
}

// same reports whether two fields of triggers are the same. The operands of an
// expression are not compared.
func (f *Field) same(o *Field) bool {
	return f.flags == o.flags && compatible(f.event, o.event) &&
		f.offset == o.offset && f.size == o.size && f.signed == o.signed &&
		f.varName == o.varName
}

// compatible reports whether fields of two events can stand for each other.
//
// Kernel: compatible_field, kernel/trace/trace_events_hist.c.
func compatible(a, b *event.Field) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || a.Name == b.Name && a.CType() == b.CType() && a.Size == b.Size && a.Signed == b.Signed
}

// same reports whether two actions are the same.
//
// Kernel: actions_match, kernel/trace/trace_events_hist.c.
func (a *action) same(b *action) bool {
	return a.handler == b.handler && a.kind == b.kind && slices.Equal(a.params, b.params) &&
		a.event() == b.event() &&
		a.match == b.match && a.track == b.track
}
