package tracer

import (
	"fmt"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
)

// ownFiles is the folder ftracelab. Its files show what return hooks and user stacks
// that are unwound later keep at this moment.
//
// Departure: no kernel has this folder. It is there only if Config.OwnFiles asks for it.
func (ft *Ftrace) ownFiles() tracefile.Node {
	return &tracefile.Dir{Name: "ftracelab", Mode: 0o750, Children: func() []tracefile.Node {
		return []tracefile.Node{
			ft.top.seq("shadow_stack", 0o440, ft.showShadowStacks),
			ft.top.seq("return_slots", 0o440, ft.showSlots),
			ft.top.seq("fprobes", 0o440, func() ([]byte, error) { return ft.dyn.ShowFprobes(), nil }),
			ft.top.seq("user_unwind", 0o440, ft.showUnwind),
			ft.top.seq("return_pools", 0o440, func() ([]byte, error) { return ft.dyn.ShowPools(), nil }),
		}
	}}
}

// showShadowStacks returns the words of the shadow stacks on which calls are in flight,
// those of idle tasks first, then by pid.
func (ft *Ftrace) showShadowStacks() ([]byte, error) {
	var text []byte
	show := func(t *machine.Task) {
		d, ok := t.Private.(*taskData)
		if !ok || d.graph == nil || d.graph.Top() == 0 {
			return
		}
		text = fmt.Appendf(text, "%s-%d: depth %d, overrun %d\n", t.Comm, t.PID, d.graph.Depth(), d.graph.Overrun())
		text = ft.graph.AppendWords(text, d.graph, ft.users.AppendAt)
	}
	for _, c := range ft.machine.CPUs() {
		show(c.Idle())
	}
	for _, t := range ft.machine.Tasks() {
		show(t)
	}
	return text, nil
}

// showUnwind returns what is kept with each task about walks of its user stack, by pid: for
// those that come later, the state of [unwind.Task.AppendState]; for those at events
// (options/userstacktrace), how many there were and why they stopped. Tasks without either
// have no line.
func (ft *Ftrace) showUnwind() ([]byte, error) {
	var text []byte
	if ft.unwind == nil {
		text = append(text, "this kernel does not unwind user stacks later\n"...)
	}
	for _, t := range ft.machine.Tasks() {
		d, ok := t.Private.(*taskData)
		if !ok {
			continue
		}
		if d.unwind != nil {
			text = d.unwind.AppendState(fmt.Appendf(text, "%s-%d: ", t.Comm, t.PID))
		}
		if d.walks.Total() > 0 {
			text = append(d.walks.Append(fmt.Appendf(text, "%s-%d: at events ", t.Comm, t.PID)), '\n')
		}
	}
	return text, nil
}

// showSlots returns the slots of the tracer return that are taken, and how many calls
// found none.
func (ft *Ftrace) showSlots() ([]byte, error) {
	if ft.slots == nil {
		return []byte("this kernel has no tracer return\n"), nil
	}
	text := fmt.Appendf(nil, "slots: %d\noverrun: %d\n", ft.cfg.ReturnSlots, ft.slots.Overrun)
	for n, s := range ft.slots.Taken {
		text = ft.users.AppendAt(fmt.Appendf(text, "%2d called at %d, returns to ", n, s.Calltime), s.Ret)
		text = append(text, '\n')
	}
	return text, nil
}
