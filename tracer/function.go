package tracer

import (
	"math"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// functionCall is the function tracer: one record for each entry, and its stack
// if stacks are wanted. The stack is recorded whether the entry was or not: where
// the map is asked before the buffer, it moves even while tracing is off.
//
// Kernel: function_trace_call, function_stack_trace_call and their no_repeats
// variants, kernel/trace/trace_functions.c.
func functionCall(i *Instance, c *machine.CPU, f *machine.Frame) {
	if !i.cpumask[c.ID] {
		return
	}
	stacks := i.functionStacks()
	if !stacks && !i.buf.Enabled() {
		return
	}
	parent := f.Parent()
	if i.opts.Has(OptFuncNoRepeats) && i.repeated(c.ID, f.IP, parent) {
		return
	}
	h, ctx := common(c), contextOf(c)
	if i.opts.Has(OptFuncNoRepeats) {
		i.recordRepeats(c.ID, ctx, h, f.IP, parent)
	}
	i.scratch = events.Function.Append(i.scratch[:0], h, &events.FunctionRecord{IP: f.IP, ParentIP: parent})
	if i.rec.Event(c.ID, ctx, i.scratch) == nil { // the buffer counts what it refuses
		i.ft.recorded[c.ID] = true
		i.ft.remember(c.Current)
	}
	if stacks {
		i.stack.IPs = c.KernelStack(append(i.stack.IPs[:0], trampoline))
		i.kernelStack(i.rec, c, ctx, h)
	}
}

// functionStacks reports whether the function tracer records stacks. On a real
// 6.12 only func_stack_trace asks for them; the documented stackmap promises
// that options/stacktrace covers the function tracer too while it is on.
func (i *Instance) functionStacks() bool {
	if i.opts.Has(OptFuncStackTrace) {
		return true
	}
	return i.opts.Has(OptStacktrace) && i.opts.Has(OptStackmap) && i.ft.cfg.Stackmap.FunctionStacks
}

// trampoline stands in a stack for the address of an ftrace trampoline, which
// has no symbol.
//
// Kernel: FTRACE_TRAMPOLINE_MARKER, kernel/trace/trace.h.
const trampoline = 0x7fffffff

// funcRepeat is the last call that func-no-repeats recorded on a CPU, and how
// often the same was left out since.
//
// Kernel: struct trace_func_repeats, kernel/trace/trace.h.
type funcRepeat struct {
	ip, parent uint64
	count      uint16
	last       uint64 // when the latest of them was
}

// repeated counts a call that is the one recorded last and says so.
//
// Kernel: is_repeat_check, kernel/trace/trace_functions.c.
func (i *Instance) repeated(cpu int, ip, parent uint64) bool {
	r := &i.repeats[cpu]
	if r.ip != ip || r.parent != parent || r.count == math.MaxUint16 {
		return false
	}
	r.last = i.now(cpu)
	r.count++
	return true
}

// recordRepeats records how often the last call came again, before another one
// takes its place.
//
// Kernel: process_repeats, kernel/trace/trace_functions.c, and
// trace_last_func_repeats, kernel/trace/trace.c.
func (i *Instance) recordRepeats(cpu int, ctx ringbuf.Context, h event.Common, ip, parent uint64) {
	r := &i.repeats[cpu]
	if r.count > 0 {
		delta := i.now(cpu) - r.last
		rec := events.FuncRepeatsRecord{
			IP: r.ip, ParentIP: r.parent, Count: r.count,
			TopDeltaTS: uint16(delta >> 32), BottomDeltaTS: uint32(delta),
		}
		i.scratch = events.FuncRepeats.Append(i.scratch[:0], h, &rec)
		_ = i.rec.Event(cpu, ctx, i.scratch) // the buffer counts what it refuses
	}
	*r = funcRepeat{ip: ip, parent: parent}
}
