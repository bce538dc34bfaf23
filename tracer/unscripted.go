package tracer

import (
	"ftracelab/machine/klog"
	"ftracelab/tracer/event"
)

// unscripted makes an event happen in functions that the machine does not run. Either the
// current task calls them, or a program outside of the machine does, in a system call. callers
// are those functions, from the one with the tracepoint outwards. Of a program outside, the
// functions that every system call has are left out.
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
	ft.emitNested(e)
}

// emitNested records an event in the instances that listen to it. Another event may be open
// meanwhile.
func (ft *Ftrace) emitNested(e *happening) {
	for tr := range ft.all {
		switch {
		case !tr.events[e.t.ID].enabled:
		case tr.snap.allocated: // no event is open, and the rings may be exchanged
			tr.happen(e)
		default:
			tr.rec.Nested(e.cpu.ID, func() { tr.happen(e) })
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

// unscriptedClasses gives the classes of the events that unscripted makes. The machine knows
// the classes of the others, as it has their tracepoints.
func unscriptedClasses() map[string]string {
	return map[string]string{
		consoleEvent:                  "console",
		"power:pm_qos_add_request":    "cpu_latency_qos_request",
		"power:pm_qos_update_request": "cpu_latency_qos_request",
		"power:pm_qos_remove_request": "cpu_latency_qos_request",
		"power:pm_qos_update_target":  "pm_qos_update",
	}
}
