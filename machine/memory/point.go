package memory

import "ftracelab/machine"

// appendPoint appends the arguments of a tracepoint in the order of its TP_PROTO. If
// the machine does not have the object behind a pointer, it is an empty object of that
// type. A tracepoint without a row below has no arguments that can be read.
func (mem *Memory) appendPoint(dst []uint64, c *machine.CPU, tp machine.Tracepoint) []uint64 {
	if list := protos[tp.Event()]; list != nil {
		return list(mem, dst, c, tp)
	}
	return dst
}

// proto appends the arguments of one tracepoint.
type proto func(mem *Memory, dst []uint64, c *machine.CPU, tp machine.Tracepoint) []uint64

// takes makes the row of a tracepoint with arguments A.
func takes[A machine.Tracepoint](list func(mem *Memory, a A) []uint64) proto {
	return func(mem *Memory, dst []uint64, _ *machine.CPU, tp machine.Tracepoint) []uint64 {
		return append(dst, list(mem, tp.(A))...)
	}
}

// takesOn is like takes, for arguments that also depend on the CPU.
func takesOn[A machine.Tracepoint](list func(mem *Memory, c *machine.CPU, a A) []uint64) proto {
	return func(mem *Memory, dst []uint64, c *machine.CPU, tp machine.Tracepoint) []uint64 {
		return append(dst, list(mem, c, tp.(A))...)
	}
}

// words is a list of arguments.
func words(w ...uint64) []uint64 { return w }

// regs is where the registers of the current task's entry into the kernel are.
func regs(c *machine.CPU) uint64 { return stackOf(c.Current) + threadSize - regsSize }

