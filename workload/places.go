package workload

import "ftracelab/machine"

// settle puts the points at which code switches interrupts and preemption into the
// functions that do so. The graph tracer sees the state of the processor only where a
// function begins or ends that it can trace; what lies between may be the work of any
// function that it cannot see.
//
//   - The innermost of the hidden functions on the way to the next function does it: the
//     inline functions that disable interrupts around a call are of this kind.
//   - __schedule disables interrupts itself, and finish_task_switch, or __schedule if the
//     task goes on, has enabled them before it returns.
//   - The functions of enteredOff, on the way back to user space, are entered with interrupts disabled.
//
// The names are those of a capture with the events irq_disable and irq_enable.
func settle(code machine.Code, sites []machine.Site, enteredOff map[uint64]bool) {
	const off = machine.FlagIRQsOff
	var inside []machine.Site // the functions that code has entered
	switched := false         // the functions around a context switch are left
	for i := range code {
		op := &code[i]
		var before, next machine.Op
		if i > 0 {
			before = code[i-1]
		}
		if i+1 < len(code) {
			next = code[i+1]
		}
		ishidden := func(op machine.Op) bool { return op.Kind == machine.OpCall && sites[op.Arg].Hidden }
		switch op.Kind {
		case machine.OpSwitch:
			switched = true
		case machine.OpCall:
			switched = false
			inside = append(inside, sites[op.Arg])
			switch {
			case i == 0 || !ishidden(*op) || enteredOff[sites[op.Arg].Func]:
			case next.Kind == machine.OpCall:
				op.Flags, op.Preempt = op.Flags&^off|before.Flags&off, before.Preempt
			case next.Kind == machine.OpSwitch:
				op.Flags = op.Flags&^off | before.Flags&off
			}
		case machine.OpReturn:
			n := len(inside)
			if n == 0 {
				continue
			}
			fn := inside[n-1]
			inside = inside[:n-1]
			switch {
			case !fn.Hidden:
				switched = false
			case switched:
				op.Flags &^= off
			case enteredOff[fn.Func] && ishidden(next) && enteredOff[sites[next.Arg].Func]:
				op.Flags |= off // it has let another task run
			case ishidden(next) && before.Flags&off == 0:
				op.Flags &^= off // what disables them comes later
			}
		default:
			switched = false
		}
	}
}
