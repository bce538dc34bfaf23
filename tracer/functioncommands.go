package tracer

import (
	"fmt"
	"strings"

	"ftracelab/machine"
	"ftracelab/tracer/option"
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

// dumpCommand writes the trace of the top instance to the console, of one CPU or,
// with cpu < 0, of all. That empties the buffer and leaves tracing off.
//
// Kernel: ftrace_dump_probe, kernel/trace/trace_functions.c, and
// ftrace_dump_one, kernel/trace/trace.c.
func (ft *Ftrace) dumpCommand(c *machine.CPU, d *probeData, cpu int) {
	if !d.fires() {
		return
	}
	tr := ft.top
	tr.buf.SetRecording(false)
	opts := tr.opts
	tr.opts.Set(option.LatencyFormat, true)
	p := &pipe{tr: tr, cpu: cpu}
	p.open()
	tr.opts = opts
	const rule = "---------------------------------"
	ft.printk(c.Time, "Dumping ftrace buffer:")
	entries := 0
	for more := true; more; entries++ {
		p.text, more = p.printer.AppendNext(p.text[:0], p.merge)
		if entries == 0 && more {
			ft.printk(c.Time, rule)
		}
		for line := range strings.Lines(string(p.text)) {
			ft.printk(c.Time, strings.TrimSuffix(line, "\n"))
		}
	}
	if entries == 1 {
		ft.printk(c.Time, "   (ftrace buffer empty)")
	} else {
		ft.printk(c.Time, rule)
	}
}

// printk writes a line with the time to the console, if there is one.
//
// Kernel: kernel/printk/printk.c.
func (ft *Ftrace) printk(now machine.Time, line string) {
	if ft.cfg.Console == nil {
		return
	}
	// Nobody is left to hear that the console is gone.
	_, _ = fmt.Fprintf(ft.cfg.Console, "[%5d.%06d] %s\n", now/machine.Second, now%machine.Second/machine.Microsecond, line)
}
