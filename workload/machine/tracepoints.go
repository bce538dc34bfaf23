package machine

import (
	"fmt"
	"strings"
)

// Event says what happens at an OpTrace step. An event that is a tracepoint has a name;
// if it is enabled, Hooks.Trace gets it, with the struct of that name. The comments say
// what Op.Arg is.
type Event uint8

const (
	EvNone Event = iota
	EvSchedSwitch
	EvSchedWaking    // wake-up class
	EvSchedWakeup    // wake-up class
	EvSchedWakeupNew // the task of the last EvSchedFork
	EvSchedFork
	EvSchedExec
	EvSchedExit
	EvSchedFree
	EvSchedWait
	EvSchedStatRuntime
	EvSchedMigrate
	EvIRQHandlerEntry // irq number
	EvIRQHandlerExit  // irq number
	EvSoftIRQRaise    // vector
	EvSoftIRQEntry    // vector
	EvSoftIRQExit     // vector
	EvHRTimerInit
	EvHRTimerStart
	EvHRTimerCancel
	EvHRTimerExpireEntry
	EvHRTimerExpireExit
	EvTimerInit
	EvTimerStart
	EvTimerCancel
	EvTimerExpireEntry
	EvTimerExpireExit
	EvTickStop
	EvKmalloc        // index into Kernel.Slabs
	EvKfree          // index into Kernel.Slabs
	EvKmemCacheAlloc // index into Kernel.Slabs
	EvKmemCacheFree  // index into Kernel.Slabs
	EvPageAlloc      // order
	EvPageFree       // order
	EvSysEnter
	EvSysExit
	EvQueueWork
	EvActivateWork
	EvWorkStart
	EvWorkEnd
	EvSignalGenerate // signal number
	EvSignalDeliver  // signal number
	EvNewTask
	EvTaskRename
	EvPageFaultUser
	EvPageFaultKernel
	EvLocalTimerEntry
	EvLocalTimerExit
	EvRescheduleEntry
	EvRescheduleExit
	EvCallFunctionSingleEntry
	EvCallFunctionSingleExit
	EvIRQDisable
	EvIRQEnable
	EvPreemptDisable
	EvPreemptEnable
	EvNMIHandler     // see Assembler.Ask
	EvBlockBioQueue  // which bio of the request
	EvBlockGetrq     // which bio of the request
	EvBlockIOStart   // which bio of the request
	EvBlockBackmerge // which bio of the request
	EvBlockPlug
	EvBlockUnplug // number of requests
	EvBlockRqIssue
	EvBlockRqComplete
	EvBlockIODone
	EvBlockDirtyBuffer
	EvSampleFooBar // count; this and the following belong to the module trace_events_sample
	EvSampleTemplateSimple
	EvSampleFooBarCond
	EvSampleTemplateCond
	EvSampleTemplatePrint
	EvSampleFooRelLoc
	// NumTracepoints is the number of values of Event.
	NumTracepoints
)

