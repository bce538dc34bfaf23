package tracer

import (
	"slices"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/unwind"
	"ftracelab/workload/machine"
)

// emit records v, an event of d that happens on c now, in every instance that
// has it enabled, and the stacks that belong to it.
func emit[T any](ft *Ftrace, c *machine.CPU, d *event.Def[T], v *T) {
	emitAs(ft, c, d, d.Type, v)
}

// emitAs is emit for an event whose record is declared with another of its
// class.
func emitAs[T any](ft *Ftrace, c *machine.CPU, d *event.Def[T], t *event.Type, v *T) {
	if !ft.listening[t.ID] {
		return
	}
	h := common(c)
	ft.scratch = d.Append(ft.scratch[:0], h, v)
	h.Type = uint16(t.ID)
	h.Put(ft.scratch)
	ft.emitBytes(c, t, h, ft.scratch)
}

// emitBytes is emit for a record that is already encoded.
func (ft *Ftrace) emitBytes(c *machine.CPU, t *event.Type, h event.Common, rec []byte) {
	for i := range ft.all {
		if i.events[t.ID].enabled {
			i.happen(c, t, h, rec)
		}
	}
}

// record writes an event and what comes after it.
//
// Kernel: trace_buffer_unlock_commit_regs, kernel/trace/trace.c.
func (i *Instance) record(c *machine.CPU, ctx ringbuf.Context, t *event.Type, h event.Common, rec []byte) {
	if i.rec.Event(c.ID, ctx, rec) == nil {
		i.afterRecord(c, ctx, t, h)
	}
}

// afterRecord notes the task's name and records the stacks that belong to an event.
func (i *Instance) afterRecord(c *machine.CPU, ctx ringbuf.Context, t *event.Type, h event.Common) {
	i.ft.recorded[c.ID] = true
	i.ft.remember(c.Current)
	i.stacks(c, ctx, t, h)
}

// stacks writes the stacks that the options want behind an event.
func (i *Instance) stacks(c *machine.CPU, ctx ringbuf.Context, t *event.Type, h event.Common) {
	if i.opts.Has(OptStacktrace) {
		i.stack.IPs = i.ft.eventStack(i.stack.IPs[:0], c, t)
		i.kernelStack(c, ctx, h)
	}
	switch {
	case i.deferred != nil:
		i.requestStack(c, h)
	case i.opts.Has(OptUserStacktrace) && !c.InNMI:
		i.userStack(c, ctx, h)
	}
}

// eventStack appends the kernel stack of an event, innermost first: it begins in
// the function that makes the record. That of a probe's hit is the stack of the place
// that was hit.
func (ft *Ftrace) eventStack(dst []uint64, c *machine.CPU, t *event.Type) []uint64 {
	if ft.atRegs {
		at := len(dst)
		switch dst = c.KernelStack(dst); {
		case len(dst) == at:
		case ft.regsIP == 0:
			dst = slices.Delete(dst, at, at+1)
		default:
			dst[at] = ft.regsIP
		}
		return dst
	}
	if probe := ft.probes[t.ID]; probe != 0 {
		dst = append(dst, probe)
	}
	return c.KernelStack(dst)
}

// kernelStack records i.stack.IPs as the kernel stack of the event just
// recorded. A buffer that has no room for it says so in its counters.
func (i *Instance) kernelStack(c *machine.CPU, ctx ringbuf.Context, h event.Common) {
	i.stack.Common = h
	_, _ = i.rec.KernelStack(c.ID, ctx, &i.stack)
}

// userStack walks the user stack and records it: an empty one for a task that
// has none.
//
// Kernel: ftrace_trace_userstack, kernel/trace/trace.c.
func (i *Instance) userStack(c *machine.CPU, ctx ringbuf.Context, h event.Common) {
	i.stack.IPs = i.stack.IPs[:0]
	if !c.Current.Kernel {
		i.stack.IPs, _ = unwind.Walk(i.stack.IPs, c.Current.User, c.Current.Memory, userStackFrames)
	}
	i.stack.Common, i.stack.TGID = h, uint32(c.Current.TGID)
	_, _ = i.rec.UserStack(c.ID, ctx, &i.stack)
}

// userStackFrames is how many addresses a user_stack record holds.
//
// Kernel: FTRACE_STACK_ENTRIES of struct userstack_entry, kernel/trace/trace.h.
const userStackFrames = 8

// listen tells the machine which tracepoints anybody listens to, so that the
// others cost a comparison.
func (ft *Ftrace) listen() {
	clear(ft.listening)
	names := map[string]bool{}
	for i := range ft.all {
		for _, t := range i.types {
			if i.events[t.ID].enabled {
				ft.listening[t.ID] = true
				if !ft.isDynamic(t) {
					names[tracepointOf(t)] = true
				}
			}
		}
		for _, name := range i.current.points {
			names[name] = true
		}
	}
	ft.listenProbes(names)
	if ft.rv.enabled {
		names["sched:sched_switch"], names["sched:sched_wakeup"] = true, true
	}
	if ft.followsForks() {
		names["sched:sched_process_fork"], names["sched:sched_process_free"] = true, true
	}
	for _, name := range machine.Tracepoints() {
		// The error names a tracepoint the machine has not; these it has.
		_ = ft.machine.Enable(name, names[name])
	}
}

// tracepointOf is the tracepoint an event hangs on: its own, or for the
// syscalls system the one that all system calls pass.
func tracepointOf(t *event.Type) string {
	if t.System != "syscalls" {
		return t.System + ":" + t.Name
	}
	if len(t.Name) > 8 && t.Name[:8] == "sys_exit" {
		return "raw_syscalls:sys_exit"
	}
	return "raw_syscalls:sys_enter"
}

// findProbes looks up, for each event, an address inside the function that
// makes its record: the innermost frame of the event's kernel stack. Events of
// one class share it.
func (ft *Ftrace) findProbes() {
	ft.probes = make([]uint64, ft.maxID+1)
	class := map[string]string{}
	for e := machine.EvNone + 1; e.Valid(); e++ {
		class[e.TracepointName()] = e.Template()
	}
	k := ft.machine.Kallsyms()
	for _, t := range ft.types.All() {
		if s, ok := k.ByName("trace_event_raw_event_" + class[t.System+":"+t.Name]); ok {
			ft.probes[t.ID] = s.Addr + s.Size/2
		}
	}
}
