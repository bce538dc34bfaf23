package tracer

import (
	"ftracelab/machine/klog"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/output"
)

// tpPrintk is what prints events to the kernel's log: the boot parameter tp_printk.
type tpPrintk struct {
	on      int32 // /proc/sys/kernel/tracepoint_printk
	printer *output.Printer
	types   int // the count of changes of types that the printer last heard of
}

// printEvent prints an event that an instance records to the kernel's log, if that is
// wanted: its text without task, CPU and time. An event that several instances record is
// printed as often.
//
// Kernel: output_printk, kernel/trace/trace.c.
func (tr *Instance) printEvent(e *happening) {
	tp := &tr.ft.tpPrintk
	if tp.on == 0 || e.t.System == "ftrace" || e.t == tr.ft.learnedType(consoleEvent) {
		return
	}
	if n := tr.ft.types.Changes(); tp.printer == nil || n != tp.types {
		tp.types = n
		tp.printer = tr.ft.plainPrinter()
	}
	text, _ := tp.printer.AppendNext(nil, output.NewMerge(&oneEntry{output.Entry{CPU: e.cpu.ID, Time: tr.now(e.cpu.ID), Data: e.data}, true}))
	by := klog.Source{CPU: e.cpu.ID}
	if e.Outside {
		by = outsider.source()
	}
	tr.ft.machine.Log().Print(by, tr.ft.cpuTime(e.cpu.ID), klog.Kern, klog.Default, string(text))
}

// plainPrinter prints entries as they are without the options of any instance.
func (ft *Ftrace) plainPrinter() *output.Printer {
	p, err := output.New(output.Config{
		Tracer: nopTracer, Options: output.HashPtr, Types: ft.types, Symbols: ft.machine.Kallsyms(), HashPtr: ft.ptrKey.Ptr,
		String: ft.formats.At, Comm: ft.cmdlines.Comm, ProbedEvent: ft.dyn.ProbedEvent, CPUs: len(ft.machine.CPUs()),
	})
	if err != nil {
		panic("tracer: invariant: the catalogue prints: " + err.Error())
	}
	return p
}

// oneEntry is a reader of one entry.
type oneEntry struct {
	entry output.Entry
	more  bool
}

func (o *oneEntry) Peek() (output.Entry, bool) { return o.entry, o.more }

func (o *oneEntry) Next() (output.Entry, bool) {
	more := o.more
	o.more = false
	return o.entry, more
}

// tracepointPrintk switches the printing of events. A kernel that was booted without
// tp_printk takes any number and stays at 0.
//
// Kernel: tracepoint_printk_sysctl, kernel/trace/trace.c.
func (ft *Ftrace) tracepointPrintk() *tracefile.File {
	value := &ft.tpPrintk.on
	return ft.sysctl("tracepoint_printk", value, anyInt, func() {
		if !ft.cfg.TracepointPrintk {
			*value = 0
		}
	})
}
