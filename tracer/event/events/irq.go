package events

import "ftracelab/tracer/event"

// irqTypes are the events of the system irq.
//
// Kernel: include/trace/events/irq.h.
func irqTypes() []*event.Type {
	return []*event.Type{
		TaskletExit.Type,
		TaskletEntry.Type,
		SoftirqRaise.Type,
		SoftirqExit.Type,
		SoftirqEntry.Type,
		IRQHandlerExit.Type,
		IRQHandlerEntry.Type,
	}
}

// TaskletEntryRecord is the record of tasklet_exit and tasklet_entry.
type TaskletEntryRecord struct {
	Tasklet uint64 `c:"void * tasklet"`
	Func    uint64 `c:"void * func"`
}

// TaskletExit is irq:tasklet_exit.
var TaskletExit = event.Define[TaskletEntryRecord](151, "irq", "tasklet_exit",
	`"tasklet=%ps function=%ps", REC->tasklet, REC->func`)

// TaskletEntry is irq:tasklet_entry.
var TaskletEntry = event.Define[TaskletEntryRecord](152, "irq", "tasklet_entry",
	`"tasklet=%ps function=%ps", REC->tasklet, REC->func`)

// SoftirqEntryRecord is the record of softirq_raise, softirq_exit and
// softirq_entry.
type SoftirqEntryRecord struct {
	Vec uint32 `c:"unsigned int vec"`
}

// SoftirqRaise is irq:softirq_raise.
var SoftirqRaise = event.Define[SoftirqEntryRecord](153, "irq", "softirq_raise",
	`"vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" }, { 2, "NET_TX" }, { 3, "NET_RX" }, { 4, "BLOCK" }, { 5, "IRQ_POLL" }, { 6, "TASKLET" }, { 7, "SCHED" }, { 8, "HRTIMER" }, { 9, "RCU" })`)

// SoftirqExit is irq:softirq_exit.
var SoftirqExit = event.Define[SoftirqEntryRecord](154, "irq", "softirq_exit",
	`"vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" }, { 2, "NET_TX" }, { 3, "NET_RX" }, { 4, "BLOCK" }, { 5, "IRQ_POLL" }, { 6, "TASKLET" }, { 7, "SCHED" }, { 8, "HRTIMER" }, { 9, "RCU" })`)

// SoftirqEntry is irq:softirq_entry.
var SoftirqEntry = event.Define[SoftirqEntryRecord](155, "irq", "softirq_entry",
	`"vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" }, { 2, "NET_TX" }, { 3, "NET_RX" }, { 4, "BLOCK" }, { 5, "IRQ_POLL" }, { 6, "TASKLET" }, { 7, "SCHED" }, { 8, "HRTIMER" }, { 9, "RCU" })`)

// IRQHandlerExitRecord is the record of irq_handler_exit.
type IRQHandlerExitRecord struct {
	IRQ int32 `c:"int irq"`
	Ret int32 `c:"int ret"`
}

// IRQHandlerExit is irq:irq_handler_exit.
var IRQHandlerExit = event.Define[IRQHandlerExitRecord](156, "irq", "irq_handler_exit",
	`"irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled"`)

// IRQHandlerEntryRecord is the record of irq_handler_entry.
type IRQHandlerEntryRecord struct {
	IRQ  int32  `c:"int irq"`
	Name string `c:"__data_loc char[] name"`
}

// IRQHandlerEntry is irq:irq_handler_entry.
var IRQHandlerEntry = event.Define[IRQHandlerEntryRecord](157, "irq", "irq_handler_entry",
	`"irq=%d name=%s", REC->irq, __get_str(name)`)
