package memory

import "ftracelab/workload/machine"

// appendPoint appends the arguments of a tracepoint in the order of its TP_PROTO. If
// the machine does not have the object behind a pointer, it is an empty object of that
// type.
//
// Kernel: include/trace/events/{sched,irq,timer,kmem,syscalls,workqueue,signal,task,nmi,block}.h,
// arch/x86/include/asm/trace.
func (mem *Memory) appendPoint(dst []uint64, c *machine.CPU, tp machine.Tracepoint) []uint64 {
	regs := func() uint64 { return stackOf(c.Current) + threadSize - regsSize }
	object := func(of string, n uint64) uint64 { return mem.structure(of, n) }
	switch a := tp.(type) {
	case *machine.SchedSwitch:
		state := uint64(a.PrevState)
		if a.Preempt {
			state = machine.StateRunning
		}
		return append(dst, truth(a.Preempt), mem.Task(a.Prev), mem.Task(a.Next), state)
	case *machine.SchedWakeup:
		return append(dst, mem.Task(a.Task))
	case *machine.SchedFork:
		return append(dst, mem.Task(a.Parent), mem.Task(a.Child))
	case *machine.SchedExec:
		return append(dst, mem.Task(a.Task), uint64(a.OldPID), object("linux_binprm", uint64(a.Task.PID)))
	case *machine.SchedProcess:
		if a.ID == machine.EvSchedWait {
			return append(dst, object("pid", uint64(a.PID)))
		}
		return append(dst, mem.Task(a.Task))
	case *machine.SchedStatRuntime:
		return append(dst, mem.Task(a.Task), a.Runtime)
	case *machine.SchedMigrate:
		return append(dst, mem.Task(a.Task), uint64(a.DstCPU))
	case *machine.IRQHandlerEntry:
		return append(dst, uint64(a.IRQ), object("irqaction", uint64(a.IRQ)))
	case *machine.IRQHandlerExit:
		return append(dst, uint64(a.IRQ), object("irqaction", uint64(a.IRQ)), uint64(a.Ret))
	case *machine.SoftIRQ:
		return append(dst, uint64(a.Vec))
	case *machine.HRTimer:
		switch a.ID {
		case machine.EvHRTimerInit:
			return append(dst, a.Timer, uint64(a.ClockID), uint64(a.Mode))
		case machine.EvHRTimerStart:
			return append(dst, a.Timer, uint64(a.Mode), truth(a.WasArmed))
		case machine.EvHRTimerExpireEntry:
			return append(dst, a.Timer, mem.sp(c)+16)
		}
		return append(dst, a.Timer)
	case *machine.Timer:
		switch a.ID {
		case machine.EvTimerStart:
			return append(dst, a.Timer, a.BucketExpiry)
		case machine.EvTimerExpireEntry:
			return append(dst, a.Timer, a.BaseClk)
		}
		return append(dst, a.Timer)
	case *machine.TickStop:
		return append(dst, uint64(a.Success), uint64(a.Dependency))
	case *machine.SlabAlloc:
		if a.ID == machine.EvKmalloc {
			return append(dst, a.CallSite, a.Ptr, a.BytesReq, a.BytesAlloc, a.GFP, uint64(a.Node))
		}
		return append(dst, a.CallSite, a.Ptr, mem.cache("", a.BytesAlloc), a.GFP, uint64(a.Node))
	case *machine.SlabFree:
		if a.ID == machine.EvKfree {
			return append(dst, a.CallSite, a.Ptr)
		}
		return append(dst, a.CallSite, a.Ptr, mem.cache(a.Name, 0))
	case *machine.Page:
		page := pageStructs + a.PFN*64
		if a.ID == machine.EvPageFree {
			return append(dst, page, uint64(a.Order))
		}
		return append(dst, page, uint64(a.Order), a.GFP, uint64(a.MigrateType))
	case *machine.SysEnter:
		return append(dst, regs(), uint64(a.NR))
	case *machine.SysExit:
		return append(dst, regs(), uint64(a.Ret))
	case *machine.Work:
		switch a.ID {
		case machine.EvQueueWork:
			return append(dst, uint64(a.ReqCPU), object("pool_workqueue", uint64(a.CPU)), a.Work)
		case machine.EvWorkEnd:
			return append(dst, a.Work, a.Function)
		}
		return append(dst, a.Work)
	case *machine.Signal:
		info := object("kernel_siginfo", uint64(a.Sig))
		if a.ID == machine.EvSignalDeliver {
			return append(dst, uint64(a.Sig), info, object("k_sigaction", uint64(a.Sig)))
		}
		return append(dst, uint64(a.Sig), info, mem.Task(a.Task), uint64(a.Group), uint64(a.Result))
	case *machine.NewTask:
		return append(dst, mem.Task(a.Task), a.CloneFlags)
	case *machine.TaskRename:
		return append(dst, mem.Task(a.Task), mem.text(a.NewComm))
	case *machine.PageFaultArgs:
		return append(dst, a.Address, regs(), a.ErrorCode)
	case *machine.NMIHandler:
		return append(dst, a.Handler, uint64(a.Delta), uint64(a.Handled))
	case *machine.PreemptIRQ:
		return append(dst, a.IP, a.Parent)
	case *machine.Vector:
		return append(dst, uint64(a.Vector))
	case *machine.Block:
		return mem.appendBlock(dst, a)
	}
	return dst
}

// appendBlock is appendPoint for the block layer.
func (mem *Memory) appendBlock(dst []uint64, a *machine.Block) []uint64 {
	switch a.ID {
	case machine.EvBlockBioQueue, machine.EvBlockGetrq, machine.EvBlockBackmerge:
		return append(dst, mem.structure("bio", a.Sector))
	case machine.EvBlockRqComplete:
		return append(dst, mem.structure("request", a.Sector), 0, uint64(a.Bytes))
	case machine.EvBlockPlug, machine.EvBlockUnplug:
		return append(dst, mem.structure("request_queue", 0))
	case machine.EvBlockDirtyBuffer:
		return append(dst, mem.structure("buffer_head", a.Sector))
	}
	return append(dst, mem.structure("request", a.Sector))
}
