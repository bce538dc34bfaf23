package workload

import "ftracelab/machine"

// initText is an address in the init function of a module. Once that function has run,
// its memory is gone, and no symbol is known for the address.
const initText = 0xffffffffc0c00043

// The texts that the module prints.
const (
	bputsText   = "This is a static string that will use trace_bputs\n"
	bprintkText = "This is a %s that will use trace_bprintk()\n"
	irqPrefix   = "(irq) "
)

// printkFormats are the constant strings of the module, in the order in which the
// compiler left them.
func printkFormats() []string {
	return []string{bprintkText, bputsText, irqPrefix + bprintkText, irqPrefix + bputsText}
}

// startTracePrintk does what the module trace_printk does when it is loaded: it calls
// trace_printk and trace_puts in all possible ways, in the task that loads the module
// and in an interrupt that comes in between. Each string names the function that its
// call ends up in; one of the kernel's tests looks for these strings.
//
// Departure: the task that loads it is a kernel thread.
//
// Kernel: samples/trace_printk/trace-printk.c.
func startTracePrintk(m *machine.Machine, _ map[string]string) (done func() bool, err error) {
	say := func(a *machine.Assembler, prefix string, ip uint64, from, to int) {
		for _, p := range []machine.Printk{
			{Kind: machine.PrintkBputs, Text: prefix + bputsText},
			{Kind: machine.PrintkText, Text: prefix + "This is a dynamic string that will use trace_puts\n"},
			{Kind: machine.PrintkBprintk, Text: prefix + bprintkText, Args: []any{"static string"}},
			{Kind: machine.PrintkText, Text: prefix + "This is a %s that will use trace_printk\n", Args: []any{"dynamic string"}},
		}[from:to] {
			p.IP = ip
			a.Printk(p)
		}
	}
	code, err := m.Assemble(200, func(a *machine.Assembler) {
		a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("do_init_module").Call("do_one_initcall")
		say(a, "", initText, 0, 2)
		a.State(machine.FlagIRQsOff|machine.FlagHardIRQ, 1, 0).Call("irq_work_run").Call("trace_printk_irq_work")
		say(a, irqPrefix, 0, 0, 4)
		a.Return(2).State(0, 0, 0)
		say(a, "", initText, 2, 4)
		a.Return(2).Call("do_exit").Trace(machine.EvSchedExit, 0)
		a.Call("do_task_dead").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule").Switch(machine.StateDead).Return(5)
	})
	if err != nil {
		return nil, err
	}
	return startInit(m, "modprobe", 0, false, code), nil
}

// startInit starts a task that runs code and then ends; done reports whether it has
// ended.
func startInit(m *machine.Machine, comm string, cpu int, bound bool, code machine.Code) (done func() bool) {
	return startTask(m, machine.TaskConfig{Comm: comm, Kernel: true, CPU: cpu, Bound: bound},
		machine.Stay{Kind: machine.KernelWork, After: machine.Microsecond, Code: code})
}

// startTask starts a task that has one stay in the kernel and then ends; done reports
// whether it has ended.
func startTask(m *machine.Machine, cfg machine.TaskConfig, stay machine.Stay) (done func() bool) {
	cfg.Next = func(*machine.CPU, *machine.Task) machine.Stay { return stay }
	t := m.Spawn(cfg)
	return func() bool { return m.Task(t.PID) != t }
}
