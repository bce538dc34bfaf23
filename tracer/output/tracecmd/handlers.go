package tracecmd

import (
	"fmt"

	"ftracelab/tracer/event"
)

// handler prints the events for which the print fmt alone does not do.
type handler struct {
	system, name string
	print        func(p *Printer, dst []byte, r *reader) ([]byte, error)
}

// handlers are the events for which trace-cmd or a plugin of libtraceevent has a
// handler.
var handlers = []handler{
	{"ftrace", "function", plain((*Printer).appendFunction)},
	{"ftrace", "func_repeats", plain((*Printer).appendRepeats)},
	{"ftrace", "kernel_stack", plain((*Printer).appendStack)},
	{"ftrace", "raw_data", plain((*Printer).appendRawData)},
	{"ftrace", "funcgraph_entry", (*Printer).appendGraphEntry},
	{"ftrace", "funcgraph_exit", (*Printer).appendGraphExit},
	{"sched", "sched_switch", plain((*Printer).appendSwitch)},
	{"sched", "sched_wakeup", plain((*Printer).appendWakeup)},
	{"sched", "sched_wakeup_new", plain((*Printer).appendWakeup)},
	{"timer", "hrtimer_start", plain((*Printer).appendTimerStart)},
	{"timer", "hrtimer_expire_entry", plain((*Printer).appendTimerExpire)},
	{"syscalls", "sys_enter_futex", plain((*Printer).appendFutex)},
	{"tlb", "tlb_flush", plain((*Printer).appendTLBFlush)},
	{"kmem", "kfree", plain((*Printer).appendCallSite)},
	{"kmem", "kmalloc", plain((*Printer).appendCallSite)},
	{"kmem", "kmalloc_node", plain((*Printer).appendCallSite)},
	{"kmem", "kmem_cache_alloc", plain((*Printer).appendCallSite)},
	{"kmem", "kmem_cache_alloc_node", plain((*Printer).appendCallSite)},
	{"kmem", "kmem_cache_free", plain((*Printer).appendCallSite)},
}

// plain makes a handler from a function that looks at one record only.
func plain(print func(*Printer, []byte, *Entry) []byte) func(*Printer, []byte, *reader) ([]byte, error) {
	return func(p *Printer, dst []byte, r *reader) ([]byte, error) { return print(p, dst, &r.next), nil }
}

// value gives a field of a record as a number; 0 if there is no such field.
func value(e *Entry, name string) uint64 {
	if f := e.Type.Field(name); f != nil {
		return f.Uint(e.Data)
	}
	return 0
}

func signed(e *Entry, name string) int64 {
	if f := e.Type.Field(name); f != nil {
		return f.Int(e.Data)
	}
	return 0
}

// appendSwitch prints sched_switch.
func (p *Printer) appendSwitch(dst []byte, e *Entry) []byte {
	prev, next := value(e, "prev_pid"), value(e, "next_pid")
	dst = p.appendComm(dst, e, "prev_comm", prev)
	dst = fmt.Appendf(dst, "%d [%d] ", prev, int32(value(e, "prev_prio")))
	dst = appendState(dst, value(e, "prev_state"))
	dst = append(dst, " ==> "...)
	dst = p.appendComm(dst, e, "next_comm", next)
	return fmt.Appendf(dst, "%d [%d]", next, int32(value(e, "next_prio")))
}

// appendComm prints the name of a task that a record holds, and remembers it for that
// pid.
func (p *Printer) appendComm(dst []byte, e *Entry, field string, pid uint64) []byte {
	f := e.Type.Field(field)
	if f == nil {
		return dst
	}
	comm := f.String(e.Data)
	p.comms.add(int32(pid), comm)
	dst = append(dst, comm...)
	return append(dst, ':')
}

// appendState names the bits of a task's state.
func appendState(dst []byte, state uint64) []byte {
	const names = "SDTtZXxW"
	found := false
	for i := range len(names) {
		if state>>i&1 == 0 {
			continue
		}
		if found {
			dst = append(dst, '|')
		}
		found = true
		dst = append(dst, names[i])
	}
	if !found {
		dst = append(dst, 'R')
	}
	return dst
}

