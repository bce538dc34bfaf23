package tracer

import (
	"slices"
	"strings"

	"ftracelab/machine/klog"
	"ftracelab/tracer/event"
	"ftracelab/tracer/option"
)

// This file has what goes from the tracing to the kernel's log, and the event that each
// message of the log makes.

// source is the writer as the log knows it.
func (by writer) source() klog.Source {
	return klog.Source{CPU: by.cpu, Outside: true, PID: by.pid, Comm: by.comm}
}

// say writes a message, to which it adds a newline, that a write to a file of the tracing
// causes.
func (ft *Ftrace) say(level klog.Level, text string) {
	ft.machine.Log().Print(outsider.source(), ft.cpuTime(outsider.cpu), klog.Kern, level, text+"\n")
}

// logBoot writes what the tracing says of itself when the kernel boots.
//
// Kernel: ftrace_init, kernel/trace/ftrace.c; init_optprobes and init_kprobes,
// kernel/kprobes.c.
func (ft *Ftrace) logBoot() {
	c := ft.machine.CPUs()[0]
	for _, text := range ft.users.BootMessages() {
		c.Printk(klog.Info, "%s", text)
	}
	c.Printk(klog.Info, "kprobes: kprobe jump-optimization is enabled. All kprobes are optimized if possible.")
}

// dump writes the trace of the top instance to the kernel's log, of one CPU or, with
// cpu < 0, of all. That empties the buffer and leaves tracing off. Each event is one
// message, however many lines it has, of which the first 1000 bytes count.
//
// Kernel: ftrace_dump_one and trace_printk_seq, kernel/trace/trace.c.
func (ft *Ftrace) dump(say func(level klog.Level, text string), cpu int) {
	const (
		longest = 1000 // TRACE_MAX_PRINT
		level   = klog.Emerg
		rule    = "---------------------------------"
	)
	tr := ft.top
	tr.buf.SetRecording(false)
	opts := tr.opts
	tr.opts.Set(option.LatencyFormat, true)
	tr.opts.Set(option.SymUserobj, false)
	p := &pipe{tr: tr, cpu: cpu}
	p.open()
	tr.opts = opts
	say(level, "Dumping ftrace buffer:")
	entries := 0
	for more := true; more; entries++ {
		p.text, more = p.printer.AppendNext(p.text[:0], p.merge)
		if entries == 0 && more {
			say(level, rule)
		}
		if len(p.text) > 0 {
			say(level, strings.TrimSuffix(string(p.text[:min(len(p.text), longest)]), "\n"))
		}
	}
	if entries == 1 {
		say(level, "   (ftrace buffer empty)")
	} else {
		say(level, rule)
	}
}

// warnOfPrintk warns once that a module calls trace_printk.
//
// Kernel: trace_printk_init_buffers, kernel/trace/trace.c.
func (ft *Ftrace) warnOfPrintk() {
	if ft.printkBanner {
		return
	}
	ft.printkBanner = true
	notice := strings.Join(slices.Repeat([]string{"NOTICE"}, 7), " ")
	const width = 52
	row := func(text string) { ft.say(klog.Warning, "** "+text+strings.Repeat(" ", width-len(text))+" **") }
	stars := strings.Repeat("*", width+6)
	ft.say(klog.Warning, "")
	ft.say(klog.Warning, stars)
	for _, text := range []string{
		"  " + notice, "",
		"trace_printk() being used. Allocating extra memory.", "",
		"This means that this is a DEBUG kernel and it is", "unsafe for production use.", "",
		"If you see this message and you are not debugging", "the kernel, report this immediately to your vendor!", "",
		"  " + notice,
	} {
		row(text)
	}
	ft.say(klog.Warning, stars)
}

const consoleEvent = "printk:console"

// console makes the event printk:console of a message. A message from outside the machine
// is taken to be a write to /dev/kmsg.
//
// Departure: a tprobe on this tracepoint never fires, and tp_printk does not print this
// event. There the kernel would wait for ever for a lock that it has.
//
// Kernel: trace_console in printk_sprint, kernel/printk/printk.c.
func (ft *Ftrace) console(by klog.Source, _ uint64, text string) {
	callers := []string{"__traceiter_console", "printk_sprint", "vprintk_store", "vprintk_emit", "_printk"}
	if by.Outside {
		callers = append(callers[:4:4], "devkmsg_emit.constprop.0", "devkmsg_write", "vfs_write", "ksys_write")
	}
	ft.unscripted(by, consoleEvent, event.FlagIRQsOff, consoleText(text), callers)
}

// consoleText is the record of printk:console: one text, with a NUL at its end.
type consoleText string

func (consoleText) Value(int) uint64 { return 0 }

func (t consoleText) Text(dst []byte, _ int) ([]byte, bool) {
	return append(append(dst, t...), 0), true
}
