package machine

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
