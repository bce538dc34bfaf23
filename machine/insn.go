package machine

import "slices"

// InsnBoundary reports whether an instruction begins at addr, which lies in a function.
// A function begins with an endbr64, if it has one, and the patched call, if it can be
// traced. A call that a return address on a stack shows is an instruction, too.
//
// Departure: the machine has no machine code. The lengths of all other instructions are
// made up, from 1 to 8 bytes; they are always the same.
//
// Kernel: can_probe, arch/x86/kernel/kprobes/core.c.
func (m *Machine) InsnBoundary(addr uint64) bool {
	s, ok := m.kallsyms.At(addr)
	if !ok {
		return false
	}
	ends := m.callEnds(&s)
	at := s.Addr
	for at < addr {
		for len(ends) > 0 && ends[0] < at+callSize {
			ends = ends[1:]
		}
		next := at + insnSize(&s, at)
		if len(ends) > 0 && next > ends[0]-callSize {
			next = ends[0] - callSize
			if at == next {
				next = ends[0]
			}
		}
		at = next
	}
	return at == addr
}

// callEnds gives the addresses to which the calls inside a function return, in order.
func (m *Machine) callEnds(s *Symbol) []uint64 {
	var ends []uint64
	for i := range m.kernel.Sites {
		if ret := m.kernel.Sites[i].Ret; ret-s.Addr < s.Size {
			ends = append(ends, ret)
		}
	}
	slices.Sort(ends)
	return ends
}

// insnSize gives the length of the instruction of s at addr.
func insnSize(s *Symbol, addr uint64) uint64 {
	off := addr - s.Addr
	switch {
	case s.Endbr && off == 0:
		return endbrSize
	case s.Traceable && addr == s.IP():
		return callSize
	}
	const lengths = "1233344557213746" // each length about as often as in real kernel code
	h := (addr>>1 ^ addr<<7 ^ s.Size) * 0x9e3779b97f4a7c15
	return uint64(lengths[h>>60] - '0')
}
