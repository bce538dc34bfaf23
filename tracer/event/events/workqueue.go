package events

import "ftracelab/tracer/event"

// workqueueTypes are the events of the system workqueue.
//
// Kernel: include/trace/events/workqueue.h.
func workqueueTypes() []*event.Type {
	return []*event.Type{
		WorkqueueExecuteEnd.Type,
		WorkqueueExecuteStart.Type,
		WorkqueueActivateWork.Type,
		WorkqueueQueueWork.Type,
	}
}

// WorkqueueExecuteEndRecord is the record of workqueue_execute_end.
type WorkqueueExecuteEndRecord struct {
	Work     uint64 `c:"void * work"`
	Function uint64 `c:"void * function"`
}

// WorkqueueExecuteEnd is workqueue:workqueue_execute_end.
var WorkqueueExecuteEnd = event.Define[WorkqueueExecuteEndRecord](266, "workqueue", "workqueue_execute_end",
	`"work struct %p: function %ps", REC->work, REC->function`)

// WorkqueueExecuteStartRecord is the record of workqueue_execute_start.
type WorkqueueExecuteStartRecord struct {
	Work     uint64 `c:"void * work"`
	Function uint64 `c:"void * function"`
}

// WorkqueueExecuteStart is workqueue:workqueue_execute_start.
var WorkqueueExecuteStart = event.Define[WorkqueueExecuteStartRecord](267, "workqueue", "workqueue_execute_start",
	`"work struct %p: function %ps", REC->work, REC->function`)

// WorkqueueActivateWorkRecord is the record of workqueue_activate_work.
type WorkqueueActivateWorkRecord struct {
	Work     uint64 `c:"void * work"`
	Function uint64 `c:"void * function"`
}

// WorkqueueActivateWork is workqueue:workqueue_activate_work.
var WorkqueueActivateWork = event.Define[WorkqueueActivateWorkRecord](268, "workqueue", "workqueue_activate_work",
	`"work struct %p function=%ps ", REC->work, REC->function`)

// WorkqueueQueueWorkRecord is the record of workqueue_queue_work.
type WorkqueueQueueWorkRecord struct {
	Work      uint64 `c:"void * work"`
	Function  uint64 `c:"void * function"`
	Workqueue string `c:"__data_loc char[] workqueue"`
	ReqCPU    int32  `c:"int req_cpu"`
	CPU       int32  `c:"int cpu"`
}

// WorkqueueQueueWork is workqueue:workqueue_queue_work.
var WorkqueueQueueWork = event.Define[WorkqueueQueueWorkRecord](269, "workqueue", "workqueue_queue_work",
	`"work struct=%p function=%ps workqueue=%s req_cpu=%d cpu=%d", REC->work, REC->function, __get_str(workqueue), REC->req_cpu, REC->cpu`)
