package tracer

import "ftracelab/workload/machine"

// functionCommands are the commands of set_ftrace_filter, mod apart.
var functionCommands = []functionCommand{
	{name: "traceon", fire: func(i *Instance, _ *machine.CPU, d *probeData) { i.switchTracing(d, true) }},
	{name: "traceoff", fire: func(i *Instance, _ *machine.CPU, d *probeData) { i.switchTracing(d, false) }},
	{name: "stacktrace", fire: stackCommand},
	{name: "snapshot", fire: snapshotCommand, arm: (*Instance).armSnapshot, disarm: (*Instance).disarmSnapshot},
}

// switchTracing turns tracing_on on or off at a function, if it is not so yet.
// A count that is used up, or was none, switches nothing.
//
// Kernel: ftrace_traceon and update_traceon_count, kernel/trace/trace_functions.c.
func (i *Instance) switchTracing(d *probeData, on bool) {
	if d != nil && d.count <= 0 || i.buf.Recording() == on {
		return
	}
	i.buf.SetRecording(on)
	if d != nil {
		d.count--
	}
}

// stackCommand records the stack at a function. With a count it heeds the top
// instance's tracing_on, and without the instance's own the buffer refuses it.
//
// Kernel: ftrace_stacktrace_count, kernel/trace/trace_functions.c.
func stackCommand(i *Instance, c *machine.CPU, d *probeData) {
	if d != nil {
		if !i.ft.top.buf.Recording() || d.count == 0 {
			return
		}
		d.count--
	}
	if !i.records(c) {
		return
	}
	i.ft.remember(c.Current)
	i.stack.IPs = c.KernelStack(i.stack.IPs[:0])
	i.kernelStack(c, contextOf(c), common(c))
}

// fires takes one off a count and reports whether there was one; no count is no
// limit.
//
// Kernel: update_count, kernel/trace/trace_functions.c.
func (d *probeData) fires() bool {
	if d == nil {
		return true
	}
	if d.count <= 0 {
		return false
	}
	d.count--
	return true
}

// Kernel: ftrace_count_snapshot and tracing_snapshot_instance,
// kernel/trace/trace.c.
func snapshotCommand(i *Instance, _ *machine.CPU, d *probeData) {
	if d.fires() && i.buf.Recording() {
		_ = i.takeSnapshot(-1) // the console would say why not
	}
}
