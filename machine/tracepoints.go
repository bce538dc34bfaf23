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

// tracepoint is a row of the table of tracepoints.
type tracepoint struct {
	name  string // "system:event"
	class string // DECLARE_EVENT_CLASS; empty if the event is the only one of its class
	// perform does what happens at an OpTrace step with the tracepoint, and reports it
	// if somebody listens. It is nil for a tracepoint that another step of the machine
	// reports.
	perform func(c *CPU, t *Task, a *activation, op *Op)
}

// tracepoints is the table of tracepoints. A machine has a pointer to it.
var tracepoints = [NumTracepoints]tracepoint{
	EvNone:                    {"", "", func(*CPU, *Task, *activation, *Op) {}}, // a step that only takes time
	EvSchedSwitch:             {"sched:sched_switch", "", (*CPU).performSwitch},
	EvSchedWaking:             {"sched:sched_waking", "sched_wakeup_template", (*CPU).performWaking},
	EvSchedWakeup:             {"sched:sched_wakeup", "sched_wakeup_template", (*CPU).performWakeup},
	EvSchedWakeupNew:          {"sched:sched_wakeup_new", "sched_wakeup_template", (*CPU).performWakeupNew},
	EvSchedFork:               {"sched:sched_process_fork", "", (*CPU).performInWorkload},
	EvSchedExec:               {"sched:sched_process_exec", "", (*CPU).performInWorkload},
	EvSchedExit:               {"sched:sched_process_exit", "sched_process_template", (*CPU).performExit},
	EvSchedFree:               {"sched:sched_process_free", "sched_process_template", (*CPU).performFree},
	EvSchedWait:               {"sched:sched_process_wait", "", (*CPU).performWait},
	EvSchedStatRuntime:        {"sched:sched_stat_runtime", "sched_stat_runtime", (*CPU).performRuntime},
	EvSchedMigrate:            {"sched:sched_migrate_task", "", nil},
	EvIRQHandlerEntry:         {"irq:irq_handler_entry", "", (*CPU).performIRQEntry},
	EvIRQHandlerExit:          {"irq:irq_handler_exit", "", (*CPU).performIRQExit},
	EvSoftIRQRaise:            {"irq:softirq_raise", "softirq", (*CPU).performSoftIRQ},
	EvSoftIRQEntry:            {"irq:softirq_entry", "softirq", (*CPU).performSoftIRQ},
	EvSoftIRQExit:             {"irq:softirq_exit", "softirq", (*CPU).performSoftIRQ},
	EvHRTimerInit:             {"timer:hrtimer_init", "", (*CPU).performHRTimer},
	EvHRTimerStart:            {"timer:hrtimer_start", "", (*CPU).performHRTimer},
	EvHRTimerCancel:           {"timer:hrtimer_cancel", "hrtimer_class", (*CPU).performHRTimer},
	EvHRTimerExpireEntry:      {"timer:hrtimer_expire_entry", "", (*CPU).performHRTimer},
	EvHRTimerExpireExit:       {"timer:hrtimer_expire_exit", "hrtimer_class", (*CPU).performHRTimer},
	EvTimerInit:               {"timer:timer_init", "timer_class", (*CPU).performTimer},
	EvTimerStart:              {"timer:timer_start", "", (*CPU).performTimer},
	EvTimerCancel:             {"timer:timer_cancel", "timer_class", (*CPU).performTimer},
	EvTimerExpireEntry:        {"timer:timer_expire_entry", "", (*CPU).performTimer},
	EvTimerExpireExit:         {"timer:timer_expire_exit", "timer_class", (*CPU).performTimer},
	EvTickStop:                {"timer:tick_stop", "", (*CPU).performTickStop},
	EvKmalloc:                 {"kmem:kmalloc", "", (*CPU).performAlloc},
	EvKfree:                   {"kmem:kfree", "", (*CPU).performSlabFree},
	EvKmemCacheAlloc:          {"kmem:kmem_cache_alloc", "", (*CPU).performAlloc},
	EvKmemCacheFree:           {"kmem:kmem_cache_free", "", (*CPU).performSlabFree},
	EvPageAlloc:               {"kmem:mm_page_alloc", "", (*CPU).performPage},
	EvPageFree:                {"kmem:mm_page_free", "", (*CPU).performPage},
	EvSysEnter:                {"raw_syscalls:sys_enter", "", (*CPU).performSysEnter},
	EvSysExit:                 {"raw_syscalls:sys_exit", "", (*CPU).performSysExit},
	EvQueueWork:               {"workqueue:workqueue_queue_work", "", (*CPU).performWork},
	EvActivateWork:            {"workqueue:workqueue_activate_work", "", (*CPU).performWork},
	EvWorkStart:               {"workqueue:workqueue_execute_start", "", (*CPU).performWork},
	EvWorkEnd:                 {"workqueue:workqueue_execute_end", "", (*CPU).performWork},
	EvSignalGenerate:          {"signal:signal_generate", "", (*CPU).performSignal},
	EvSignalDeliver:           {"signal:signal_deliver", "", (*CPU).performSignal},
	EvNewTask:                 {"task:task_newtask", "", nil},
	EvTaskRename:              {"task:task_rename", "", nil},
	EvPageFaultUser:           {"exceptions:page_fault_user", "x86_exceptions", (*CPU).performFault},
	EvPageFaultKernel:         {"exceptions:page_fault_kernel", "x86_exceptions", (*CPU).performFault},
	EvLocalTimerEntry:         {"irq_vectors:local_timer_entry", "x86_irq_vector", performVector(localTimerVector)},
	EvLocalTimerExit:          {"irq_vectors:local_timer_exit", "x86_irq_vector", performVector(localTimerVector)},
	EvRescheduleEntry:         {"irq_vectors:reschedule_entry", "x86_irq_vector", performVector(rescheduleVector)},
	EvRescheduleExit:          {"irq_vectors:reschedule_exit", "x86_irq_vector", performVector(rescheduleVector)},
	EvCallFunctionSingleEntry: {"irq_vectors:call_function_single_entry", "x86_irq_vector", performVector(callFunctionSingleVector)},
	EvCallFunctionSingleExit:  {"irq_vectors:call_function_single_exit", "x86_irq_vector", performVector(callFunctionSingleVector)},
	EvIRQDisable:              {"preemptirq:irq_disable", "preemptirq_template", nil},
	EvIRQEnable:               {"preemptirq:irq_enable", "preemptirq_template", nil},
	EvPreemptDisable:          {"preemptirq:preempt_disable", "preemptirq_template", nil},
	EvPreemptEnable:           {"preemptirq:preempt_enable", "preemptirq_template", nil},
	EvNMIHandler:              {"nmi:nmi_handler", "", (*CPU).performNMI},
	EvBlockBioQueue:           {"block:block_bio_queue", "block_bio", (*CPU).performBlock},
	EvBlockGetrq:              {"block:block_getrq", "block_bio", (*CPU).performBlock},
	EvBlockIOStart:            {"block:block_io_start", "block_rq", (*CPU).performBlock},
	EvBlockBackmerge:          {"block:block_bio_backmerge", "block_bio", (*CPU).performBlock},
	EvBlockPlug:               {"block:block_plug", "", (*CPU).performBlock},
	EvBlockUnplug:             {"block:block_unplug", "", (*CPU).performBlock},
	EvBlockRqIssue:            {"block:block_rq_issue", "block_rq", (*CPU).performBlock},
	EvBlockRqComplete:         {"block:block_rq_complete", "block_rq_completion", (*CPU).performBlock},
	EvBlockIODone:             {"block:block_io_done", "block_rq", (*CPU).performBlock},
	EvBlockDirtyBuffer:        {"block:block_dirty_buffer", "block_buffer", (*CPU).performBlock},
	EvSampleFooBar:            {"sample-trace:foo_bar", "", (*CPU).performSample},
	EvSampleTemplateSimple:    {"sample-trace:foo_with_template_simple", "", (*CPU).performSample},
	EvSampleFooBarCond:        {"sample-trace:foo_bar_with_cond", "", (*CPU).performSample},
	EvSampleTemplateCond:      {"sample-trace:foo_with_template_cond", "", (*CPU).performSample},
	EvSampleTemplatePrint:     {"sample-trace:foo_with_template_print", "", (*CPU).performSample},
	EvSampleFooRelLoc:         {"sample-trace:foo_rel_loc", "", (*CPU).performSample},
}

