package tracer

import (
	"fmt"
	"sort"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/tracer/option"
	"ftracelab/tracer/output"
)

// printOptions pairs our options with those of the printer.
var printOptions = []struct {
	opt option.Option
	bit output.Options
}{
	{option.PrintParent, output.PrintParent},
	{option.SymOffset, output.SymOffset},
	{option.SymAddr, output.SymAddr},
	{option.Verbose, output.Verbose},
	{option.Raw, output.Raw},
	{option.Hex, output.Hex},
	{option.Bin, output.Bin},
	{option.Fields, output.Fields},
	{option.Printk, output.TracePrintk},
	{option.Annotate, output.Annotate},
	{option.SymUserobj, output.SymUserObj},
	{option.PrintkMsgOnly, output.PrintkMsgOnly},
	{option.ContextInfo, output.ContextInfo},
	{option.LatencyFormat, output.LatencyFormat},
	{option.RecordTGID, output.RecordTGID},
	{option.IRQInfo, output.IRQInfo},
	{option.HashPtr, output.HashPtr},
	{option.DisplayGraph, output.DisplayGraph},
	{option.BlkClassic, output.BlkClassic},
	{option.BlkCgname, output.BlkCgname},
}

// printer returns a printer for one reading of a buffer of the instance.
func (tr *Instance) printer(buf *ringbuf.Buffer) (*output.Printer, error) {
	var opts output.Options
	for _, row := range printOptions {
		if tr.opts.Has(row.opt) {
			opts |= row.bit
		}
	}
	overrun := false
	for cpu := range buf.CPUs() {
		overrun = overrun || buf.Stats(cpu).Overrun > 0
	}
	ft := tr.ft
	irqStart, _ := ft.machine.Kallsyms().Address("__irqentry_text_start")
	irqEnd, _ := ft.machine.Kallsyms().Address("__irqentry_text_end")
	return output.New(output.Config{
		Tracer:       tr.current.Name,
		Options:      opts,
		Graph:        tr.graphOptions(),
		Types:        ft.types,
		Symbols:      ft.machine.Kallsyms(),
		HashPtr:      ft.ptrKey.Ptr,
		String:       ft.formats.At,
		Comm:         ft.cmdlines.Comm,
		TGID:         ft.cmdlines.TGID,
		UserFile:     ft.userFile,
		ProbedEvent:  ft.dyn.ProbedEvent,
		CPUs:         ft.machine.OnlineCPUs(),
		PossibleCPUs: buf.CPUs(),
		CounterClock: !tr.clock.InNS,
		Overrun:      overrun,
		TimeStart:    tr.shows(buf).began,
		Latency:      tr.shows(buf).header,
		IRQStart:     irqStart,
		IRQEnd:       irqEnd,
	})
}

// userFile returns the file that a process has mapped at an address, and where its
// mapping starts. It takes the first mapping that ends above the address, even if the
// mapping also starts above it. A process that is gone has no mappings, as in the
// kernel.
//
// Kernel: trace_user_stack_print and seq_print_user_ip, kernel/trace/trace_output.c.
func (ft *Ftrace) userFile(tgid int32, ip uint64) (path string, start uint64) {
	t := ft.machine.Task(int(tgid))
	if t == nil {
		return "", 0
	}
	n := sort.Search(len(t.Maps), func(n int) bool { return t.Maps[n].End > ip })
	if n == len(t.Maps) || t.Maps[n].Inode == 0 {
		return "", 0
	}
	return t.Maps[n].Path, t.Maps[n].Start
}

// shows returns what the latency format prints above a buffer's entries, and the time
// since which entries belong to the buffer.
//
// Kernel: print_trace_header, kernel/trace/trace.c.
func (tr *Instance) shows(buf *ringbuf.Buffer) longest {
	l := longest{began: tr.start}
	if buf == tr.snap.buf {
		l = tr.longest
	}
	l.header.Release, l.header.Model = machine.Release, machine.PreemptModel
	return l
}

// skip passes over the entries that are older than what a buffer shows and returns
// how many they are: a latency tracer's buffer is not emptied in between.
//
// Kernel: tracing_iter_reset, kernel/trace/trace.c.
func skip(it *ringbuf.Iter, since uint64) (n uint64) {
	for {
		e, ok := it.Peek()
		if !ok || e.Time >= since {
			return n
		}
		it.Next()
		n++
	}
}

// graphOptions returns the funcgraph options as the printer wants them.
func (tr *Instance) graphOptions() fgraph.Options {
	var opts fgraph.Options
	for _, row := range graphPrintOptions {
		if tr.opts.Has(row.opt) {
			opts |= row.bit
		}
	}
	return opts
}

// text is the content of trace, or of per_cpu/cpuN/trace for a cpu ≥ 0.
// Reading it takes nothing out of the buffer.
func (tr *Instance) text(cpu int) ([]byte, error) { return tr.textOf(tr.shown(), cpu) }

// textOf is the text of one of the instance's buffers.
//
// Kernel: tracing_open and s_show, kernel/trace/trace.c.
func (tr *Instance) textOf(buf *ringbuf.Buffer, cpu int) ([]byte, error) {
	p, err := tr.printer(buf)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	var readers []output.Reader
	var n output.Counts
	began := tr.shows(buf).began
	for c := range buf.CPUs() {
		it, s := buf.Iter(c), buf.Stats(c) // the header counts all CPUs, whichever is shown
		if old := skip(it, began); old > 0 {
			s.Entries, s.Overrun = s.Entries-old, 0
		}
		n.Entries += s.Entries
		n.Written += s.Entries + s.Overrun
		if cpu < 0 || cpu == c {
			readers = append(readers, it)
		}
	}
	m := output.NewMerge(readers...)
	text := p.AppendHeader(nil, m, n)
	for more := true; more; {
		text, more = p.AppendNext(text, m)
	}
	return text, nil
}