var tracepointNames = [NumTracepoints]string{
	EvSchedSwitch: "sched:sched_switch", EvSchedWaking: "sched:sched_waking",
	EvSchedWakeup: "sched:sched_wakeup", EvSchedWakeupNew: "sched:sched_wakeup_new",
	EvSchedFork: "sched:sched_process_fork", EvSchedExec: "sched:sched_process_exec",
	EvSchedExit: "sched:sched_process_exit", EvSchedFree: "sched:sched_process_free",
	EvSchedWait: "sched:sched_process_wait", EvSchedStatRuntime: "sched:sched_stat_runtime",
	EvSchedMigrate: "sched:sched_migrate_task", EvIRQHandlerEntry: "irq:irq_handler_entry",
	EvIRQHandlerExit: "irq:irq_handler_exit", EvSoftIRQRaise: "irq:softirq_raise",
	EvSoftIRQEntry: "irq:softirq_entry", EvSoftIRQExit: "irq:softirq_exit",
	EvHRTimerInit: "timer:hrtimer_init", EvHRTimerStart: "timer:hrtimer_start",
	EvHRTimerCancel: "timer:hrtimer_cancel", EvHRTimerExpireEntry: "timer:hrtimer_expire_entry",
	EvHRTimerExpireExit: "timer:hrtimer_expire_exit", EvTimerInit: "timer:timer_init",
	EvTimerStart: "timer:timer_start", EvTimerCancel: "timer:timer_cancel",
	EvTimerExpireEntry: "timer:timer_expire_entry", EvTimerExpireExit: "timer:timer_expire_exit",
	EvTickStop: "timer:tick_stop", EvKmalloc: "kmem:kmalloc", EvKfree: "kmem:kfree",
	EvKmemCacheAlloc: "kmem:kmem_cache_alloc", EvKmemCacheFree: "kmem:kmem_cache_free",
	EvPageAlloc: "kmem:mm_page_alloc", EvPageFree: "kmem:mm_page_free",
	EvSysEnter: "raw_syscalls:sys_enter", EvSysExit: "raw_syscalls:sys_exit",
	EvQueueWork: "workqueue:workqueue_queue_work", EvActivateWork: "workqueue:workqueue_activate_work",
	EvWorkStart: "workqueue:workqueue_execute_start", EvWorkEnd: "workqueue:workqueue_execute_end",
	EvSignalGenerate: "signal:signal_generate", EvSignalDeliver: "signal:signal_deliver",
	EvNewTask: "task:task_newtask", EvTaskRename: "task:task_rename",
	EvPageFaultUser: "exceptions:page_fault_user", EvPageFaultKernel: "exceptions:page_fault_kernel",
	EvLocalTimerEntry: "irq_vectors:local_timer_entry", EvLocalTimerExit: "irq_vectors:local_timer_exit",
	EvRescheduleEntry: "irq_vectors:reschedule_entry", EvRescheduleExit: "irq_vectors:reschedule_exit",
	EvCallFunctionSingleEntry: "irq_vectors:call_function_single_entry",
	EvCallFunctionSingleExit:  "irq_vectors:call_function_single_exit",
	EvIRQDisable:              "preemptirq:irq_disable", EvIRQEnable: "preemptirq:irq_enable",
	EvPreemptDisable: "preemptirq:preempt_disable", EvPreemptEnable: "preemptirq:preempt_enable",
	EvNMIHandler:    "nmi:nmi_handler",
	EvBlockBioQueue: "block:block_bio_queue", EvBlockGetrq: "block:block_getrq",
	EvBlockIOStart: "block:block_io_start", EvBlockBackmerge: "block:block_bio_backmerge",
	EvBlockPlug: "block:block_plug", EvBlockUnplug: "block:block_unplug",
	EvBlockRqIssue: "block:block_rq_issue", EvBlockRqComplete: "block:block_rq_complete",
	EvBlockIODone: "block:block_io_done", EvBlockDirtyBuffer: "block:block_dirty_buffer",
	EvSampleFooBar: "sample-trace:foo_bar", EvSampleTemplateSimple: "sample-trace:foo_with_template_simple",
	EvSampleFooBarCond: "sample-trace:foo_bar_with_cond", EvSampleTemplateCond: "sample-trace:foo_with_template_cond",
	EvSampleTemplatePrint: "sample-trace:foo_with_template_print", EvSampleFooRelLoc: "sample-trace:foo_rel_loc",
}

// TracepointName is "system:event", empty for EvNone.
func (e Event) TracepointName() string { return tracepointNames[e] }

// Tracepoints lists the names of all tracepoints the machine has.
func Tracepoints() []string { return append([]string(nil), tracepointNames[1:]...) }

// Enable switches a tracepoint such as "sched:sched_switch" on or off. A tracepoint
// that is off only costs a comparison.
//
// The error names a tracepoint that the machine does not have.
func (m *Machine) Enable(name string, on bool) error {
	for e, n := range tracepointNames {
		if n == name && e != int(EvNone) {
			m.enabled[e] = on
			m.watched = m.enabled[EvIRQDisable] || m.enabled[EvIRQEnable] || m.enabled[EvPreemptDisable] || m.enabled[EvPreemptEnable]
			return nil
		}
	}
	return fmt.Errorf("machine: no tracepoint %q", name)
}

// Enabled reports whether a tracepoint is on.
func (m *Machine) Enabled(e Event) bool { return m.enabled[e] }

func (m *Machine) syscallsTraced() bool { return m.enabled[EvSysEnter] || m.enabled[EvSysExit] }

