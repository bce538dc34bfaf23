package tracer

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// tracepoint is the probe behind every tracepoint of the machine: it makes the
// record of each event that listens (TP_fast_assign) and hands it to the
// instances that have it enabled.
func (ft *Ftrace) tracepoint(c *machine.CPU, tp machine.Tracepoint) {
	ft.running, ft.concerned = c, concernedBy(tp)
	for i := range ft.all {
		if i.current.trace != nil {
			i.current.trace(i, c, tp)
		}
	}
	ft.hitTracepoint(c, tp)
	switch tp := tp.(type) {
	case *machine.SchedSwitch, *machine.SchedWakeup, *machine.SchedFork, *machine.SchedExec,
		*machine.SchedProcess, *machine.SchedStatRuntime, *machine.SchedMigrate:
		ft.traceSched(c, tp)
	case *machine.IRQHandlerEntry, *machine.IRQHandlerExit, *machine.SoftIRQ, *machine.Vector, *machine.NMIHandler:
		ft.traceIRQ(c, tp)
	case *machine.HRTimer:
		ft.traceHRTimer(c, tp)
	case *machine.Timer:
		ft.traceTimer(c, tp)
	case *machine.TickStop:
		ft.recs.tickStop = events.TickStopRecord{Success: tp.Success, Dependency: tp.Dependency}
		emit(ft, c, events.TickStop, &ft.recs.tickStop)
	case *machine.SlabAlloc, *machine.SlabFree, *machine.Page:
		ft.traceKmem(c, tp)
	case *machine.SysEnter:
		ft.traceSysEnter(c, tp)
	case *machine.SysExit:
		ft.traceSysExit(c, tp)
	case *machine.Work:
		ft.traceWork(c, tp)
	case *machine.Block:
		ft.traceBlock(c, tp)
	case *machine.PreemptIRQ:
		ft.tracePreemptIRQ(c, tp)
	default:
		ft.traceTask(c, tp)
	}
	ft.concerned = nil
	if ft.rv.enabled && !ft.rv.off {
		ft.rvTrace(c, tp)
	}
	ft.running = nil
}

// records are the records of the tracepoints, one of each shape, so that a
// tracepoint allocates nothing.
type records struct {
	schedSwitch  events.SchedSwitchRecord
	wakeup       events.SchedWakeupRecord
	fork         events.SchedProcessForkRecord
	exec         events.SchedProcessExecRecord
	process      events.SchedProcessExitRecord
	wait         events.SchedProcessWaitRecord
	runtime      events.SchedStatRuntimeRecord
	migrate      events.SchedMigrateTaskRecord
	irqEntry     events.IRQHandlerEntryRecord
	irqExit      events.IRQHandlerExitRecord
	softirq      events.SoftirqEntryRecord
	vector       events.LocalTimerEntryRecord
	nmi          events.NMIHandlerRecord
	hrtimerInit  events.HrtimerInitRecord
	hrtimerStart events.HrtimerStartRecord
	hrtimerFire  events.HrtimerExpireEntryRecord
	hrtimer      events.HrtimerCancelRecord
	timerStart   events.TimerStartRecord
	timerFire    events.TimerExpireEntryRecord
	timer        events.TimerCancelRecord
	tickStop     events.TickStopRecord
	kmalloc      events.KmallocRecord
	cacheAlloc   events.KmemCacheAllocRecord
	kfree        events.KfreeRecord
	cacheFree    events.KmemCacheFreeRecord
	pageAlloc    events.MmPageAllocRecord
	pageFree     events.MmPageFreeRecord
	sysEnter     events.SysEnterRecord
	sysExit      events.SysExitRecord
	queueWork    events.WorkqueueQueueWorkRecord
	work         events.WorkqueueExecuteStartRecord
	generate     events.SignalGenerateRecord
	deliver      events.SignalDeliverRecord
	newTask      events.TaskNewtaskRecord
	rename       events.TaskRenameRecord
	fault        events.PageFaultUserRecord
	blk          events.BlkRecord
	mmioMap      events.MmiotraceMapRecord
	mmioRW       events.MmiotraceRWRecord
	errorWwnr    events.ErrorWwnrRecord
	eventWwnr    events.EventWwnrRecord
	blockPlug    events.BlockPlugRecord
	blockUnplug  events.BlockUnplugRecord
	blockBio     events.BlockBioRecord
	blockRq      events.BlockRqRecord
	blockDone    events.BlockRqCompleteRecord
	blockBuffer  events.BlockDirtyBufferRecord
}

// comm16 is a task's name as records hold it.
func comm16(comm string) (b [16]byte) {
	copy(b[:15], comm)
	return b
}

