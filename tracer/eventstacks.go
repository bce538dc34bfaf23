package tracer

import (
	"slices"

	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/option"
	"ftracelab/tracer/record"
	"ftracelab/unwind/user"
)

// stacks records, after an event, the stacks that the options ask for.
func (tr *Instance) stacks(w *record.Recorder, e *happening) {
	if tr.opts.Has(option.Stacktrace) {
		tr.stack.IPs = tr.ft.eventStack(tr.stack.IPs[:0], e)
		tr.kernelStack(w, e.cpu, e.ctx, e.h)
	}
	switch {
	case tr.deferred != nil:
		tr.requestStack(w, e.cpu, e.h)
	case tr.opts.Has(option.UserStacktrace) && !e.cpu.InNMI:
		tr.userStack(w, e)
	}
}

// eventStack appends the kernel stack of an event, innermost first. It begins in the
// function that makes the record. For the hit of a probe it is the stack of the place
// that was hit.
func (ft *Ftrace) eventStack(dst []uint64, e *happening) []uint64 {
	if e.Hit {
		at := len(dst)
		switch dst = e.cpu.AppendKernelStack(dst); {
		case len(dst) == at:
		case e.IP == 0:
			dst = slices.Delete(dst, at, at+1)
		default:
			dst[at] = e.IP
		}
		return dst
	}
	if probe := ft.probes[e.t.ID]; probe != 0 {
		dst = append(dst, probe)
	}
	if dst = append(dst, e.callers...); e.Outside && e.callers != nil {
		return dst
	}
	return e.cpu.AppendKernelStack(dst)
}

// kernelStack records tr.stack.IPs as the kernel stack of the event just recorded. If
// the buffer has no room for it, the buffer's counters show that.
func (tr *Instance) kernelStack(w *record.Recorder, c *machine.CPU, ctx ringbuf.Context, h event.Common) {
	tr.stack.Common = h
	_, _ = w.WriteKernelStack(c.ID, ctx, &tr.stack)
}

// userStack walks the user stack and records it. For a task that has none it records
// an empty stack.
//
// Linux 6.12 walks by frame pointers. It does not know that a uprobe is at the entry of a
// function, where the stack lacks the caller, nor that a program has words of 32 bits. A
// kernel that walks as Config.UserStacks says knows both, by unwind_user of Linux 6.19.
//
// Departure: of a 32-bit program, 6.12 also records two words that it takes for an address.
// Its walk does not ask for frames in one direction.
//
// Kernel: ftrace_trace_userstack, kernel/trace/trace.c; arch_stack_walk_user,
// arch/x86/kernel/stacktrace.c; unwind_user_next_fp, kernel/unwind/user.c.
func (tr *Instance) userStack(w *record.Recorder, e *happening) {
	tr.stack.IPs = tr.stack.IPs[:0]
	if t := e.cpu.Current; !t.Kernel {
		var why user.Stop
		walker, limit, regs := &tr.walker, userStackFrames, user.Regs{UserRegs: t.User}
		switch known := len(walker.Methods) > 0; {
		case known:
			regs.Entry = e.Entry
			if t.Compat {
				walker = &compatWalker
			}
		case t.Compat:
			limit = 1
		}
		tr.stack.IPs, why = walker.Walk(tr.stack.IPs, regs, t.Memory, limit)
		tr.ft.data(t).walks.Add(len(tr.stack.IPs), why)
	}
	tr.stack.Common, tr.stack.TGID = e.h, uint32(e.cpu.Current.TGID)
	_, _ = w.WriteUserStack(e.cpu.ID, e.ctx, &tr.stack)
}

// compatWalker walks the stacks of 32-bit programs, for which there is no table.
var compatWalker = user.Walker{Arch: user.I386}

// userStackFrames is how many addresses a user_stack record holds.
//
// Kernel: FTRACE_STACK_ENTRIES of struct userstack_entry, kernel/trace/trace.h.
const userStackFrames = 8
