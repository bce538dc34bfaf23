package tracer

import (
	"ftracelab/fgraph"
	"ftracelab/fgraph/rethook"
	"ftracelab/fgraph/slots"
	"ftracelab/machine"
	"ftracelab/tracer/option"
	"ftracelab/unwind"
	"ftracelab/unwind/user"
)

// setHooks sets the machine's hooks to what the instances want now. A hook that
// nobody wants stays nil and costs the machine only a comparison.
func (ft *Ftrace) setHooks() {
	h := &ft.machine.Hooks
	h.Call = ft.users.Hook()
	if ft.dyn.Armed() {
		h.Call = ft.call
	}
	h.Switch = nil
	if ft.graph.Active() > 0 {
		h.Switch = ft.switched
	}
	h.Learned = ft.said
	h.Return, h.Recover, h.Trace, h.Exit = ft.leave, ft.recover, ft.tracepoint, ft.taskExit
	h.Module, h.ModuleRefs, h.Printk = ft.moduleChanged, ft.moduleRefs, ft.tracePrintk
	h.NMI, h.Hotplug, h.Dump = ft.nmi, ft.hotplug, func() { ft.dump(ft.say, -1) }
	h.Critical, h.Idle, h.MMIO = nil, nil, nil
	for n := range ft.tracers {
		if hook := ft.tracers[n].Hook; hook != nil {
			hook(h)
		}
	}
	h.User, h.Probed, h.Breakpoint = nil, nil, nil
	if ft.dyn.ListenUsers() {
		h.User, h.Probed, h.Breakpoint = ft.runsUser, ft.dyn.Probed, ft.dyn.Breakpoint
	}
	if ft.unwind != nil {
		h.UserExit, h.Executing, h.Exiting = ft.userExit, ft.executing, ft.exiting
	}
}

// call runs at a function's entry while probes inside of functions are armed.
func (ft *Ftrace) call(c *machine.CPU, f *machine.Frame) {
	ft.users.Call(c, f)
	ft.dyn.Call(c, f)
}

// leave runs when a function returns to a replaced address. The hook that was set
// last sees the return first; the address that it restores may be that of another
// hook.
func (ft *Ftrace) leave(c *machine.CPU, f *machine.Frame) {
	for away := true; away && f.Replaced(); {
		switch f.Ret {
		case rethook.Trampoline:
			ft.data(c.Current).rethooks.Return(c, f)
		case fgraph.ReturnToHandler:
			ft.graph.Leave(c, f)
		default:
			if _, slot := slots.Trampoline(f.Ret); slot {
				ft.slots.Leave(c, f)
			} else {
				away = false
			}
		}
	}
}

// recover gives unwinders the address that a replaced return address stands for.
//
// Departure: a word that was replaced twice is looked up twice, in either order. The kernel
// asks the shadow stack first and rethook after it, once each.
func (ft *Ftrace) recover(t *machine.Task, index *int, ret, place uint64) uint64 {
	d := ft.data(t)
	frame, passed := int(int16(*index)), *index>>16 // of the shadow stack, of rethook
	defer func() { *index = passed<<16 | frame&0xffff }()
	for {
		was := ret
		switch ret {
		case fgraph.ReturnToHandler:
			ret = ft.graph.RetAddr(d.graph, &frame, ret, place)
		case rethook.Trampoline:
			ret = d.rethooks.RetAddr(&passed, ret, place)
		default:
			if ft.slots == nil {
				return ret
			}
			ret = ft.slots.RetAddr(ret)
		}
		if ret == was {
			return ret
		}
	}
}

// runsUser runs when the current task goes on in user space after a system call.
func (ft *Ftrace) runsUser(c *machine.CPU) {
	ft.dyn.User(c)
}

// taskExit runs when a task has left its CPU for good.
func (ft *Ftrace) taskExit(t *machine.Task) {
	d := ft.data(t)
	d.rethooks.Flush()
	ft.rv.Forget(t)
	if d.graph != nil {
		ft.graph.Forget(d.graph)
	}
}

// exiting runs when c's task exits: it has its address space for the last time.
func (ft *Ftrace) exiting(c *machine.CPU) {
	if d := ft.data(c.Current); d.unwind != nil {
		ft.unwind.Exit(d.unwind)
	}
}

// executing runs when c's task begins another program: it has the old one's address space
// for the last time.
func (ft *Ftrace) executing(c *machine.CPU) {
	if d := ft.data(c.Current); d.unwind != nil {
		ft.unwind.Exec(d.unwind)
	}
}

// switched runs at a context switch. With sleep-time off, the time that a task is off
// its CPU does not count for its functions.
//
// Kernel: ftrace_graph_probe_sched_switch, kernel/trace/fgraph.c.
func (ft *Ftrace) switched(c *machine.CPU, prev, next *machine.Task) {
	if !ft.top.opts.Has(option.SleepTime) {
		ft.graph.Sleep(c.Time, ft.shadowStack(prev), ft.shadowStack(next))
	}
}

// taskData is what tracing keeps about a task (machine.Task.Private).
type taskData struct {
	graph *fgraph.Stack
	// graphIRQ says that an interrupt called the function of set_graph_function that
	// the task is inside (TRACE_IRQ_BIT).
	graphIRQ bool
	rethooks rethook.Task
	unwind   *unwind.Task // in a kernel with deferred unwinding
	walks    user.Walks   // of its stack at events
}

func (ft *Ftrace) shadowStack(t *machine.Task) *fgraph.Stack {
	d := ft.data(t)
	if d.graph == nil {
		d.graph = new(fgraph.Stack)
		ft.graph.Adopt(d.graph)
	}
	return d.graph
}

func (ft *Ftrace) data(t *machine.Task) *taskData {
	d, ok := t.Private.(*taskData)
	if !ok {
		d = new(taskData)
		t.Private = d
	}
	return d
}
