package tracer

import (
	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// tracepoint runs at every tracepoint of the machine that anybody listens to. The
// current tracers see it first, then the probes; then the event of that name is made.
func (ft *Ftrace) tracepoint(c *machine.CPU, tp machine.Tracepoint) {
	for tr := range ft.all {
		if tr.current.Trace != nil {
			tr.current.Trace(tr.trace(), c, tp)
		}
	}
	about := concernedBy(tp)
	ft.dyn.Tracepoint(c, tp, about)
	if fire := ft.points[tp.Event()]; fire != nil {
		fire(c, tp, about)
	}
	ft.rv.Trace(c, tp)
}

// pointProbe is the function that an event attaches to a tracepoint (TP_fast_assign).
// It makes the record from the arguments and hands it to the instances that have the
// event enabled. about is the task besides the current one that the tracepoint is
// about, or nil.
type pointProbe func(c *machine.CPU, tp machine.Tracepoint, about *machine.Task)

// point returns the probe of an event; fill makes the event's record from the
// arguments. The memory of the record is allocated once, so that a tracepoint
// allocates nothing.
func point[A machine.Tracepoint, R any](ft *Ftrace, d *event.Def[R], fill func(r *R, a A)) pointProbe {
	return classPoint(ft, d, d.Type, fill)
}

// classPoint is point for an event t whose record is declared with another event of
// its class.
func classPoint[A machine.Tracepoint, R any](ft *Ftrace, d *event.Def[R], t *event.Type, fill func(r *R, a A)) pointProbe {
	return pointOn(ft, d, t, func(_ *machine.CPU, r *R, a A) { fill(r, a) })
}

// pointOn is classPoint for a record that also holds something of the CPU.
func pointOn[A machine.Tracepoint, R any](ft *Ftrace, d *event.Def[R], t *event.Type, fill func(c *machine.CPU, r *R, a A)) pointProbe {
	r := new(R)
	return func(c *machine.CPU, tp machine.Tracepoint, about *machine.Task) {
		if ft.listening[t.ID] {
			fill(c, r, tp.(A))
			emitAs(ft, c, d, t, r, about)
		}
	}
}

// then returns a probe that also calls more, whether anybody listens to the event or
// not.
func then[A machine.Tracepoint](fire pointProbe, more func(c *machine.CPU, a A)) pointProbe {
	return func(c *machine.CPU, tp machine.Tracepoint, about *machine.Task) {
		fire(c, tp, about)
		more(c, tp.(A))
	}
}

// comm16 returns a task's name as records hold it.
func comm16(comm string) (b [16]byte) {
	copy(b[:15], comm)
	return b
}

// tracepoints returns the probes of all events that are attached to a tracepoint of
// the machine, one row each.
//
// Kernel: TP_fast_assign in include/trace/events/*.h.
func (ft *Ftrace) tracepoints() [machine.NumTracepoints]pointProbe {
	wakeup := func(t *event.Type) pointProbe {
		return classPoint(ft, events.SchedWakeup, t, func(r *events.SchedWakeupRecord, a *machine.SchedWakeup) {
			*r = events.SchedWakeupRecord{Comm: comm16(a.Task.Comm), PID: int32(a.Task.PID), Prio: int32(a.Task.Prio), TargetCPU: int32(a.TargetCPU)}
		})
	}
	process := func(r *events.SchedProcessExitRecord, a *machine.SchedProcess) {
		*r = events.SchedProcessExitRecord{Comm: comm16(a.Task.Comm), PID: int32(a.PID), Prio: int32(a.Task.Prio)}
	}
	softirq := func(t *event.Type) pointProbe {
		return classPoint(ft, events.SoftirqEntry, t, func(r *events.SoftirqEntryRecord, a *machine.SoftIRQ) { r.Vec = a.Vec })
	}
	vector := func(t *event.Type) pointProbe {
		return classPoint(ft, events.LocalTimerEntry, t, func(r *events.LocalTimerEntryRecord, a *machine.Vector) { r.Vector = a.Vector })
	}
	hrtimer := func(t *event.Type) pointProbe {
		return classPoint(ft, events.HrtimerCancel, t, func(r *events.HrtimerCancelRecord, a *machine.HRTimer) { r.Hrtimer = a.Timer })
	}
	timer := func(t *event.Type) pointProbe {
		return classPoint(ft, events.TimerCancel, t, func(r *events.TimerCancelRecord, a *machine.Timer) { r.Timer = a.Timer })
	}
	work := func(t *event.Type) pointProbe {
		return classPoint(ft, events.WorkqueueExecuteStart, t, func(r *events.WorkqueueExecuteStartRecord, a *machine.Work) {
			*r = events.WorkqueueExecuteStartRecord{Work: a.Work, Function: a.Function}
		})
	}
	fault := func(t *event.Type) pointProbe {
		return classPoint(ft, events.PageFaultUser, t, func(r *events.PageFaultUserRecord, a *machine.PageFaultArgs) {
			*r = events.PageFaultUserRecord{Address: a.Address, IP: a.IP, ErrorCode: a.ErrorCode}
		})
	}
	points := [machine.NumTracepoints]pointProbe{
		machine.EvSchedSwitch: then(point(ft, events.SchedSwitch, func(r *events.SchedSwitchRecord, a *machine.SchedSwitch) {
			*r = events.SchedSwitchRecord{
				PrevComm: comm16(a.Prev.Comm), PrevPID: int32(a.Prev.PID), PrevPrio: int32(a.Prev.Prio), PrevState: a.PrevState,
				NextComm: comm16(a.Next.Comm), NextPID: int32(a.Next.PID), NextPrio: int32(a.Next.Prio),
			}
		}), func(c *machine.CPU, a *machine.SchedSwitch) { ft.cmdlines.Switch(c, a.Prev, a.Next) }),
		machine.EvSchedWakeup:    wakeup(events.SchedWakeup.Type),
		machine.EvSchedWaking:    wakeup(events.SchedWaking.Type),
		machine.EvSchedWakeupNew: wakeup(events.SchedWakeupNew.Type),
		machine.EvSchedFork: then(point(ft, events.SchedProcessFork, func(r *events.SchedProcessForkRecord, a *machine.SchedFork) {
			*r = events.SchedProcessForkRecord{
				ParentComm: comm16(a.Parent.Comm), ParentPID: int32(a.Parent.PID),
				ChildComm: comm16(a.Child.Comm), ChildPID: int32(a.Child.PID),
			}
		}), func(_ *machine.CPU, a *machine.SchedFork) { ft.taskForked(a.Parent, a.Child) }),
		machine.EvSchedExec: point(ft, events.SchedProcessExec, func(r *events.SchedProcessExecRecord, a *machine.SchedExec) {
			*r = events.SchedProcessExecRecord{Filename: a.Filename, PID: int32(a.Task.PID), OldPID: int32(a.OldPID)}
		}),
		machine.EvSchedExit: point(ft, events.SchedProcessExit, process),
		machine.EvSchedFree: then(classPoint(ft, events.SchedProcessExit, events.SchedProcessFree.Type, process),
			func(_ *machine.CPU, a *machine.SchedProcess) { ft.taskFreed(a.PID) }),
		machine.EvSchedWait: point(ft, events.SchedProcessWait, func(r *events.SchedProcessWaitRecord, a *machine.SchedProcess) {
			process((*events.SchedProcessExitRecord)(r), a)
		}),
		machine.EvSchedStatRuntime: point(ft, events.SchedStatRuntime, func(r *events.SchedStatRuntimeRecord, a *machine.SchedStatRuntime) {
			*r = events.SchedStatRuntimeRecord{Comm: comm16(a.Task.Comm), PID: int32(a.Task.PID), Runtime: a.Runtime}
		}),
		machine.EvSchedMigrate: point(ft, events.SchedMigrateTask, func(r *events.SchedMigrateTaskRecord, a *machine.SchedMigrate) {
			*r = events.SchedMigrateTaskRecord{
				Comm: comm16(a.Task.Comm), PID: int32(a.Task.PID), Prio: int32(a.Task.Prio),
				OrigCPU: int32(a.OrigCPU), DestCPU: int32(a.DstCPU),
			}
		}),

		machine.EvIRQHandlerEntry: point(ft, events.IRQHandlerEntry, func(r *events.IRQHandlerEntryRecord, a *machine.IRQHandlerEntry) {
			*r = events.IRQHandlerEntryRecord{IRQ: int32(a.IRQ), Name: a.Name}
		}),
		machine.EvIRQHandlerExit: point(ft, events.IRQHandlerExit, func(r *events.IRQHandlerExitRecord, a *machine.IRQHandlerExit) {
			*r = events.IRQHandlerExitRecord{IRQ: int32(a.IRQ), Ret: int32(a.Ret)}
		}),
		machine.EvSoftIRQRaise:            softirq(events.SoftirqRaise.Type),
		machine.EvSoftIRQEntry:            softirq(events.SoftirqEntry.Type),
		machine.EvSoftIRQExit:             softirq(events.SoftirqExit.Type),
		machine.EvLocalTimerEntry:         vector(events.LocalTimerEntry.Type),
		machine.EvLocalTimerExit:          vector(events.LocalTimerExit.Type),
		machine.EvRescheduleEntry:         vector(events.RescheduleEntry.Type),
		machine.EvRescheduleExit:          vector(events.RescheduleExit.Type),
		machine.EvCallFunctionSingleEntry: vector(events.CallFunctionSingleEntry.Type),
		machine.EvCallFunctionSingleExit:  vector(events.CallFunctionSingleExit.Type),
		machine.EvNMIHandler: point(ft, events.NMIHandler, func(r *events.NMIHandlerRecord, a *machine.NMIHandler) {
			*r = events.NMIHandlerRecord{Handler: a.Handler, DeltaNS: a.Delta, Handled: a.Handled}
		}),

		machine.EvHRTimerInit: point(ft, events.HrtimerInit, func(r *events.HrtimerInitRecord, a *machine.HRTimer) {
			*r = events.HrtimerInitRecord{Hrtimer: a.Timer, Clockid: a.ClockID, Mode: uint32(a.Mode)}
		}),
		machine.EvHRTimerStart: point(ft, events.HrtimerStart, func(r *events.HrtimerStartRecord, a *machine.HRTimer) {
			*r = events.HrtimerStartRecord{
				Hrtimer: a.Timer, Function: a.Function, Expires: a.Expires, Softexpires: a.SoftExpires,
				Mode: uint32(a.Mode), WasArmed: a.WasArmed,
			}
		}),
		machine.EvHRTimerExpireEntry: point(ft, events.HrtimerExpireEntry, func(r *events.HrtimerExpireEntryRecord, a *machine.HRTimer) {
			*r = events.HrtimerExpireEntryRecord{Hrtimer: a.Timer, Now: a.Now, Function: a.Function}
		}),
		machine.EvHRTimerExpireExit: hrtimer(events.HrtimerExpireExit.Type),
		machine.EvHRTimerCancel:     hrtimer(events.HrtimerCancel.Type),
		machine.EvTimerInit:         timer(events.TimerInit.Type),
		machine.EvTimerStart: point(ft, events.TimerStart, func(r *events.TimerStartRecord, a *machine.Timer) {
			*r = events.TimerStartRecord{
				Timer: a.Timer, Function: a.Function, Expires: a.Expires, BucketExpiry: a.BucketExpiry, Now: a.Now, Flags: a.Flags,
			}
		}),
		machine.EvTimerExpireEntry: point(ft, events.TimerExpireEntry, func(r *events.TimerExpireEntryRecord, a *machine.Timer) {
			*r = events.TimerExpireEntryRecord{Timer: a.Timer, Now: a.Now, Function: a.Function, Baseclk: a.BaseClk}
		}),
		machine.EvTimerExpireExit: timer(events.TimerExpireExit.Type),
		machine.EvTimerCancel:     timer(events.TimerCancel.Type),
		machine.EvTickStop: point(ft, events.TickStop, func(r *events.TickStopRecord, a *machine.TickStop) {
			*r = events.TickStopRecord{Success: a.Success, Dependency: a.Dependency}
		}),

		machine.EvKmalloc: point(ft, events.Kmalloc, func(r *events.KmallocRecord, a *machine.SlabAlloc) {
			*r = events.KmallocRecord{
				CallSite: a.CallSite, Ptr: a.Ptr, BytesReq: a.BytesReq, BytesAlloc: a.BytesAlloc, GFPFlags: a.GFP, Node: a.Node,
			}
		}),
		machine.EvKmemCacheAlloc: point(ft, events.KmemCacheAlloc, func(r *events.KmemCacheAllocRecord, a *machine.SlabAlloc) {
			*r = events.KmemCacheAllocRecord{
				CallSite: a.CallSite, Ptr: a.Ptr, BytesReq: a.BytesReq, BytesAlloc: a.BytesAlloc, GFPFlags: a.GFP,
				Node: a.Node, Accounted: a.Accounted,
			}
		}),
		machine.EvKfree: point(ft, events.Kfree, func(r *events.KfreeRecord, a *machine.SlabFree) {
			*r = events.KfreeRecord{CallSite: a.CallSite, Ptr: a.Ptr}
		}),
		machine.EvKmemCacheFree: point(ft, events.KmemCacheFree, func(r *events.KmemCacheFreeRecord, a *machine.SlabFree) {
			*r = events.KmemCacheFreeRecord{CallSite: a.CallSite, Ptr: a.Ptr, Name: a.Name}
		}),
		machine.EvPageAlloc: point(ft, events.MmPageAlloc, func(r *events.MmPageAllocRecord, a *machine.Page) {
			*r = events.MmPageAllocRecord{PFN: a.PFN, Order: a.Order, GFPFlags: a.GFP, Migratetype: a.MigrateType}
		}),
		machine.EvPageFree: point(ft, events.MmPageFree, func(r *events.MmPageFreeRecord, a *machine.Page) {
			*r = events.MmPageFreeRecord{PFN: a.PFN, Order: a.Order}
		}),
		machine.EvPageFaultUser:   fault(events.PageFaultUser.Type),
		machine.EvPageFaultKernel: fault(events.PageFaultKernel.Type),

		machine.EvSysEnter: then(point(ft, events.SysEnter, func(r *events.SysEnterRecord, a *machine.SysEnter) {
			*r = events.SysEnterRecord{ID: a.NR, Args: a.Args}
		}), ft.enterSyscall),
		machine.EvSysExit: then(point(ft, events.SysExit, func(r *events.SysExitRecord, a *machine.SysExit) {
			*r = events.SysExitRecord{ID: a.NR, Ret: a.Ret}
		}), ft.exitSyscall),
		machine.EvQueueWork: point(ft, events.WorkqueueQueueWork, func(r *events.WorkqueueQueueWorkRecord, a *machine.Work) {
			*r = events.WorkqueueQueueWorkRecord{
				Work: a.Work, Function: a.Function, Workqueue: a.Workqueue, ReqCPU: a.ReqCPU, CPU: a.CPU,
			}
		}),
		machine.EvActivateWork: work(events.WorkqueueActivateWork.Type),
		machine.EvWorkStart:    work(events.WorkqueueExecuteStart.Type),
		machine.EvWorkEnd:      work(events.WorkqueueExecuteEnd.Type),
		machine.EvSignalGenerate: point(ft, events.SignalGenerate, func(r *events.SignalGenerateRecord, a *machine.Signal) {
			*r = events.SignalGenerateRecord{
				Sig: a.Sig, Errno: a.Errno, Code: a.Code, Comm: comm16(a.Task.Comm), PID: int32(a.Task.PID), Group: a.Group, Result: a.Result,
			}
		}),
		machine.EvSignalDeliver: point(ft, events.SignalDeliver, func(r *events.SignalDeliverRecord, a *machine.Signal) {
			*r = events.SignalDeliverRecord{Sig: a.Sig, Errno: a.Errno, Code: a.Code, SaHandler: a.Handler, SaFlags: a.Flags}
		}),
		machine.EvNewTask: point(ft, events.TaskNewtask, func(r *events.TaskNewtaskRecord, a *machine.NewTask) {
			*r = events.TaskNewtaskRecord{PID: int32(a.Task.PID), Comm: comm16(a.Task.Comm), CloneFlags: a.CloneFlags, OomScoreAdj: a.OOMScoreAdj}
		}),
		machine.EvTaskRename: point(ft, events.TaskRename, func(r *events.TaskRenameRecord, a *machine.TaskRename) {
			*r = events.TaskRenameRecord{PID: int32(a.Task.PID), Oldcomm: comm16(a.OldComm), Newcomm: comm16(a.NewComm), OomScoreAdj: a.OOMScoreAdj}
		}),
	}
	ft.blockPoints(&points)
	ft.preemptIRQPoints(&points)
	return points
}

// preemptIRQPoints adds the probes of the preemptirq system's events to points. Their
// records hold places as offsets from the beginning of the kernel's text.
func (ft *Ftrace) preemptIRQPoints(points *[machine.NumTracepoints]pointProbe) {
	text, _ := ft.machine.Kallsyms().ByName("_stext")
	for id, d := range map[machine.Event]*event.Def[events.PreemptIRQRecord]{
		machine.EvPreemptDisable: events.PreemptDisable, machine.EvPreemptEnable: events.PreemptEnable,
		machine.EvIRQDisable: events.IRQDisable, machine.EvIRQEnable: events.IRQEnable,
	} {
		points[id] = point(ft, d, func(r *events.PreemptIRQRecord, a *machine.PreemptIRQ) {
			*r = events.PreemptIRQRecord{CallerOffs: int32(a.IP - text.Addr), ParentOffs: int32(a.Parent - text.Addr)}
		})
	}
}
