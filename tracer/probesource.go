package tracer

import (
	"fmt"

	"ftracelab/tracer/event/probe"
	"ftracelab/workload/machine"
)

// kernelSource is what a probe in the kernel reads: registers, stack and memory where a
// function was entered or has returned.
type kernelSource struct {
	probe.None
	ft       *Ftrace
	c        *machine.CPU
	f        *machine.Frame
	ip       uint64
	returned bool
}

// enter is for a hit at ip in a function that is entered.
func (s *kernelSource) enter(ft *Ftrace, c *machine.CPU, f *machine.Frame, ip uint64) {
	*s = kernelSource{ft: ft, c: c, f: f, ip: ip}
}

// leave is for a function that has returned to ip.
func (s *kernelSource) leave(ft *Ftrace, c *machine.CPU, f *machine.Frame, ip uint64) {
	*s = kernelSource{ft: ft, c: c, f: f, ip: ip, returned: true}
}

func (s *kernelSource) RetVal() uint64 { return s.f.Value }

func (s *kernelSource) Comm() string { return s.c.Current.Comm }

// AppendSymbol appends an address as sprint_symbol prints it.
//
// Kernel: sprint_symbol, kernel/kallsyms.c.
func (s *kernelSource) AppendSymbol(dst []byte, addr uint64) []byte {
	name, module, offset, size, ok := s.ft.machine.Kallsyms().Lookup(addr)
	if !ok {
		return fmt.Appendf(dst, "%#x", addr)
	}
	dst = fmt.Appendf(dst, "%s+%#x/%#x", name, offset, size)
	if module != "" {
		dst = append(append(append(dst, " ["...), module...), ']')
	}
	return dst
}
