package tracer

import (
	"ftracelab/machine"
	"ftracelab/machine/klog"
)

// functionCommands are the commands of set_ftrace_filter except mod.
var functionCommands = []functionCommand{
	{name: "traceon", fire: func(tr *Instance, _ *machine.CPU, d *probeData) { tr.switchTracing(d, true) }},
	{name: "traceoff", fire: func(tr *Instance, _ *machine.CPU, d *probeData) { tr.switchTracing(d, false) }},
	{name: "stacktrace", fire: stackCommand},
	{name: "snapshot", fire: snapshotCommand, arm: (*Instance).armSnapshot, disarm: (*Instance).disarmSnapshot},
	{name: "dump", once: true, fire: func(tr *Instance, c *machine.CPU, d *probeData) { tr.ft.dumpCommand(c, d, -1) }},
	{name: "cpudump", never: true, fire: func(tr *Instance, c *machine.CPU, d *probeData) { tr.ft.dumpCommand(c, d, c.ID) }},
	{name: "enable_event", event: true, fire: switchEvent},
	{name: "disable_event", event: true, fire: switchEvent},
}

// switchTracing turns tracing_on on or off at a function, if it is not in that state
// yet. It switches nothing if the count is used up, or if the parameter held no
// number.
//
// Kernel: ftrace_traceon and update_traceon_count, kernel/trace/trace_functions.c.
func (tr *Instance) switchTracing(d *probeData, on bool) {
	if d != nil && d.count <= 0 || tr.buf.Recording() == on {
		return
	}
	tr.buf.SetRecording(on)
	if d != nil {
		d.count--
	}
}

// stackCommand records the stack at a function. With a count it does nothing while
// the top instance's tracing_on is off. While the instance's own tracing_on is off,
// nothing is recorded.
//
// Kernel: ftrace_stacktrace_count, kernel/trace/trace_functions.c.
func stackCommand(tr *Instance, c *machine.CPU, d *probeData) {
	if d != nil {
		if !tr.ft.top.buf.Recording() || d.count == 0 {
			return
		}
		d.count--
	}
	if !tr.records(c) {
		return
	}
	tr.ft.cmdlines.Remember(c.Current)
	tr.stack.IPs = c.AppendKernelStack(tr.stack.IPs[:0])
	tr.kernelStack(tr.rec, c, contextOf(c), common(c))
}

// fires reports whether a command may still fire, and if so takes one off its count.
// Without a count there is no limit.
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
func snapshotCommand(tr *Instance, c *machine.CPU, d *probeData) {
	if d.fires() {
		m := &tr.moment
		*m = moment{tr, happening{cpu: c, ctx: contextOf(c), h: common(c)}}
		tr.triggerSnapshot(m, nil)
	}
}

// dumpCommand writes the trace of the top instance to the kernel's log, of one CPU or,
// with cpu < 0, of all.
//
// Kernel: ftrace_dump_probe, kernel/trace/trace_functions.c.
func (ft *Ftrace) dumpCommand(c *machine.CPU, d *probeData, cpu int) {
	if !d.fires() {
		return
	}
	ft.dump(func(level klog.Level, text string) { c.Printk(level, "%s", text) }, cpu)
}
