package dynevent

import (
	"bytes"
	"strconv"

	"ftracelab/machine"
	"ftracelab/machine/memory"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/probe"
)

// kernelSource is what a probe in the kernel reads: registers, stack and memory at the
// moment when a function was entered, has returned, or has passed a tracepoint.
type kernelSource struct {
	taskSource
	regs memory.FtraceRegs
	ip   uint64
}

// enter sets the source for a hit at ip in a function that is entered. all says that all
// registers were saved.
func (s *kernelSource) enter(d *Events, c *machine.CPU, f *machine.Frame, ip uint64, all bool) {
	*s = kernelSource{taskSource: taskSource{d: d, c: c}, regs: d.memory().Enter(c, f).FtraceRegs(all), ip: ip}
}

// leave sets the source for a function that has returned to ip.
func (s *kernelSource) leave(d *Events, c *machine.CPU, f *machine.Frame, ip uint64, all bool) {
	*s = kernelSource{taskSource: taskSource{d: d, c: c}, regs: d.memory().Leave(c, f).FtraceRegs(all), ip: ip}
}

// pass sets the source for a tracepoint.
func (s *kernelSource) pass(d *Events, c *machine.CPU, tp machine.Tracepoint) {
	*s = kernelSource{taskSource: taskSource{d: d, c: c}, regs: d.memory().Pass(c, tp).FtraceRegs(true)}
}

func (s *kernelSource) Reg(n int) uint64 {
	if n == memory.RegIP {
		return s.ip
	}
	return s.regs.Reg(n)
}

func (s *kernelSource) StackPointer() uint64 { return s.regs.SP() }
func (s *kernelSource) Stack(n int) uint64   { return s.regs.Stack(n) }
func (s *kernelSource) Arg(n int) uint64     { return s.regs.Arg(n) }
func (s *kernelSource) RetVal() uint64       { return s.regs.Result() }

// taskSource is what every probe can read: the name of the current task, and memory.
type taskSource struct {
	probe.None
	d *Events
	c *machine.CPU
}

func (s *taskSource) Comm() string { return s.c.Current.Comm }

// Kernel reads kernel memory. On x86 an address tells what it belongs to, so one of user
// space is read there.
func (s *taskSource) Kernel(dst []byte, addr uint64) int { return s.d.read(s.c, dst, addr) }

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

// read copies memory of the kernel, or of the current task if the address is one of user
// space, as far as it can be read. It returns how many bytes that was.
//
// Kernel: probe_mem_read and fetch_store_string with
// CONFIG_ARCH_HAS_NON_OVERLAPPING_ADDRESS_SPACE, kernel/trace/trace_probe_kernel.h.
func (d *Events) read(c *machine.CPU, dst []byte, addr uint64) int {
	if int64(addr) < 0 {
		return d.memory().Kernel(c, dst, addr)
	}
	return d.memory().User(c, dst, addr)
}

// Asked is what a filter may ask about the current task of a CPU.
func (d *Events) Asked(c *machine.CPU) filter.Context {
	for n := len(d.userTexts); n <= c.ID; n++ { // once, so that no event makes a closure
		of := d.machine.CPUs()[n]
		d.userTexts = append(d.userTexts, func(addr uint64) (string, bool) { return d.userText(of, addr) })
	}
	return filter.Context{CPU: c.ID, Comm: c.Current.Comm, UserStrings: d.userTexts[c.ID]}
}

// maxUserText is how much of a text in user space a filter looks at.
//
// Kernel: USTRING_BUF_SIZE, kernel/trace/trace_events_filter.c.
const maxUserText = 1024

// userText is the text at an address of the current task.
//
// Kernel: test_ustring, kernel/trace/trace_events_filter.c.
func (d *Events) userText(c *machine.CPU, addr uint64) (string, bool) {
	text := make([]byte, maxUserText)
	n := d.memory().User(c, text, addr)
	if end := bytes.IndexByte(text[:n], 0); end >= 0 {
		n = end
	} else if n < len(text) {
		return "", false // it runs into memory that is not there
	}
	return string(text[:n]), true
}

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
