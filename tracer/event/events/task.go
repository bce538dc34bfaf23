package events

import "ftracelab/tracer/event"

// taskTypes are the events of the system task.
//
// Kernel: include/trace/events/task.h.
func taskTypes() []*event.Type {
	return []*event.Type{
		TaskRename.Type,
		TaskNewtask.Type,
	}
}

// TaskRenameRecord is the record of task_rename.
type TaskRenameRecord struct {
	PID         int32    `c:"pid_t pid"`
	Oldcomm     [16]byte `c:"char oldcomm[16]"`
	Newcomm     [16]byte `c:"char newcomm[16]"`
	OomScoreAdj int16    `c:"short oom_score_adj"`
}

// TaskRename is task:task_rename.
var TaskRename = event.Define[TaskRenameRecord](136, "task", "task_rename",
	`"pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd", REC->pid, REC->oldcomm, REC->newcomm, REC->oom_score_adj`)

// TaskNewtaskRecord is the record of task_newtask.
type TaskNewtaskRecord struct {
	PID         int32    `c:"pid_t pid"`
	Comm        [16]byte `c:"char comm[16]"`
	CloneFlags  uint64   `c:"unsigned long clone_flags"`
	OomScoreAdj int16    `c:"short oom_score_adj"`
}

// TaskNewtask is task:task_newtask.
var TaskNewtask = event.Define[TaskNewtaskRecord](137, "task", "task_newtask",
	`"pid=%d comm=%s clone_flags=%lx oom_score_adj=%hd", REC->pid, REC->comm, REC->clone_flags, REC->oom_score_adj`)