func (ft *Ftrace) traceSched(c *machine.CPU, tp machine.Tracepoint) {
	switch tp := tp.(type) {
	case *machine.SchedSwitch:
		ft.recs.schedSwitch = events.SchedSwitchRecord{
			PrevComm: comm16(tp.Prev.Comm), PrevPID: int32(tp.Prev.PID), PrevPrio: int32(tp.Prev.Prio), PrevState: tp.PrevState,
			NextComm: comm16(tp.Next.Comm), NextPID: int32(tp.Next.PID), NextPrio: int32(tp.Next.Prio),
		}
		emit(ft, c, events.SchedSwitch, &ft.recs.schedSwitch)
		ft.rememberSwitch(c, tp.Prev, tp.Next)
	case *machine.SchedWakeup:
		ft.recs.wakeup = events.SchedWakeupRecord{
			Comm: comm16(tp.Task.Comm), PID: int32(tp.Task.PID), Prio: int32(tp.Task.Prio), TargetCPU: int32(tp.TargetCPU),
		}
		emitAs(ft, c, events.SchedWakeup, pick(tp.ID, machine.EvSchedWaking, events.SchedWaking.Type, machine.EvSchedWakeupNew, events.SchedWakeupNew.Type, events.SchedWakeup.Type), &ft.recs.wakeup)
	case *machine.SchedFork:
		ft.recs.fork = events.SchedProcessForkRecord{
			ParentComm: comm16(tp.Parent.Comm), ParentPID: int32(tp.Parent.PID),
			ChildComm: comm16(tp.Child.Comm), ChildPID: int32(tp.Child.PID),
		}
		emit(ft, c, events.SchedProcessFork, &ft.recs.fork)
		ft.taskForked(tp.Parent, tp.Child)
	case *machine.SchedExec:
		ft.recs.exec = events.SchedProcessExecRecord{Filename: tp.Filename, PID: int32(tp.Task.PID), OldPID: int32(tp.OldPID)}
		emit(ft, c, events.SchedProcessExec, &ft.recs.exec)
	case *machine.SchedProcess:
		ft.recs.process = events.SchedProcessExitRecord{Comm: comm16(tp.Task.Comm), PID: int32(tp.PID), Prio: int32(tp.Task.Prio)}
		if tp.ID == machine.EvSchedWait {
			ft.recs.wait = events.SchedProcessWaitRecord(ft.recs.process)
			emit(ft, c, events.SchedProcessWait, &ft.recs.wait)
			return
		}
		if tp.ID == machine.EvSchedFree {
			defer ft.taskFreed(tp.PID)
		}
		emitAs(ft, c, events.SchedProcessExit, pick(tp.ID, machine.EvSchedFree, events.SchedProcessFree.Type, machine.EvNone, nil, events.SchedProcessExit.Type), &ft.recs.process)
	case *machine.SchedStatRuntime:
		ft.recs.runtime = events.SchedStatRuntimeRecord{Comm: comm16(tp.Task.Comm), PID: int32(tp.Task.PID), Runtime: tp.Runtime}
		emit(ft, c, events.SchedStatRuntime, &ft.recs.runtime)
	case *machine.SchedMigrate:
		ft.recs.migrate = events.SchedMigrateTaskRecord{
			Comm: comm16(tp.Task.Comm), PID: int32(tp.Task.PID), Prio: int32(tp.Task.Prio),
			OrigCPU: int32(tp.OrigCPU), DestCPU: int32(tp.DstCPU),
		}
		emit(ft, c, events.SchedMigrateTask, &ft.recs.migrate)
	}
}

// pick chooses among events of one class: they share a record, but not its type.
func pick(id, a machine.Event, ta *event.Type, b machine.Event, tb, other *event.Type) *event.Type {
	switch id {
	case a:
		return ta
	case b:
		return tb
	}
	return other
}

func (ft *Ftrace) traceIRQ(c *machine.CPU, tp machine.Tracepoint) {
	switch tp := tp.(type) {
	case *machine.IRQHandlerEntry:
		ft.recs.irqEntry = events.IRQHandlerEntryRecord{IRQ: int32(tp.IRQ), Name: tp.Name}
		emit(ft, c, events.IRQHandlerEntry, &ft.recs.irqEntry)
	case *machine.IRQHandlerExit:
		ft.recs.irqExit = events.IRQHandlerExitRecord{IRQ: int32(tp.IRQ), Ret: int32(tp.Ret)}
		emit(ft, c, events.IRQHandlerExit, &ft.recs.irqExit)
	case *machine.SoftIRQ:
		ft.recs.softirq = events.SoftirqEntryRecord{Vec: tp.Vec}
		emitAs(ft, c, events.SoftirqEntry, pick(tp.ID, machine.EvSoftIRQRaise, events.SoftirqRaise.Type, machine.EvSoftIRQExit, events.SoftirqExit.Type, events.SoftirqEntry.Type), &ft.recs.softirq)
	case *machine.Vector:
		ft.recs.vector = events.LocalTimerEntryRecord{Vector: tp.Vector}
		emitAs(ft, c, events.LocalTimerEntry, vectorEvent(tp.ID), &ft.recs.vector)
	case *machine.NMIHandler:
		ft.recs.nmi = events.NMIHandlerRecord{Handler: tp.Handler, DeltaNS: tp.Delta, Handled: tp.Handled}
		emit(ft, c, events.NMIHandler, &ft.recs.nmi)
	}
}

