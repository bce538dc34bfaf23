package tracer

import (
	"ftracelab/machine/klog"
	"ftracelab/tracer/event"
)

// unscripted makes an event happen in functions that the machine does not run, be it that
// its current task calls them or that somebody outside does, in a system call. callers are
// those functions from that of the tracepoint outwards, in the second case without those
// that every system call has.
func (ft *Ftrace) unscripted(by klog.Source, name string, flags uint8, v event.Values, callers []string) {
	t := ft.learnedType(name)
	if t == nil || !ft.listening[t.ID] {
		return
	}
	c := ft.machine.CPUs()[by.CPU]
	h := common(c)
	if by.Outside {
		h = event.Common{PID: int32(by.PID)}
		ft.cmdlines.SetComm(int32(by.PID), by.Comm)
		callers = append(callers[:len(callers):len(callers)], "do_syscall_64", "entry_SYSCALL_64_after_hwframe")
	}
	h.Type, h.Flags = uint16(t.ID), h.Flags|flags
	e := &happening{cpu: c, t: t, h: h, callers: ft.returnsTo(callers)}
	e.Outside = by.Outside
	e.data = t.AppendValues(nil, h, v)
	e.ctx = contextOf(c)
	for tr := range ft.all {
		switch {
		case !tr.events[t.ID].enabled:
		case tr.snap.allocated: // no event is open, and the rings may be exchanged
			tr.happen(e)
		default:
			tr.rec.Nested(c.ID, func() { tr.happen(e) })
		}
	}
}

// returnsTo gives the addresses to which these functions return, innermost first: each one
// was called by the next one, by way of a function that jumps there if there is one.
func (ft *Ftrace) returnsTo(callers []string) (ips []uint64) {
	jumps := map[string]string{"_printk": "vprintk", "do_syscall_64": "x64_sys_call"}
	for n, caller := range callers[1:] {
		callee, ok := jumps[caller]
		if !ok {
			callee = callers[n]
		}
		if ip := ft.machine.ReturnAddress(caller, callee); ip != 0 {
			ips = append(ips, ip)
		}
	}
	return ips
}

// numbers is the record of an event whose fields are numbers.
type numbers []int32

func (n numbers) Value(field int) uint64 { return uint64(uint32(n[field])) }

func (numbers) Text(dst []byte, _ int) ([]byte, bool) { return dst, false }

// unscriptedClasses gives the classes of the events that unscripted makes. The machine knows those of the
// other ones, whose tracepoints it has.
func unscriptedClasses() map[string]string {
	return map[string]string{
		consoleEvent:                  "console",
		"power:pm_qos_add_request":    "cpu_latency_qos_request",
		"power:pm_qos_update_request": "cpu_latency_qos_request",
		"power:pm_qos_remove_request": "cpu_latency_qos_request",
		"power:pm_qos_update_target":  "pm_qos_update",
	}
}
