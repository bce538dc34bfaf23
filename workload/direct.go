package workload

import "ftracelab/machine"

// The texts that the modules print.
const (
	wakingText = "waking up %s-%d\n"
	faultText  = "handle mm fault vma=%p address=%lx flags=%x regs=%p\n"
)

// sayWaking makes the text that the module ftrace_direct prints at each
// wake_up_process.
//
// Kernel: my_direct_func, samples/ftrace/ftrace-direct.c.
func sayWaking(c *machine.CPU) (machine.Printk, bool) {
	p := c.Wakee()
	if p == nil {
		return machine.Printk{}, false
	}
	return machine.Printk{
		Kind: machine.PrintkBprintk, Text: wakingText,
		Args: []any{p.Comm, int32(p.PID)},
	}, true
}

// sayFault makes the text that the module ftrace_direct_too prints at each
// handle_mm_fault.
//
// Departure: the addresses of vma and regs are made up.
//
// Kernel: my_direct_func, samples/ftrace/ftrace-direct-too.c.
func sayFault(c *machine.CPU) (machine.Printk, bool) {
	const (
		vmas, stacks = 0xffff888103000000, 0xffffc90000000000
		flags        = 0x1254 // FAULT_FLAG_DEFAULT, _USER, _VMA_LOCK
		write        = 1 << 1 // a bit of the error code; FAULT_FLAG_WRITE is 1
	)
	pid := uint64(c.Current.PID)
	addr, code := c.FaultAddress()
	return machine.Printk{
		Kind: machine.PrintkBprintk, Text: faultText,
		Args: []any{vmas + pid<<8, addr, uint32(flags | code&write>>1), stacks + pid<<14 + 0x3f58},
	}, true
}
