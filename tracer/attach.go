package tracer

import (
	"ftracelab/fgraph"
	"ftracelab/unwind"
	"ftracelab/workload/machine"
)

// hooksChanged sets the machine's hooks to what the instances want now. A hook
// that nobody wants stays nil and costs the machine a comparison.
func (ft *Ftrace) hooksChanged() {
	ft.tracing = ft.tracing[:0]
	for i := range ft.all {
		if i.current.call != nil {
			ft.tracing = append(ft.tracing, i)
		}
	}
	h := &ft.machine.Hooks
	h.Call, h.Switch = nil, nil
	if len(ft.tracing) > 0 || ft.graph.Active() > 0 {
		h.Call = ft.call
	}
	if ft.graph.Active() > 0 {
		h.Switch = ft.switched
	}
	h.Return, h.Trace = ft.leave, ft.tracepoint
	if ft.unwind != nil {
		h.UserExit, h.Exit = ft.userExit, ft.taskExit
	}
	ft.listen()
}

// call runs at a function's entry.
//
// Kernel: arch_ftrace_ops_list_func, kernel/trace/ftrace.c.
func (ft *Ftrace) call(c *machine.CPU, f *machine.Frame) {
	ft.running = c
	for _, i := range ft.tracing {
		if ft.traces(f.Func) {
			i.current.call(i, c, f)
		}
	}
	if ft.graph.Active() > 0 {
		ft.graph.Call(c, f)
	}
	ft.running = nil
}

// leave runs when a function returns through the shadow stack.
func (ft *Ftrace) leave(c *machine.CPU, f *machine.Frame) {
	ft.running = c
	ft.graph.Leave(c, f)
	ft.running = nil
}

// switched runs at a context switch. With sleep-time off, the time a task is
// off its CPU does not count into its functions.
//
// Kernel: ftrace_graph_probe_sched_switch, kernel/trace/fgraph.c.
func (ft *Ftrace) switched(c *machine.CPU, prev, next *machine.Task) {
	if !ft.top.opts.Has(OptSleepTime) {
		ft.graph.Sleep(c.Time, ft.shadowStack(prev), ft.shadowStack(next))
	}
}

// traces reports whether set_ftrace_filter and set_ftrace_notrace let a
// function through; notrace wins.
func (ft *Ftrace) traces(fn uint64) bool {
	return (ft.filter.empty() || ft.filter.addrs[fn]) && !ft.notrace.addrs[fn]
}

// taskData is what tracing keeps with a task (machine.Task.Private).
type taskData struct {
	graph  *fgraph.Stack
	unwind *unwind.Task // in a kernel with deferred unwinding
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