// vectorEvent is the event of an interrupt vector's tracepoint; they are all of
// one class.
func vectorEvent(id machine.Event) *event.Type {
	switch id {
	case machine.EvLocalTimerExit:
		return events.LocalTimerExit.Type
	case machine.EvRescheduleEntry:
		return events.RescheduleEntry.Type
	case machine.EvRescheduleExit:
		return events.RescheduleExit.Type
	case machine.EvCallFunctionSingleEntry:
		return events.CallFunctionSingleEntry.Type
	case machine.EvCallFunctionSingleExit:
		return events.CallFunctionSingleExit.Type
	}
	return events.LocalTimerEntry.Type
}

func (ft *Ftrace) traceHRTimer(c *machine.CPU, tp *machine.HRTimer) {
	switch tp.ID {
	case machine.EvHRTimerInit:
		ft.recs.hrtimerInit = events.HrtimerInitRecord{Hrtimer: tp.Timer, Clockid: tp.ClockID, Mode: uint32(tp.Mode)}
		emit(ft, c, events.HrtimerInit, &ft.recs.hrtimerInit)
	case machine.EvHRTimerStart:
		ft.recs.hrtimerStart = events.HrtimerStartRecord{
			Hrtimer: tp.Timer, Function: tp.Function, Expires: tp.Expires, Softexpires: tp.SoftExpires,
			Mode: uint32(tp.Mode), WasArmed: tp.WasArmed,
		}
		emit(ft, c, events.HrtimerStart, &ft.recs.hrtimerStart)
	case machine.EvHRTimerExpireEntry:
		ft.recs.hrtimerFire = events.HrtimerExpireEntryRecord{Hrtimer: tp.Timer, Now: tp.Now, Function: tp.Function}
		emit(ft, c, events.HrtimerExpireEntry, &ft.recs.hrtimerFire)
	default:
		ft.recs.hrtimer = events.HrtimerCancelRecord{Hrtimer: tp.Timer}
		emitAs(ft, c, events.HrtimerCancel, pick(tp.ID, machine.EvHRTimerExpireExit, events.HrtimerExpireExit.Type, machine.EvNone, nil, events.HrtimerCancel.Type), &ft.recs.hrtimer)
	}
}

func (ft *Ftrace) traceTimer(c *machine.CPU, tp *machine.Timer) {
	switch tp.ID {
	case machine.EvTimerStart:
		ft.recs.timerStart = events.TimerStartRecord{
			Timer: tp.Timer, Function: tp.Function, Expires: tp.Expires, BucketExpiry: tp.BucketExpiry, Now: tp.Now, Flags: tp.Flags,
		}
		emit(ft, c, events.TimerStart, &ft.recs.timerStart)
	case machine.EvTimerExpireEntry:
		ft.recs.timerFire = events.TimerExpireEntryRecord{Timer: tp.Timer, Now: tp.Now, Function: tp.Function, Baseclk: tp.BaseClk}
		emit(ft, c, events.TimerExpireEntry, &ft.recs.timerFire)
	default:
		ft.recs.timer = events.TimerCancelRecord{Timer: tp.Timer}
		t := pick(tp.ID, machine.EvTimerInit, events.TimerInit.Type, machine.EvTimerExpireExit, events.TimerExpireExit.Type, events.TimerCancel.Type)
		emitAs(ft, c, events.TimerCancel, t, &ft.recs.timer)
	}
}

