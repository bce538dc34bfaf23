package tracer

import (
	"math"

	"ftracelab/fgraph"
	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/functions"
	"ftracelab/tracer/option"
	"ftracelab/tracer/record"
)

// functionInit registers the function tracer of the instance.
//
// Kernel: function_trace_init, kernel/trace/trace_functions.c.
func (tr *Instance) functionInit() error {
	tr.ops = functions.Ops{
		Hash: &tr.functions, Handler: "function_trace_call",
		Call: func(c *machine.CPU, f *machine.Frame) { functionCall(tr, c, f) },
	}
	tr.ft.users.Register(&tr.ops)
	return nil
}

// functionCall is the function tracer. It makes one record for each entry, and
// records the stack if stacks are wanted. The stack is recorded even if the entry was
// not: a design that asks the map before the buffer changes its map even while
// tracing is off.
//
// Kernel: function_trace_call, function_stack_trace_call and their no_repeats
// variants, kernel/trace/trace_functions.c.
func functionCall(tr *Instance, c *machine.CPU, f *machine.Frame) {
	if !tr.cpumask[c.ID] {
		return
	}
	stacks := tr.functionStacks()
	if !stacks && !tr.buf.Enabled() {
		return
	}
	parent := f.Parent()
	if tr.opts.Has(option.FuncNoRepeats) {
		if tr.repeated(c.ID, f.IP, parent) {
			return
		}
		tr.recordRepeats(c.ID, contextOf(c), common(c), f.IP, parent)
	}
	h, ctx := common(c), contextOf(c)
	if tr.rec.WriteFunction(c.ID, ctx, h, f.IP, parent) == nil { // the buffer counts what it refuses
		tr.ft.cmdlines.Recorded(c)
	}
	if stacks {
		tr.stack.IPs = c.AppendKernelStack(append(tr.stack.IPs[:0], trampoline))
		tr.kernelStack(tr.rec, c, ctx, h)
	}
}

// traceFunctions records functions while measured reports true, for a tracer other
// than the function tracer: as function records or, if graph is set, as calls and
// returns. A nil measured ends that.
//
// Kernel: register_irqsoff_function, kernel/trace/trace_irqsoff.c, and
// register_wakeup_function, kernel/trace/trace_sched_wakeup.c.
func (tr *Instance) traceFunctions(handler string, graph bool, measured func(*machine.CPU) bool) error {
	tr.ft.users.Unregister(&tr.ops)
	if tr.measured != nil {
		tr.ft.users.UnregisterGraph(tr.measured)
		tr.measured = nil
	}
	if measured == nil {
		return nil
	}
	if !graph {
		tr.ops = functions.Ops{Hash: &tr.functions, Handler: handler, Call: func(c *machine.CPU, f *machine.Frame) {
			if measured(c) && tr.records(c) {
				tr.recordFunction(c, f.IP, f.Parent())
			}
		}}
		tr.ft.users.Register(&tr.ops)
		return nil
	}
	g := new(fgraph.Ops)
	g.Entry = func(c *machine.CPU, s *fgraph.Stack, call fgraph.Call) bool {
		return measured(c) && tr.ft.graphFilters.selects(c, s.Var(g), call) && !tr.ft.graphFilters.notrace.Has(call.Func) &&
			tr.records(c) && tr.recordCall(c, call)
	}
	g.Return = func(c *machine.CPU, s *fgraph.Stack, ret fgraph.Ret) {
		graphLeaves(s.Var(g), ret)
		if measured(c) && tr.records(c) {
			tr.recordReturn(c, ret)
		}
	}
	if err := tr.ft.users.RegisterGraph(g, &tr.functions); err != nil {
		return err
	}
	tr.measured = g
	return nil
}

func (tr *Instance) recordFunction(c *machine.CPU, ip, parent uint64) {
	tr.ft.cmdlines.Remember(c.Current)
	// The buffer counts what it refuses.
	_ = tr.rec.WriteFunction(c.ID, contextOf(c), common(c), ip, parent)
}

// functionStacks reports whether the function tracer records stacks. On a real 6.12
// only func_stack_trace asks for them. The documented stackmap promises that, while
// it is on, options/stacktrace covers the function tracer too.
func (tr *Instance) functionStacks() bool {
	if tr.opts.Has(option.FuncStackTrace) {
		return true
	}
	return tr.opts.Has(option.Stacktrace) && tr.opts.Has(option.Stackmap) && tr.ft.cfg.Stackmap.FunctionStacks
}

// trampoline stands in a stack for the address of an ftrace trampoline, which
// has no symbol.
//
// Kernel: FTRACE_TRAMPOLINE_MARKER, kernel/trace/trace.h.
const trampoline = 0x7fffffff

// funcRepeat is the last call that func-no-repeats recorded on a CPU, and how often
// the same call was left out since.
//
// Kernel: struct trace_func_repeats, kernel/trace/trace.h.
type funcRepeat struct {
	ip, parent uint64
	count      uint16
	last       uint64 // time of the latest call that was left out
}

// repeated reports whether a call is the same as the one recorded last, and counts it
// if so.
//
// Kernel: is_repeat_check, kernel/trace/trace_functions.c.
func (tr *Instance) repeated(cpu int, ip, parent uint64) bool {
	r := &tr.repeats[cpu]
	if r.ip != ip || r.parent != parent || r.count == math.MaxUint16 {
		return false
	}
	r.last = tr.now(cpu)
	r.count++
	return true
}

// recordRepeats records how often the last call was repeated, before another call
// takes its place.
//
// Kernel: process_repeats, kernel/trace/trace_functions.c, and
// trace_last_func_repeats, kernel/trace/trace.c.
func (tr *Instance) recordRepeats(cpu int, ctx ringbuf.Context, h event.Common, ip, parent uint64) {
	r := &tr.repeats[cpu]
	if r.count > 0 {
		delta := tr.now(cpu) - r.last
		rec := events.FuncRepeatsRecord{
			IP: r.ip, ParentIP: r.parent, Count: r.count,
			TopDeltaTS: uint16(delta >> 32), BottomDeltaTS: uint32(delta),
		}
		_ = record.Write(tr.rec, cpu, ctx, events.FuncRepeats, h, &rec) // the buffer counts what it refuses
	}
	*r = funcRepeat{ip: ip, parent: parent}
}