// The argument lists (TP_PROTO) of the tracepoints. There is a struct for each
// tracepoint, or for several with the same arguments; ID then tells which it is.
//
// Kernel: include/trace/events/{sched,irq,timer,kmem,syscalls,workqueue,signal,task,preemptirq,nmi,block}.h.
type (
	// Sample is for the tracepoints of the module trace_events_sample.
	Sample struct {
		ID    Event
		Count int32
	}
	// SchedSwitch is sched:sched_switch; PrevState is what the record holds.
	SchedSwitch struct {
		Preempt    bool
		Prev, Next *Task
		PrevState  int64
	}
	// SchedWakeup is sched:sched_waking, sched_wakeup and sched_wakeup_new.
	SchedWakeup struct {
		ID        Event
		Task      *Task
		TargetCPU int
	}
	// SchedFork is sched:sched_process_fork.
	SchedFork struct{ Parent, Child *Task }
	// SchedExec is sched:sched_process_exec.
	SchedExec struct {
		Task     *Task
		Filename string
		OldPID   int
	}
	// SchedProcess is sched:sched_process_exit, sched_process_free and
	// sched_process_wait. For the last one, PID is what the task waits for.
	SchedProcess struct {
		ID   Event
		Task *Task
		PID  int
	}
	// SchedStatRuntime is sched:sched_stat_runtime.
	SchedStatRuntime struct {
		Task    *Task
		Runtime uint64 // ns
	}
	// SchedMigrate is sched:sched_migrate_task.
	SchedMigrate struct {
		Task            *Task
		OrigCPU, DstCPU int
	}
	// IRQHandlerEntry is irq:irq_handler_entry.
	IRQHandlerEntry struct {
		IRQ  int
		Name string
	}
	// IRQHandlerExit is irq:irq_handler_exit; Ret is 1 for handled.
	IRQHandlerExit struct{ IRQ, Ret int }
	// SoftIRQ is irq:softirq_raise, softirq_entry and softirq_exit.
	SoftIRQ struct {
		ID  Event
		Vec uint32
	}
	// HRTimer is for the hrtimer events of the system timer. Timer and Function are
	// addresses.
	HRTimer struct {
		ID              Event
		Timer, Function uint64
		Expires         int64 // ns; hrtimer_start
		SoftExpires     int64
		Now             int64 // hrtimer_expire_entry
		ClockID, Mode   int32
		WasArmed        bool
	}
	// Timer is for the events of the timer wheel. Times are in jiffies.
	Timer struct {
		ID              Event
		Timer, Function uint64
		Expires         uint64
		BucketExpiry    uint64
		Now             uint64
		BaseClk         uint64
		Flags           uint32
	}
	// TickStop is timer:tick_stop.
	TickStop struct{ Success, Dependency int32 }
	// SlabAlloc is kmem:kmalloc and kmem_cache_alloc.
	SlabAlloc struct {
		ID                   Event
		CallSite, Ptr        uint64
		BytesReq, BytesAlloc uint64
		GFP                  uint64
		Node                 int32
		Accounted            bool
		Cache                string
	}
	// SlabFree is kmem:kfree and kmem_cache_free.
	SlabFree struct {
		ID            Event
		CallSite, Ptr uint64
		Name          string // of the cache; kmem_cache_free
	}
	// Page is kmem:mm_page_alloc and mm_page_free.
	Page struct {
		ID          Event
		PFN         uint64
		Order       uint32
		GFP         uint64
		MigrateType int32
	}
	// SysEnter is raw_syscalls:sys_enter, and drives syscalls:sys_enter_*.
	SysEnter struct {
		NR   int64
		Args [6]uint64
	}
	// SysExit is raw_syscalls:sys_exit, and drives syscalls:sys_exit_*.
	SysExit struct{ NR, Ret int64 }
	// Work is for the events of the system workqueue, with the addresses of the work
	// and its function.
	Work struct {
		ID             Event
		Work, Function uint64
		Workqueue      string
		ReqCPU, CPU    int32
	}
	// Signal is signal:signal_generate and signal_deliver. Task is the receiver.
	Signal struct {
		ID               Event
		Sig, Errno, Code int32
		Task             *Task
		Group, Result    int32
		Handler, Flags   uint64
	}
	// NewTask is task:task_newtask.
	NewTask struct {
		Task        *Task
		CloneFlags  uint64
		OOMScoreAdj int16
	}
	// TaskRename is task:task_rename.
	TaskRename struct {
		Task             *Task
		OldComm, NewComm string
		OOMScoreAdj      int16
	}
	// PageFaultArgs is exceptions:page_fault_user and page_fault_kernel.
	PageFaultArgs struct {
		ID                     Event
		Address, IP, ErrorCode uint64
	}
	// NMIHandler is nmi:nmi_handler: the address of the handler, how long it took in
	// ns, and how many NMIs were its own.
	NMIHandler struct {
		Handler uint64
		Delta   int64
		Handled int32
	}
	// PreemptIRQ is for the events of the system preemptirq: the address where it
	// happens, and that of the caller, or 0 if it is not known.
	PreemptIRQ struct {
		ID         Event
		IP, Parent uint64
	}
	// Vector is for the events of the system irq_vectors.
	Vector struct {
		ID     Event
		Vector int32
	}
)

