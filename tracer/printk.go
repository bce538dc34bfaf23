package tracer

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/printk"
)

// hold keeps the strings of a module that has been loaded. If it has any, the top
// buffer gets its configured size.
//
// Kernel: hold_module_trace_bprintk_format, kernel/trace/trace_printk.c;
// trace_printk_init_buffers, kernel/trace/trace.c.
func (ft *Ftrace) hold(mod *machine.Module) {
	for _, text := range mod.Formats {
		ft.formats.Address(text)
	}
	if len(mod.Formats) > 0 {
		ft.warnOfPrintk()
		_ = ft.top.expand() // without room for it the buffer stays small, as in the kernel
	}
}

// formatsFile is printk_formats.
func (ft *Ftrace) formatsFile() tracefile.Node {
	return ft.top.value("printk_formats", 0o440, ft.formats.Show, nil)
}

// printkDest returns the instance that records what is written with trace_printk: the
// one that has options/trace_printk_dest.
//
// Kernel: printk_trace, kernel/trace/trace.c.
func (ft *Ftrace) printkDest() *Instance {
	for tr := range ft.all {
		if tr.opts.Has(option.PrintkDest) {
			return tr
		}
	}
	return ft.top
}

// setPrintkDest sets options/trace_printk_dest. Some instance always has it; if no
// other does, the top one does.
//
// Kernel: set_tracer_flag and update_printk_trace, kernel/trace/trace.c.
func (tr *Instance) setPrintkDest(on bool) error {
	to := tr
	if !on {
		if to = tr.ft.top; to == tr {
			return fmt.Errorf("trace_printk_dest: another instance has to take it: %w", syscall.EINVAL)
		}
	}
	for other := range tr.ft.all {
		other.opts.Set(option.PrintkDest, other == to)
	}
	return nil
}

// tracePrintk records a call of trace_printk in the instance that printkDest returns.
//
// Kernel: __trace_array_puts, __trace_bputs and trace_vbprintk, kernel/trace/trace.c.
func (ft *Ftrace) tracePrintk(c *machine.CPU, p *machine.Printk) {
	tr := ft.printkDest()
	if !tr.opts.Has(option.Printk) || !tr.records(c) {
		return
	}
	h := common(c)
	var t *event.Type
	switch p.Kind {
	case machine.PrintkBputs:
		t = events.Bputs.Type
		ft.scratch = events.Bputs.Append(ft.scratch[:0], h, &events.BputsRecord{IP: p.IP, Str: ft.formats.Address(p.Text)})
	case machine.PrintkBprintk:
		t = events.Bprint.Type
		ft.scratch = events.Bprint.Append(ft.scratch[:0], h, &events.BprintRecord{
			IP: p.IP, Fmt: ft.formats.Address(p.Text), Buf: printk.BinaryArgs(p.Args),
		})
	case machine.PrintkText:
		t = events.Print.Type
		text := p.Text
		if len(p.Args) > 0 {
			args := slices.Clone(p.Args)
			for n, arg := range args {
				if ptr, ok := arg.(machine.Pointer); ok {
					args[n] = fmt.Sprintf("%016x", ft.ptrKey.Ptr(uint64(ptr)))
				}
			}
			text = fmt.Sprintf(text, args...)
		}
		ft.scratch = events.Print.Append(ft.scratch[:0], h, &events.PrintRecord{IP: p.IP, Buf: text})
	}
	ft.cmdlines.Remember(c.Current)
	tr.record(tr.rec, &happening{cpu: c, ctx: contextOf(c), t: t, h: h, data: ft.scratch})
}
