package memory

import "ftracelab/machine"

// The registers of struct pt_regs, in the order in which they lie there.
//
// Kernel: struct pt_regs, arch/x86/include/asm/ptrace.h.
const (
	RegR15 = iota
	RegR14
	RegR13
	RegR12
	RegBP
	RegBX
	RegR11
	RegR10
	RegR9
	RegR8
	RegAX
	RegCX
	RegDX
	RegSI
	RegDI
	RegOrigAX
	RegIP
	RegCS
	RegFlags
	RegSP
	RegSS
)

// argRegs are the registers that hold the first arguments of a function, in order.
//
// Kernel: regs_get_kernel_argument, arch/x86/include/asm/ptrace.h.
var argRegs = [...]int{RegDI, RegSI, RegDX, RegCX, RegR8, RegR9}

// At is a moment of a CPU: a function is entered or left, or a tracepoint is passed.
// Values are computed when they are asked for. An At belongs to the Memory and is valid
// until the next moment.
type At struct {
	mem   *Memory
	c     *machine.CPU
	f     *machine.Frame
	fn    *function
	left  bool
	point machine.Tracepoint
	args  []uint64 // the arguments of point
}

// Enter is the moment at which f is entered.
func (mem *Memory) Enter(c *machine.CPU, f *machine.Frame) *At {
	mem.at = At{mem: mem, c: c, f: f, fn: mem.function(f.Func), args: mem.at.args}
	return &mem.at
}

// Leave is the moment at which f returns: f.Value is set.
func (mem *Memory) Leave(c *machine.CPU, f *machine.Frame) *At {
	at := mem.Enter(c, f)
	at.left = true
	return at
}

// Pass is the moment at which a tracepoint is passed.
func (mem *Memory) Pass(c *machine.CPU, tp machine.Tracepoint) *At {
	mem.at = At{mem: mem, c: c, point: tp, args: mem.at.args[:0]}
	return &mem.at
}

// Arg is the n-th argument, from 0. For a function it is found by the calling
// convention, for a tracepoint by its TP_PROTO. It is 0 if a tracepoint has no such
// argument.
func (at *At) Arg(n int) uint64 {
	switch {
	case n < 0:
		return 0
	case at.point != nil:
		if len(at.args) == 0 {
			at.args = at.mem.appendPoint(at.args, at.c, at.point)
		}
		if n >= len(at.args) {
			return 0
		}
		return at.args[n]
	case n < len(at.fn.params):
		return at.param(&at.fn.params[n])
	case n < len(argRegs):
		return at.noise(argRegs[n])
	}
	return at.Stack(1 + n - len(argRegs))
}

// Result is what the function returns. If that is a pointer to an object of a known
// type, it is the address of such an object.
func (at *At) Result() uint64 {
	if at.f == nil {
		return 0
	}
	const maxErrno = 4095
	if v := at.f.Value; v == 0 || v > ^uint64(maxErrno) || at.fn.result.kind == numKinds {
		return v
	}
	return at.pointer(&at.fn.result)
}

// SP is the stack pointer: at a function's entry it points to the return address.
func (at *At) SP() uint64 {
	sp := at.mem.sp(at.c)
	if at.left {
		sp += 8
	}
	return sp
}

// Stack is the n-th word of the stack, from the stack pointer on; 0 after its end.
//
// Kernel: regs_get_kernel_stack_nth, arch/x86/include/asm/ptrace.h.
func (at *At) Stack(n int) uint64 {
	addr := at.SP() + 8*uint64(n)
	if stack := stackOf(at.c.Current); n < 0 || addr-stack >= threadSize {
		return 0
	}
	var word [8]byte
	at.mem.readStack(at.c, word[:], addr)
	v := uint64(0)
	for i, b := range word {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// Reg is the content of a register.
func (at *At) Reg(n int) uint64 {
	const kernelCS, kernelDS = 0x10, 0x18
	switch n {
	case RegIP:
		switch {
		case at.f == nil:
			return 0
		case at.left:
			return at.f.Parent()
		}
		return at.f.IP
	case RegSP:
		return at.SP()
	case RegFlags:
		if at.c.IRQsOff {
			return 0x46
		}
		return 0x246
	case RegCS:
		return kernelCS
	case RegSS:
		return kernelDS
	case RegOrigAX:
		return ^uint64(0)
	case RegAX:
		if at.left {
			return at.Result()
		}
	}
	if !at.left {
		for i, reg := range argRegs {
			if reg == n {
				return at.Arg(i)
			}
		}
	}
	return at.noise(n)
}

// noise makes up the content of a register about which nothing is known.
func (at *At) noise(reg int) uint64 {
	h := uint64(reg) << 32
	if at.f != nil {
		h += at.f.Func
	}
	switch {
	case reg == RegAX && at.f != nil:
		return at.f.Func // the function was called through this register
	case reg == RegBX:
		return at.mem.Task(at.c.Current)
	}
	return madeUp(h, stackOf(at.c.Current))
}