// protos has the arguments of each tracepoint.
//
// Kernel: TP_PROTO in include/trace/events/{sched,irq,timer,kmem,syscalls,workqueue,signal,task,nmi,block}.h,
// arch/x86/include/asm/trace.
var protos = [machine.NumTracepoints]proto{
	machine.EvSchedSwitch: takes(func(mem *Memory, a *machine.SchedSwitch) []uint64 {
		state := uint64(a.PrevState)
		if a.Preempt {
			state = machine.StateRunning
		}
		return words(truth(a.Preempt), mem.Task(a.Prev), mem.Task(a.Next), state)
	}),
	machine.EvSchedWaking:    takes(wokenTask),
	machine.EvSchedWakeup:    takes(wokenTask),
	machine.EvSchedWakeupNew: takes(wokenTask),
	machine.EvSchedFork: takes(func(mem *Memory, a *machine.SchedFork) []uint64 {
		return words(mem.Task(a.Parent), mem.Task(a.Child))
	}),
	machine.EvSchedExec: takes(func(mem *Memory, a *machine.SchedExec) []uint64 {
		return words(mem.Task(a.Task), uint64(a.OldPID), mem.structure("linux_binprm", uint64(a.Task.PID)))
	}),
	machine.EvSchedExit: takes(processTask),
	machine.EvSchedFree: takes(processTask),
	machine.EvSchedWait: takes(func(mem *Memory, a *machine.SchedProcess) []uint64 {
		return words(mem.structure("pid", uint64(a.PID)))
	}),
	machine.EvSchedStatRuntime: takes(func(mem *Memory, a *machine.SchedStatRuntime) []uint64 {
		return words(mem.Task(a.Task), a.Runtime)
	}),
	machine.EvSchedMigrate: takes(func(mem *Memory, a *machine.SchedMigrate) []uint64 {
		return words(mem.Task(a.Task), uint64(a.DstCPU))
	}),
	machine.EvIRQHandlerEntry: takes(func(mem *Memory, a *machine.IRQHandlerEntry) []uint64 {
		return words(uint64(a.IRQ), mem.structure("irqaction", uint64(a.IRQ)))
	}),
	machine.EvIRQHandlerExit: takes(func(mem *Memory, a *machine.IRQHandlerExit) []uint64 {
		return words(uint64(a.IRQ), mem.structure("irqaction", uint64(a.IRQ)), uint64(a.Ret))
	}),
	machine.EvSoftIRQRaise: takes(softIRQ),
	machine.EvSoftIRQEntry: takes(softIRQ),
	machine.EvSoftIRQExit:  takes(softIRQ),
	machine.EvHRTimerInit: takes(func(_ *Memory, a *machine.HRTimer) []uint64 {
		return words(a.Timer, uint64(a.ClockID), uint64(a.Mode))
	}),
	machine.EvHRTimerStart: takes(func(_ *Memory, a *machine.HRTimer) []uint64 {
		return words(a.Timer, uint64(a.Mode), truth(a.WasArmed))
	}),
	machine.EvHRTimerCancel: takes(hrTimer),
	machine.EvHRTimerExpireEntry: takesOn(func(mem *Memory, c *machine.CPU, a *machine.HRTimer) []uint64 {
		return words(a.Timer, mem.sp(c)+16)
	}),
	machine.EvHRTimerExpireExit: takes(hrTimer),
	machine.EvTimerInit:         takes(timer),
	machine.EvTimerStart:        takes(func(_ *Memory, a *machine.Timer) []uint64 { return words(a.Timer, a.BucketExpiry) }),
	machine.EvTimerCancel:       takes(timer),
	machine.EvTimerExpireEntry:  takes(func(_ *Memory, a *machine.Timer) []uint64 { return words(a.Timer, a.BaseClk) }),
	machine.EvTimerExpireExit:   takes(timer),
	machine.EvTickStop: takes(func(_ *Memory, a *machine.TickStop) []uint64 {
		return words(uint64(a.Success), uint64(a.Dependency))
	}),
	machine.EvKmalloc: takes(func(_ *Memory, a *machine.SlabAlloc) []uint64 {
		return words(a.CallSite, a.Ptr, a.BytesReq, a.BytesAlloc, a.GFP, uint64(a.Node))
	}),
	machine.EvKmemCacheAlloc: takes(func(mem *Memory, a *machine.SlabAlloc) []uint64 {
		return words(a.CallSite, a.Ptr, mem.cache("", a.BytesAlloc), a.GFP, uint64(a.Node))
	}),
	machine.EvKfree: takes(func(_ *Memory, a *machine.SlabFree) []uint64 { return words(a.CallSite, a.Ptr) }),
	machine.EvKmemCacheFree: takes(func(mem *Memory, a *machine.SlabFree) []uint64 {
		return words(a.CallSite, a.Ptr, mem.cache(a.Name, 0))
	}),
	machine.EvPageAlloc: takes(func(_ *Memory, a *machine.Page) []uint64 {
		return words(pageStructs+a.PFN*64, uint64(a.Order), a.GFP, uint64(a.MigrateType))
	}),
	machine.EvPageFree: takes(func(_ *Memory, a *machine.Page) []uint64 { return words(pageStructs+a.PFN*64, uint64(a.Order)) }),
	machine.EvSysEnter: takesOn(func(_ *Memory, c *machine.CPU, a *machine.SysEnter) []uint64 { return words(regs(c), uint64(a.NR)) }),
	machine.EvSysExit:  takesOn(func(_ *Memory, c *machine.CPU, a *machine.SysExit) []uint64 { return words(regs(c), uint64(a.Ret)) }),
	machine.EvQueueWork: takes(func(mem *Memory, a *machine.Work) []uint64 {
		return words(uint64(a.ReqCPU), mem.structure("pool_workqueue", uint64(a.CPU)), a.Work)
	}),
	machine.EvActivateWork: takes(work),
	machine.EvWorkStart:    takes(work),
	machine.EvWorkEnd:      takes(func(_ *Memory, a *machine.Work) []uint64 { return words(a.Work, a.Function) }),
	machine.EvSignalGenerate: takes(func(mem *Memory, a *machine.Signal) []uint64 {
		info := mem.structure("kernel_siginfo", uint64(a.Sig))
		return words(uint64(a.Sig), info, mem.Task(a.Task), uint64(a.Group), uint64(a.Result))
	}),
	machine.EvSignalDeliver: takes(func(mem *Memory, a *machine.Signal) []uint64 {
		info := mem.structure("kernel_siginfo", uint64(a.Sig))
		return words(uint64(a.Sig), info, mem.structure("k_sigaction", uint64(a.Sig)))
	}),
	machine.EvNewTask: takes(func(mem *Memory, a *machine.NewTask) []uint64 {
		return words(mem.Task(a.Task), a.CloneFlags)
	}),
	machine.EvTaskRename: takes(func(mem *Memory, a *machine.TaskRename) []uint64 {
		return words(mem.Task(a.Task), mem.text(a.NewComm))
	}),
	machine.EvPageFaultUser:           takesOn(pageFault),
	machine.EvPageFaultKernel:         takesOn(pageFault),
	machine.EvLocalTimerEntry:         takes(vector),
	machine.EvLocalTimerExit:          takes(vector),
	machine.EvRescheduleEntry:         takes(vector),
	machine.EvRescheduleExit:          takes(vector),
	machine.EvCallFunctionSingleEntry: takes(vector),
	machine.EvCallFunctionSingleExit:  takes(vector),
	machine.EvIRQDisable:              takes(preemptIRQ),
	machine.EvIRQEnable:               takes(preemptIRQ),
	machine.EvPreemptDisable:          takes(preemptIRQ),
	machine.EvPreemptEnable:           takes(preemptIRQ),
	machine.EvNMIHandler: takes(func(_ *Memory, a *machine.NMIHandler) []uint64 {
		return words(a.Handler, uint64(a.Delta), uint64(a.Handled))
	}),
	machine.EvBlockBioQueue:  takes(bio),
	machine.EvBlockGetrq:     takes(bio),
	machine.EvBlockBackmerge: takes(bio),
	machine.EvBlockIOStart:   takes(request),
	machine.EvBlockRqIssue:   takes(request),
	machine.EvBlockIODone:    takes(request),
	machine.EvBlockRqComplete: takes(func(mem *Memory, a *machine.Block) []uint64 {
		return words(mem.structure("request", a.Sector), 0, uint64(a.Bytes))
	}),
	machine.EvBlockPlug:   takes(queue),
	machine.EvBlockUnplug: takes(queue),
	machine.EvBlockDirtyBuffer: takes(func(mem *Memory, a *machine.Block) []uint64 {
		return words(mem.structure("buffer_head", a.Sector))
	}),
}

