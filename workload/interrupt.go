package workload

import (
	"slices"
	"sync"

	"ftracelab/machine"
)

// tickLength is the time between two ticks, CONFIG_HZ=250.
const tickLength = machine.Second / 250

// startTick asks for the first tick of c. The ticks of different CPUs come at different
// times (skew_tick).
func (w *mix) startTick(c *machine.CPU) {
	w.tickAt(c, w.m.Now()+tickLength+machine.Time(c.ID)*tickLength/machine.Time(len(w.m.CPUs())))
}

// CPUOnline implements machine.HotplugWorkload.
func (w *mix) CPUOnline(c *machine.CPU) { w.tickAt(c, w.m.Now()+tickLength) }

func (w *mix) tickAt(c *machine.CPU, at machine.Time) {
	w.ticks[c.ID] = at
	c.Interrupt(machine.Interrupt{At: at, Kind: machine.Tick})
}

// ensureTick restarts the tick of a CPU that has left idle.
func (w *mix) ensureTick(c *machine.CPU) {
	if w.ticks[c.ID] > w.m.Now()+tickLength {
		w.tickAt(c, w.m.Now()+tickLength)
	}
}

// Interrupt implements machine.Workload.
func (w *mix) Interrupt(c *machine.CPU, irq machine.Interrupt) machine.Code {
	from := [...]string{machine.InKernel: " kernel", machine.InUser: " user", machine.InHalt: " idle"}[irq.From]
	switch irq.Kind {
	case machine.Tick:
		if irq.At != w.ticks[c.ID] {
			return nil // the tick was stopped, or started anew
		}
		next := irq.At + tickLength
		for next <= w.m.Now() {
			next += tickLength // interrupts were off for longer than a tick
		}
		if irq.From == machine.InHalt && c.Runnable() == 0 {
			next += w.around(10 * tickLength) // the tick is stopped while idle
		}
		w.tickAt(c, next)
		c.SchedTick()
		if c.Unbalanced() {
			if code := w.tickPulls("irq apic_timer_interrupt" + from); code != nil {
				return code
			}
		}
		return w.pick("irq apic_timer_interrupt" + from)
	case machine.Replenish:
		return w.pick("irq apic_timer_interrupt" + from)
	case machine.Sleep:
		return w.pick("irq apic_timer_interrupt" + from + " wakes")
	case machine.WatchdogNMI, machine.BacktraceNMI:
		return w.nmiCode(irq.Kind)
	case machine.Device:
		switch {
		case irq.Request != nil:
			return w.disk.done[irq.Request.Op&machine.ReqOp]
		case irq.IRQ == portIRQ:
			w.nextPortError(c)
			return w.port.handler
		}
		w.nextDevice(c)
		return w.device
	}
	return w.pick("irq call_function_single" + from)
}

// exits completes the handlers of interrupts. Those of interrupts in user space end
// with the way back there. If the captures have no handler for a place, the handlers
// for another place are used.
func (w *mix) exits() {
	for _, key := range []string{"irq apic_timer_interrupt", "irq call_function_single"} {
		for _, what := range []string{"", " wakes"} {
			for _, from := range []string{" user", " kernel", " idle"} {
				if w.codes[key+from+what] == nil {
					w.codes[key+from+what] = w.codes[key+" kernel"+what]
				}
			}
			list := slices.Clone(w.codes[key+" user"+what])
			for i := range list {
				handler, exit := list[i].code, w.codes["exit"][i%len(w.codes["exit"])].code
				list[i].code = sync.OnceValue(func() machine.Code { return slices.Concat(handler(), exit()) })
			}
			w.codes[key+" user"+what] = list
		}
	}
}

// nextDevice asks for the next interrupt of the device.
func (w *mix) nextDevice(c *machine.CPU) {
	c.Interrupt(machine.Interrupt{
		At: w.m.Now() + w.around(9*machine.Millisecond), Kind: machine.Device, IRQ: serialIRQ, Name: "ttyS0",
	})
}

// deviceInterrupt assembles the handler for the interrupt of a serial line. It adds the
// call sites to those of the kernel.
//
// Departure: there is no interrupt of a device in the captures from which the model was
// learned. The functions and their order are those of a kernel of that version.
func deviceInterrupt(ks *machine.Kallsyms, sites []machine.Site) (machine.Code, []machine.Site, error) {
	a := machine.NewAssembler(ks, 120)
	beginIRQ(a)
	a.Trace(machine.EvIRQHandlerEntry, 0).Call("serial8250_interrupt").Return(1).Trace(machine.EvIRQHandlerExit, irqHandled)
	endIRQ(a)
	code, err := a.Code()
	if err != nil {
		return nil, sites, err
	}
	first := int32(len(sites))
	for i := range code {
		if code[i].Kind == machine.OpCall {
			code[i].Arg += first
		}
	}
	return code, append(slices.Clone(sites), a.Sites...), nil
}

// beginIRQ enters the handling of a device's interrupt, up to where the handlers are
// called. The lock of the interrupt's descriptor is held around handle_irq_event, but not
// while the handlers run.
func beginIRQ(a *machine.Assembler) {
	const off = machine.FlagIRQsOff
	a.State(off, 0, 0).Hide("asm_common_interrupt").Hide("common_interrupt").Call("irq_enter_rcu")
	a.State(off|machine.FlagHardIRQ, 0, 0).Return(1).Call("__common_interrupt").Call("handle_edge_irq").Call("_raw_spin_lock")
	a.State(off|machine.FlagHardIRQ, 1, 0).Return(1).Call("handle_irq_event")
	a.State(off|machine.FlagHardIRQ, 0, 0).Call("__handle_irq_event_percpu")
}

// endIRQ leaves it. The CPU is still in hardirq context when irq_exit_rcu is called.
func endIRQ(a *machine.Assembler) {
	const off = machine.FlagIRQsOff
	a.Return(1).Call("add_interrupt_randomness").Return(1).State(off|machine.FlagHardIRQ, 1, 0).Return(1)
	a.State(off|machine.FlagHardIRQ, 0, 0).Return(2).Call("irq_exit_rcu").State(off, 0, 0).Return(3)
}

// idleLoops makes an idle loop from the model's rounds through do_idle. Where a round
// halts, the loop halts again as long as there is nothing to do.
func idleLoops(m *Model, key string) []machine.Code {
	var loops []machine.Code
	for _, i := range m.byKey[key] {
		code := slices.Clone(m.code(i))
		var halts []int
		for pc := range code {
			if code[pc].Kind == machine.OpHalt {
				halts = append(halts, pc)
			}
		}
		if len(halts) == 0 {
			continue
		}
		last := halts[len(halts)-1]
		for n, pc := range halts {
			code[pc].Arg = int32(last + 1)
			code[pc].Delta = uint32(pc + 1)
			if n == len(halts)-1 {
				code[pc].Delta = uint32(halts[0])
				if len(halts) > 1 {
					code[pc].Delta = uint32(halts[0] + 1)
				}
			}
		}
		loops = append(loops, code)
	}
	return loops
}