func (*SchedSwitch) Event() Event      { return EvSchedSwitch }
func (a *SchedWakeup) Event() Event    { return a.ID }
func (*SchedFork) Event() Event        { return EvSchedFork }
func (*SchedExec) Event() Event        { return EvSchedExec }
func (a *SchedProcess) Event() Event   { return a.ID }
func (*SchedStatRuntime) Event() Event { return EvSchedStatRuntime }
func (*SchedMigrate) Event() Event     { return EvSchedMigrate }
func (*IRQHandlerEntry) Event() Event  { return EvIRQHandlerEntry }
func (*IRQHandlerExit) Event() Event   { return EvIRQHandlerExit }
func (a *SoftIRQ) Event() Event        { return a.ID }
func (a *HRTimer) Event() Event        { return a.ID }
func (a *Timer) Event() Event          { return a.ID }
func (*TickStop) Event() Event         { return EvTickStop }
func (a *SlabAlloc) Event() Event      { return a.ID }
func (a *SlabFree) Event() Event       { return a.ID }
func (a *Page) Event() Event           { return a.ID }
func (a *Sample) Event() Event         { return a.ID }
func (*SysEnter) Event() Event         { return EvSysEnter }
func (*SysExit) Event() Event          { return EvSysExit }
func (a *Work) Event() Event           { return a.ID }
func (a *Signal) Event() Event         { return a.ID }
func (*NewTask) Event() Event          { return EvNewTask }
func (*TaskRename) Event() Event       { return EvTaskRename }
func (a *PageFaultArgs) Event() Event  { return a.ID }
func (a *PreemptIRQ) Event() Event     { return a.ID }
func (a *Vector) Event() Event         { return a.ID }
func (*NMIHandler) Event() Event       { return EvNMIHandler }

// arguments holds one of each argument list, so that tracepoints allocate nothing.
type arguments struct {
	schedSwitch SchedSwitch
	wakeup      SchedWakeup
	fork        SchedFork
	exec        SchedExec
	process     SchedProcess
	runtime     SchedStatRuntime
	migrate     SchedMigrate
	irqEntry    IRQHandlerEntry
	irqExit     IRQHandlerExit
	softirq     SoftIRQ
	sample      Sample
	hrtimer     HRTimer
	timer       Timer
	tickStop    TickStop
	alloc       SlabAlloc
	free        SlabFree
	page        Page
	sysEnter    SysEnter
	sysExit     SysExit
	work        Work
	signal      Signal
	newTask     NewTask
	rename      TaskRename
	fault       PageFaultArgs
	vector      Vector
	preemptIRQ  PreemptIRQ
	nmi         NMIHandler
	block       Block
	mmio        MMIO
}

// on reports whether somebody wants e reported.
func (c *CPU) on(e Event) bool { return c.m.enabled[e] && c.m.Hooks.Trace != nil }

// report passes tp, which is event e, to the hook.
func (c *CPU) report(e Event, tp Tracepoint) {
	c.site = c.tracePoint(e)
	c.m.Hooks.Trace(c, tp)
	c.site = 0
}

// tracePoint gives the address of e inside the innermost function.
func (c *CPU) tracePoint(e Event) uint64 {
	fs := c.Current.frames
	for n := len(fs) - 1; n >= 0; n-- {
		if !fs[n].skip {
			return c.m.kernel.Points[Point{fs[n].Func, e}]
		}
	}
	return 0
}

// Valid reports whether e is a tracepoint of this machine.
func (e Event) Valid() bool { return e > EvNone && e < NumTracepoints }

// Template is the name of the event class to which e belongs. The class's probe is
// trace_event_raw_event_TEMPLATE.
func (e Event) Template() string {
	switch e {
	case EvSchedWaking, EvSchedWakeup, EvSchedWakeupNew:
		return "sched_wakeup_template"
	case EvSchedExit, EvSchedFree:
		return "sched_process_template"
	case EvSchedStatRuntime:
		return "sched_stat_runtime"
	case EvSoftIRQRaise, EvSoftIRQEntry, EvSoftIRQExit:
		return "softirq"
	case EvHRTimerCancel, EvHRTimerExpireExit:
		return "hrtimer_class"
	case EvTimerInit, EvTimerCancel, EvTimerExpireExit:
		return "timer_class"
	case EvPageFaultUser, EvPageFaultKernel:
		return "x86_exceptions"
	case EvLocalTimerEntry, EvLocalTimerExit, EvRescheduleEntry, EvRescheduleExit,
		EvCallFunctionSingleEntry, EvCallFunctionSingleExit:
		return "x86_irq_vector"
	case EvIRQDisable, EvIRQEnable, EvPreemptDisable, EvPreemptEnable:
		return "preemptirq_template"
	case EvBlockBioQueue, EvBlockGetrq, EvBlockBackmerge:
		return "block_bio"
	case EvBlockIOStart, EvBlockRqIssue, EvBlockIODone:
		return "block_rq"
	case EvBlockRqComplete:
		return "block_rq_completion"
	case EvBlockDirtyBuffer:
		return "block_buffer"
	}
	_, name, _ := strings.Cut(tracepointNames[e], ":")
	return name
}
