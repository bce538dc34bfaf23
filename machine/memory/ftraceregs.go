package memory

// PtRegs is struct pt_regs: the registers in the order of RegR15 … RegSS.
type PtRegs [RegSS + 1]uint64

// FtraceRegs is struct ftrace_regs: what a callback of function tracing may know of the
// registers. The trampoline at a function's entry saves only what a function can be called
// with, and that at its return only what it can return with; the rest of the structure is
// not written. Only a user that asks for all registers (FTRACE_OPS_FL_SAVE_REGS, the R in
// enabled_functions) gets them, and pays for it at every hit:
//
//	                 all          entry                                return
//	x86-64           21           ax cx dx si di r8 r9 bp sp ip        ax dx bp sp ip
//	arm64            cannot       x0…x8 fp lr sp pc                    x0…x7 fp sp
//
// The machine is an x86-64; the row of arm64 is there for comparison. Its structure is not
// a part of struct pt_regs, so [FtraceRegs.Partial] has to copy there.
//
// Since 6.14 every callback gets one, at entry and at return, and fprobes read their
// arguments through it: [FtraceRegs.Arg] and [FtraceRegs.Result] need nothing else.
//
// Kernel: ftrace_caller, ftrace_regs_caller and return_to_handler,
// arch/x86/kernel/ftrace_64.S; struct __arch_ftrace_regs, arch/arm64/include/asm/ftrace.h.
//
// Left out: callbacks do not change registers, so nothing is written back.
type FtraceRegs struct {
	*At
	all bool
}

// FtraceRegs is what the trampoline of the moment has saved. all says that somebody has
// asked for all registers.
func (at *At) FtraceRegs(all bool) FtraceRegs { return FtraceRegs{at, all} }

// The registers that are saved if nobody asks for all of them.
var (
	savedAtEntry  = registers(RegAX, RegCX, RegDX, RegSI, RegDI, RegR8, RegR9, RegBP, RegSP, RegIP)
	savedAtReturn = registers(RegAX, RegDX, RegBP, RegSP, RegIP)
)

func registers(list ...int) (set uint32) {
	for _, n := range list {
		set |= 1 << n
	}
	return set
}

// Saved reports whether a register was saved.
func (r FtraceRegs) Saved(reg int) bool {
	set := savedAtEntry
	if r.left {
		set = savedAtReturn
	}
	return reg >= 0 && reg <= RegSS && (r.all || set>>reg&1 == 1)
}

// Reg is the content of a register, and 0 if it was not saved.
func (r FtraceRegs) Reg(reg int) uint64 {
	if !r.Saved(reg) {
		return 0
	}
	return r.At.Reg(reg)
}

// PtRegs gives all registers, if they were saved.
//
// Kernel: ftrace_get_regs; arch_ftrace_get_regs, arch/x86/include/asm/ftrace.h. A cs of 0
// says there that they were not.
func (r FtraceRegs) PtRegs() (p PtRegs, ok bool) {
	if !r.all {
		return p, false
	}
	for reg := range p {
		p[reg] = r.Reg(reg)
	}
	return p, true
}

// Partial makes a struct pt_regs for those who want one, of what was saved. cs is that of
// the kernel, so nobody takes it for registers of user space; the registers that were not
// saved are 0 here.
//
// Departure: the kernel leaves what lay on the stack in the registers that were not saved.
//
// Kernel: ftrace_partial_regs, include/linux/ftrace_regs.h.
func (r FtraceRegs) Partial() (p PtRegs) {
	for reg := range p {
		p[reg] = r.Reg(reg)
	}
	p[RegCS] = r.At.Reg(RegCS)
	return p
}

// Perf makes a struct pt_regs from which perf walks the stack: where that is, and that it is
// the kernel's. Nothing else is needed, and nothing else is right.
//
// Kernel: ftrace_fill_perf_regs; arch_ftrace_fill_perf_regs,
// arch/x86/include/asm/ftrace.h.
func (r FtraceRegs) Perf() (p PtRegs) {
	p[RegIP], p[RegSP], p[RegCS] = r.Reg(RegIP), r.Reg(RegSP), r.At.Reg(RegCS)
	return p
}
