package dynevent

import (
	"strconv"

	"ftracelab/machine"
	"ftracelab/machine/memory"
	"ftracelab/tracer/event/probe"
)

// kernelSource is what a probe in the kernel reads: registers, stack and memory at the
// moment when a function was entered, has returned, or has passed a tracepoint.
type kernelSource struct {
	taskSource
	at *memory.At
	ip uint64
}

// enter sets the source for a hit at ip in a function that is entered.
func (s *kernelSource) enter(d *Events, c *machine.CPU, f *machine.Frame, ip uint64) {
	*s = kernelSource{taskSource: taskSource{d: d, c: c}, at: d.memory().Enter(c, f), ip: ip}
}

// leave sets the source for a function that has returned to ip.
func (s *kernelSource) leave(d *Events, c *machine.CPU, f *machine.Frame, ip uint64) {
	*s = kernelSource{taskSource: taskSource{d: d, c: c}, at: d.memory().Leave(c, f), ip: ip}
}

// pass sets the source for a tracepoint.
func (s *kernelSource) pass(d *Events, c *machine.CPU, tp machine.Tracepoint) {
	*s = kernelSource{taskSource: taskSource{d: d, c: c}, at: d.memory().Pass(c, tp)}
}

func (s *kernelSource) Reg(n int) uint64 {
	if n == memory.RegIP {
		return s.ip
	}
	return s.at.Reg(n)
}

func (s *kernelSource) StackPointer() uint64 { return s.at.SP() }
func (s *kernelSource) Stack(n int) uint64   { return s.at.Stack(n) }
func (s *kernelSource) Arg(n int) uint64     { return s.at.Arg(n) }
func (s *kernelSource) RetVal() uint64       { return s.at.Result() }

// taskSource is what every probe can read: the name of the current task, and memory.
type taskSource struct {
	probe.None
	d *Events
	c *machine.CPU
}

func (s *taskSource) Comm() string { return s.c.Current.Comm }

func (s *taskSource) Kernel(dst []byte, addr uint64) int {
	return s.d.memory().Kernel(s.c, dst, addr)
}

func (s *taskSource) User(dst []byte, addr uint64) int { return s.d.memory().User(s.c, dst, addr) }

// AppendSymbol appends an address as sprint_symbol prints it.
//
// Kernel: sprint_symbol, kernel/kallsyms.c.
func (s *taskSource) AppendSymbol(dst []byte, addr uint64) []byte {
	name, module, offset, size, ok := s.d.machine.Kallsyms().Lookup(addr)
	if !ok {
		return strconv.AppendUint(append(dst, "0x"...), addr, 16)
	}
	dst = strconv.AppendUint(append(append(dst, name...), "+0x"...), offset, 16)
	dst = strconv.AppendUint(append(dst, "/0x"...), size, 16)
	if module != "" {
		dst = append(append(append(dst, " ["...), module...), ']')
	}
	return dst
}

// eventSource is what an event probe reads.
type eventSource struct {
	taskSource
	rec []byte
}

// seen sets the source for a record of the event to which the probe is attached.
func (s *eventSource) seen(d *Events, c *machine.CPU, rec []byte) {
	*s = eventSource{taskSource: taskSource{d: d, c: c}, rec: rec}
}

func (s *eventSource) Record() []byte { return s.rec }

// memory returns the machine's memory. It is made when a probe first reads.
func (d *Events) memory() *memory.Memory {
	if d.mem == nil {
		mem, err := memory.New(d.machine)
		if err != nil {
			panic("dynevent: invariant: " + err.Error())
		}
		d.mem = mem
	}
	return d.mem
}