// appendWakeup prints sched_wakeup and sched_wakeup_new.
func (p *Printer) appendWakeup(dst []byte, e *Entry) []byte {
	pid := value(e, "pid")
	dst = p.appendComm(dst, e, "comm", pid)
	dst = fmt.Appendf(dst, "%d", pid)
	for _, f := range []struct{ name, format string }{
		{"prio", " [%d]"}, {"success", " success=%d"}, {"target_cpu", " CPU:%03d"},
	} {
		if e.Type.Field(f.name) != nil {
			dst = fmt.Appendf(dst, f.format, value(e, f.name))
		}
	}
	return dst
}

// appendCallSite prints the function that asked for memory, then the text of the print
// fmt.
func (p *Printer) appendCallSite(dst []byte, e *Entry) []byte {
	if f := e.Type.Field("call_site"); f != nil {
		addr := f.Uint(e.Data)
		if sym, ok := p.syms.find(addr); ok {
			dst = fmt.Appendf(dst, "(%s+0x%x) ", sym.name, uint32(addr-sym.addr))
		}
	}
	return p.appendText(dst, e)
}

func (p *Printer) appendTimerStart(dst []byte, e *Entry) []byte {
	dst = fmt.Appendf(dst, "hrtimer=0x%x", timer(e))
	dst = p.appendTimerFunction(dst, e)
	return fmt.Appendf(dst, " expires=%d softexpires=%d", value(e, "expires"), value(e, "softexpires"))
}

func (p *Printer) appendTimerExpire(dst []byte, e *Entry) []byte {
	dst = fmt.Appendf(dst, "hrtimer=0x%x now=%d", timer(e), value(e, "now"))
	return p.appendTimerFunction(dst, e)
}

// timer gives the address of an hrtimer. The field had another name in older kernels.
func timer(e *Entry) uint64 {
	if e.Type.Field("timer") != nil {
		return value(e, "timer")
	}
	return value(e, "hrtimer")
}

func (p *Printer) appendTimerFunction(dst []byte, e *Entry) []byte {
	f := e.Type.Field("function")
	if f == nil {
		return dst
	}
	addr := f.Uint(e.Data)
	if sym, ok := p.syms.find(addr); ok {
		return fmt.Appendf(dst, " function=%s/0x%x", sym.name, sym.addr-addr)
	}
	return fmt.Appendf(dst, " function=0x%08x", addr)
}

func (p *Printer) appendTLBFlush(dst []byte, e *Entry) []byte {
	reasons := []string{"flush on task switch", "remote shootdown", "local shootdown", "local mm shootdown"}
	reason := value(e, "reason")
	dst = fmt.Appendf(dst, "pages=%d reason=", signed(e, "pages"))
	if reason < uint64(len(reasons)) {
		dst = append(dst, reasons[reason]...)
	}
	return fmt.Appendf(dst, " (%d)", int64(reason))
}

// appendRawData prints what was written to trace_marker_raw.
func (p *Printer) appendRawData(dst []byte, e *Entry) []byte {
	dst = fmt.Appendf(dst, "# %x", value(e, "id"))
	f := e.Type.Field("buf")
	if f == nil {
		return dst
	}
	for _, b := range e.Data[min(f.Offset, len(e.Data)):] {
		dst = fmt.Appendf(dst, " %02x", b)
	}
	return dst
}

// longs gives the numbers in a record, from a field up to the end of the record.
func (p *Printer) longs(e *Entry, field string) []uint64 {
	f := e.Type.Field(field)
	if f == nil {
		return nil
	}
	long := event.Field{Size: p.cfg.LongSize}
	var list []uint64
	for long.Offset = f.Offset; long.Offset+long.Size <= len(e.Data); long.Offset += long.Size {
		list = append(list, long.Uint(e.Data))
	}
	return list
}