// Arguments that several tracepoints share (DECLARE_EVENT_CLASS).
func wokenTask(mem *Memory, a *machine.SchedWakeup) []uint64    { return words(mem.Task(a.Task)) }
func processTask(mem *Memory, a *machine.SchedProcess) []uint64 { return words(mem.Task(a.Task)) }
func softIRQ(_ *Memory, a *machine.SoftIRQ) []uint64            { return words(uint64(a.Vec)) }
func hrTimer(_ *Memory, a *machine.HRTimer) []uint64            { return words(a.Timer) }
func timer(_ *Memory, a *machine.Timer) []uint64                { return words(a.Timer) }
func work(_ *Memory, a *machine.Work) []uint64                  { return words(a.Work) }
func vector(_ *Memory, a *machine.Vector) []uint64              { return words(uint64(a.Vector)) }
func preemptIRQ(_ *Memory, a *machine.PreemptIRQ) []uint64      { return words(a.IP, a.Parent) }
func bio(mem *Memory, a *machine.Block) []uint64                { return words(mem.structure("bio", a.Sector)) }

func request(mem *Memory, a *machine.Block) []uint64 {
	return words(mem.structure("request", a.Sector))
}

func queue(mem *Memory, _ *machine.Block) []uint64 { return words(mem.structure("request_queue", 0)) }

func pageFault(_ *Memory, c *machine.CPU, a *machine.PageFaultArgs) []uint64 {
	return words(a.Address, regs(c), a.ErrorCode)
}