// TracepointName is "system:event", empty for EvNone.
func (e Event) TracepointName() string { return tracepoints[e].name }

// Tracepoints lists the names of all tracepoints the machine has.
func Tracepoints() (names []string) {
	for _, p := range tracepoints[1:] {
		names = append(names, p.name)
	}
	return names
}

// Enable switches a tracepoint such as "sched:sched_switch" on or off. A tracepoint
// that is off only costs a comparison.
//
// The error names a tracepoint that the machine does not have.
func (m *Machine) Enable(name string, on bool) error {
	known := m.listen(name, on)
	for e := range tracepoints {
		if tracepoints[e].name == name && e != int(EvNone) {
			m.enabled[e] = on
			m.watched = m.enabled[EvIRQDisable] || m.enabled[EvIRQEnable] || m.enabled[EvPreemptDisable] || m.enabled[EvPreemptEnable]
			return nil
		}
	}
	if known {
		return nil
	}
	return fmt.Errorf("machine: no tracepoint %q", name)
}

// Enabled reports whether a tracepoint is on.
func (m *Machine) Enabled(e Event) bool { return m.enabled[e] }

func (m *Machine) syscallsTraced() bool { return m.enabled[EvSysEnter] || m.enabled[EvSysExit] }

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
	if class := tracepoints[e].class; class != "" {
		return class
	}
	_, name, _ := strings.Cut(tracepoints[e].name, ":")
	return name
}