func (ft *Ftrace) traceKmem(c *machine.CPU, tp machine.Tracepoint) {
	switch tp := tp.(type) {
	case *machine.SlabAlloc:
		if tp.ID == machine.EvKmalloc {
			ft.recs.kmalloc = events.KmallocRecord{
				CallSite: tp.CallSite, Ptr: tp.Ptr, BytesReq: tp.BytesReq, BytesAlloc: tp.BytesAlloc, GFPFlags: tp.GFP, Node: tp.Node,
			}
			emit(ft, c, events.Kmalloc, &ft.recs.kmalloc)
			return
		}
		ft.recs.cacheAlloc = events.KmemCacheAllocRecord{
			CallSite: tp.CallSite, Ptr: tp.Ptr, BytesReq: tp.BytesReq, BytesAlloc: tp.BytesAlloc, GFPFlags: tp.GFP,
			Node: tp.Node, Accounted: tp.Accounted,
		}
		emit(ft, c, events.KmemCacheAlloc, &ft.recs.cacheAlloc)
	case *machine.SlabFree:
		if tp.ID == machine.EvKfree {
			ft.recs.kfree = events.KfreeRecord{CallSite: tp.CallSite, Ptr: tp.Ptr}
			emit(ft, c, events.Kfree, &ft.recs.kfree)
			return
		}
		ft.recs.cacheFree = events.KmemCacheFreeRecord{CallSite: tp.CallSite, Ptr: tp.Ptr, Name: tp.Name}
		emit(ft, c, events.KmemCacheFree, &ft.recs.cacheFree)
	case *machine.Page:
		if tp.ID == machine.EvPageAlloc {
			ft.recs.pageAlloc = events.MmPageAllocRecord{PFN: tp.PFN, Order: tp.Order, GFPFlags: tp.GFP, Migratetype: tp.MigrateType}
			emit(ft, c, events.MmPageAlloc, &ft.recs.pageAlloc)
			return
		}
		ft.recs.pageFree = events.MmPageFreeRecord{PFN: tp.PFN, Order: tp.Order}
		emit(ft, c, events.MmPageFree, &ft.recs.pageFree)
	}
}

func (ft *Ftrace) traceWork(c *machine.CPU, tp *machine.Work) {
	if tp.ID == machine.EvQueueWork {
		ft.recs.queueWork = events.WorkqueueQueueWorkRecord{
			Work: tp.Work, Function: tp.Function, Workqueue: tp.Workqueue, ReqCPU: tp.ReqCPU, CPU: tp.CPU,
		}
		emit(ft, c, events.WorkqueueQueueWork, &ft.recs.queueWork)
		return
	}
	ft.recs.work = events.WorkqueueExecuteStartRecord{Work: tp.Work, Function: tp.Function}
	t := pick(tp.ID, machine.EvActivateWork, events.WorkqueueActivateWork.Type, machine.EvWorkEnd, events.WorkqueueExecuteEnd.Type, events.WorkqueueExecuteStart.Type)
	emitAs(ft, c, events.WorkqueueExecuteStart, t, &ft.recs.work)
}

func (ft *Ftrace) traceTask(c *machine.CPU, tp machine.Tracepoint) {
	switch tp := tp.(type) {
	case *machine.Signal:
		if tp.ID == machine.EvSignalGenerate {
			ft.recs.generate = events.SignalGenerateRecord{
				Sig: tp.Sig, Errno: tp.Errno, Code: tp.Code, Comm: comm16(tp.Task.Comm), PID: int32(tp.Task.PID),
				Group: tp.Group, Result: tp.Result,
			}
			emit(ft, c, events.SignalGenerate, &ft.recs.generate)
			return
		}
		ft.recs.deliver = events.SignalDeliverRecord{Sig: tp.Sig, Errno: tp.Errno, Code: tp.Code, SaHandler: tp.Handler, SaFlags: tp.Flags}
		emit(ft, c, events.SignalDeliver, &ft.recs.deliver)
	case *machine.NewTask:
		ft.recs.newTask = events.TaskNewtaskRecord{
			PID: int32(tp.Task.PID), Comm: comm16(tp.Task.Comm), CloneFlags: tp.CloneFlags, OomScoreAdj: tp.OOMScoreAdj,
		}
		emit(ft, c, events.TaskNewtask, &ft.recs.newTask)
	case *machine.TaskRename:
		ft.recs.rename = events.TaskRenameRecord{
			PID: int32(tp.Task.PID), Oldcomm: comm16(tp.OldComm), Newcomm: comm16(tp.NewComm), OomScoreAdj: tp.OOMScoreAdj,
		}
		emit(ft, c, events.TaskRename, &ft.recs.rename)
	case *machine.PageFaultArgs:
		ft.recs.fault = events.PageFaultUserRecord{Address: tp.Address, IP: tp.IP, ErrorCode: tp.ErrorCode}
		emitAs(ft, c, events.PageFaultUser, pick(tp.ID, machine.EvPageFaultKernel, events.PageFaultKernel.Type, machine.EvNone, nil, events.PageFaultUser.Type), &ft.recs.fault)
	}
}
