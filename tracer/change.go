package tracer

import (
	"ftracelab/tracer/option"
	"ftracelab/tracer/record"
)

// This file is how a change is felt. Whoever changes what ftrace wants of the machine
// (an event, a user of functions, an option, a tracer) says changed. What follows is made
// anew as a whole and in one order, so that no caller has to know what depends on what:
//
//	changed ─► settle: functions that are traced ─► hooks ─► tracepoints ─► stacks
//
// It happens once for each write to a file, behind it, however much that changes; and at
// once where there is no write, as when a trigger acts or a module comes.

// changes is whether there is something to settle.
type changes struct {
	depth int // of change
	due   bool
}

// change runs do, a change as a whole: what follows from it is made behind do.
func (ft *Ftrace) change(do func() error) error {
	ft.changes.depth++
	err := do()
	ft.changes.depth--
	if ft.changes.depth == 0 {
		ft.settle()
	}
	return err
}

// changed says that something else is wanted of the machine from now on.
func (ft *Ftrace) changed() {
	ft.changes.due = true
	if ft.changes.depth == 0 {
		ft.settle()
	}
}

// settle makes what follows from all that changed. It also runs before the machine does
// within a change.
func (ft *Ftrace) settle() {
	if !ft.changes.due {
		return
	}
	ft.changes.due = false
	ft.users.Settle()
	ft.setHooks()
	ft.listen()
	ft.cmdlines.Names, ft.cmdlines.TGIDs = ft.top.opts.Has(option.RecordCmd), false
	for tr := range ft.all {
		tr.setStackMode()
		ft.cmdlines.TGIDs = ft.cmdlines.TGIDs || tr.opts.Has(option.RecordTGID)
	}
}

// setStackMode sets how the instance records kernel stacks: as ids where options/stackmap
// says so and there is a map.
func (tr *Instance) setStackMode() {
	// v2 lets an instance set the option, but only the top one has a map.
	tr.rec.Stacks().Kernel = record.FullStack
	if tr.top() && tr.opts.Has(option.Stackmap) && tr.ft.booted.mapped {
		tr.rec.Stacks().Kernel = record.StackID
	}
}
