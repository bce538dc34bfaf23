package memory

import "ftracelab/machine"

// threadSize is the size of a kernel stack.
//
// Kernel: THREAD_SIZE, arch/x86/include/asm/page_64_types.h.
const threadSize = 1 << 14

// idleStacks is how many stacks come before those of the idle tasks: one for each
// possible pid.
const idleStacks = 1 << 23

// stackOf gives the lowest address of t's kernel stack.
func stackOf(t *machine.Task) uint64 {
	n := uint64(t.PID)
	if t.PID == 0 {
		n = idleStacks + cpuOf(t)
	}
	return stacks + n*threadSize
}

// sp gives the stack pointer at the entry of the innermost function. It points to the
// return address.
func (mem *Memory) sp(c *machine.CPU) uint64 {
	return stackOf(c.Current) + threadSize - uint64(max(c.StackUse(), 8))
}

// readStack reads from a kernel stack, up to its end.
func (mem *Memory) readStack(c *machine.CPU, dst []byte, addr uint64) int {
	n := 0
	mem.ips, mem.uses = mem.ips[:0], mem.uses[:0]
	for n < len(dst) && (n == 0 || (addr+uint64(n))%threadSize != 0) {
		at := addr + uint64(n)
		off := at & 7
		part := dst[n:min(len(dst), n+8-int(off))]
		copyWord(part, mem.stackWord(c, at-off), off)
		n += len(part)
	}
	return n
}

// stackWord gives the word at addr, which lies on the stack of some task.
func (mem *Memory) stackWord(c *machine.CPU, addr uint64) uint64 {
	t := c.Current
	if own := stackOf(t); addr-own < threadSize {
		use := int(own + threadSize - addr) // from the top
		if use <= regsSize {
			return userReg(t, (regsSize-use)/8)
		}
		if len(mem.ips) == 0 {
			mem.ips, mem.uses = c.AppendStackWords(mem.ips), c.AppendStackUse(mem.uses)
		}
		for i := 1; i < min(len(mem.ips), len(mem.uses)); i++ {
			if mem.uses[i] == use {
				return mem.ips[i]
			}
		}
	}
	return madeUp(addr, addr&^(threadSize-1))
}

// madeUp makes up a word of a stack: zero, a small number, or a pointer into the stack
// or the direct mapping.
func madeUp(addr, stack uint64) uint64 {
	h := mix(addr)
	switch h >> 61 {
	case 0, 1, 2:
		return 0
	case 3, 4:
		return h & 0xff
	case 5:
		return stack + h&(threadSize-8)
	default:
		return directMap + 1<<32 + h&0x1ffffff8
	}
}

// mix turns a number into another one that looks random.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// regsSize is the size of struct pt_regs, which lies at the top of a stack.
const regsSize = 21 * 8

// userReg gives register n of user space, as it was when the kernel was entered.
//
// Kernel: entry_SYSCALL_64, arch/x86/entry/entry_64.S.
func userReg(t *machine.Task, n int) uint64 {
	if t.Kernel {
		return 0
	}
	stay := t.Stay()
	const enosys = 38
	switch n {
	case RegBP:
		return t.User.FP
	case RegIP:
		return t.User.IP
	case RegSP:
		return t.User.SP
	case RegCS:
		return 0x33
	case RegSS:
		return 0x2b
	case RegFlags:
		return 0x246
	case RegOrigAX:
		if stay.Kind == machine.Syscall {
			return uint64(stay.NR)
		}
		return stay.ErrorCode
	}
	if stay.Kind != machine.Syscall {
		return 0
	}
	switch n {
	case RegDI:
		return stay.Args[0]
	case RegSI:
		return stay.Args[1]
	case RegDX:
		return stay.Args[2]
	case RegR10:
		return stay.Args[3]
	case RegR8:
		return stay.Args[4]
	case RegR9:
		return stay.Args[5]
	case RegCX:
		return t.User.IP
	case RegR11:
		return 0x246
	case RegAX:
		return ^uint64(enosys - 1)
	}
	return 0
}
