package tracer

import (
	"ftracelab/tracer/option"
	"ftracelab/tracer/record"
)

// This file applies changes. Code that changes what ftrace wants of the machine (an
// event, a user of functions, an option, a tracer) calls changed. Then settle sets
// everything that follows from it again, always in the same order, so that no caller
// has to know what depends on what:
//
//	changed ─► settle: functions and tasks that are traced ─► hooks ─► tracepoints ─► stacks
//
// That happens once for each write to a file, after the write, however much the write
// changes. Where there is no write, it happens at once: for example when a trigger
// acts or a module is loaded.

// changes records whether there is something to settle.
type changes struct {
	depth int // how many calls of change are running
	due   bool
}

// change runs do as one change: settle runs once, after the outermost do.
func (ft *Ftrace) change(do func() error) error {
	ft.changes.depth++
	err := do()
	ft.changes.depth--
	if ft.changes.depth == 0 {
		ft.settle()
	}
	return err
}

// changed is called when something else is wanted of the machine from now on.
func (ft *Ftrace) changed() {
	ft.changes.due = true
	if ft.changes.depth == 0 {
		ft.settle()
	}
}

// settle applies everything that follows from the changes. It also runs before the
// machine runs within a change.
func (ft *Ftrace) settle() {
	if !ft.changes.due {
		return
	}
	ft.changes.due = false
	ft.users.Settle()
	for tr := range ft.all {
		tr.setFollows()
	}
	ft.setHooks()
	ft.listen()
	ft.cmdlines.Names, ft.cmdlines.TGIDs = ft.top.opts.Has(option.RecordCmd), false
	for tr := range ft.all {
		tr.setStackMode()
		ft.cmdlines.TGIDs = ft.cmdlines.TGIDs || tr.opts.Has(option.RecordTGID)
	}
}

// setStackMode sets how the instance records kernel stacks: as ids if
// options/stackmap is set and there is a map.
func (tr *Instance) setStackMode() {
	// v2 lets an instance set the option, but only the top one has a map.
	tr.rec.Stacks().Kernel = record.FullStack
	if tr.interner != nil && tr.opts.Has(option.Stackmap) && tr.ft.booted.mapped {
		tr.rec.Stacks().Kernel = record.StackID
	}
}
