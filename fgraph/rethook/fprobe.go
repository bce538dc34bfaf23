package rethook

import (
	"ftracelab/fgraph/work"
	"ftracelab/machine"
)

// Fprobe is a user of functions' entries and returns. Its handlers run as long as
// it is registered and not Disabled.
//
// Kernel: struct fprobe, include/linux/fprobe.h.
type Fprobe struct {
	// Entry runs at a function's entry unless it is nil. data is what Exit will
	// get; it is nil if there is no Exit. If there is an Exit, Entry reports
	// whether the return is wanted.
	Entry func(c *machine.CPU, f *machine.Frame, data []uint64) bool
	// Exit runs when the function whose patched call is at fn returns to ret.
	Exit func(c *machine.CPU, fn, ret uint64, f *machine.Frame, data []uint64)
	// DataWords is how many words of data Entry leaves to Exit.
	DataWords int
	// MaxActive is how many calls can be followed at a time; 0 lets Register choose.
	MaxActive int
	// Disabled keeps the handlers from running; calls in flight return unseen.
	Disabled bool
	// Work counts what hits do to memory; nil: not counted.
	Work *work.Count
	// Missed counts calls whose return could not be followed.
	Missed uint64

	hook *Hook
}

// Register makes the nodes for the returns of the given number of functions on
// a machine with the given number of CPUs.
//
// Kernel: fprobe_init_rethook, kernel/trace/fprobe.c.
func (p *Fprobe) Register(functions, cpus int) {
	p.Missed = 0
	if p.Exit == nil {
		return
	}
	num := p.MaxActive
	if num == 0 {
		num = functions * cpus * 2
	}
	p.hook = New(p.exit, p.DataWords, num)
	p.hook.Work = p.Work
}

// Unregister stops the probe; calls in flight return unseen.
//
// Kernel: unregister_fprobe, kernel/trace/fprobe.c.
func (p *Fprobe) Unregister() {
	if p.hook != nil {
		p.hook.Stop()
		p.hook = nil
	}
}

// Hook is the pool of a registered probe of returns; nil if there is none.
func (p *Fprobe) Hook() *Hook { return p.hook }

// The caller runs Enter at the entry of each function that p is on; t is the
// list of the current task.
//
// Kernel: fprobe_handler, kernel/trace/fprobe.c.
//
// Departure: the kernel checks whether a handler runs inside another one; here
// no handler calls a function that could be traced.
func (p *Fprobe) Enter(c *machine.CPU, t *Task, f *machine.Frame) {
	switch {
	case p.Disabled:
	case p.Exit == nil:
		p.Entry(c, f, nil)
	default:
		n := p.hook.Get()
		if n == nil {
			p.Missed++
			return
		}
		if p.Entry != nil && !p.Entry(c, f, n.Data) {
			n.Recycle()
			return
		}
		t.Hook(n, f)
	}
}

// exit is the handler of the returns.
//
// Kernel: fprobe_exit_handler, kernel/trace/fprobe.c.
func (p *Fprobe) exit(c *machine.CPU, n *Node, ret uint64, f *machine.Frame) {
	if !p.Disabled {
		p.Exit(c, n.Func, ret, f, n.Data)
	}
}
