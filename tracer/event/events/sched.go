package events

import "ftracelab/tracer/event"

// schedTypes are the events of the system sched.
//
// Kernel: include/trace/events/sched.h.
func schedTypes() []*event.Type {
	return []*event.Type{
		SchedWakeIdleWithoutIPI.Type,
		SchedSkipVMANuma.Type,
		SchedSwapNuma.Type,
		SchedStickNuma.Type,
		SchedMoveNuma.Type,
		SchedProcessHang.Type,
		SchedPiSetprio.Type,
		SchedStatRuntime.Type,
		SchedStatBlocked.Type,
		SchedStatIowait.Type,
		SchedStatSleep.Type,
		SchedStatWait.Type,
		SchedPrepareExec.Type,
		SchedProcessExec.Type,
		SchedProcessFork.Type,
		SchedProcessWait.Type,
		SchedWaitTask.Type,
		SchedProcessExit.Type,
		SchedProcessFree.Type,
		SchedMigrateTask.Type,
		SchedSwitch.Type,
		SchedWakeupNew.Type,
		SchedWakeup.Type,
		SchedWaking.Type,
		SchedKthreadWorkExecuteEnd.Type,
		SchedKthreadWorkExecuteStart.Type,
		SchedKthreadWorkQueueWork.Type,
		SchedKthreadStopRet.Type,
		SchedKthreadStop.Type,
	}
}

// SchedWakeIdleWithoutIPIRecord is the record of sched_wake_idle_without_ipi.
type SchedWakeIdleWithoutIPIRecord struct {
	CPU int32 `c:"int cpu"`
}

// SchedWakeIdleWithoutIPI is sched:sched_wake_idle_without_ipi.
var SchedWakeIdleWithoutIPI = event.Define[SchedWakeIdleWithoutIPIRecord](290, "sched", "sched_wake_idle_without_ipi",
	`"cpu=%d", REC->cpu`)

// SchedSkipVMANumaRecord is the record of sched_skip_vma_numa.
type SchedSkipVMANumaRecord struct {
	NumaScanOffset uint64 `c:"unsigned long numa_scan_offset"`
	VmStart        uint64 `c:"unsigned long vm_start"`
	VmEnd          uint64 `c:"unsigned long vm_end"`
	Reason         uint32 `c:"enum numa_vmaskip_reason reason"`
}

// SchedSkipVMANuma is sched:sched_skip_vma_numa.
var SchedSkipVMANuma = event.Define[SchedSkipVMANumaRecord](291, "sched", "sched_skip_vma_numa",
	`"numa_scan_offset=%lX vm_start=%lX vm_end=%lX reason=%s", REC->numa_scan_offset, REC->vm_start, REC->vm_end, __print_symbolic(REC->reason, { 0, "unsuitable" }, { 1, "shared_ro" }, { 2, "inaccessible" }, { 3, "scan_delay" }, { 4, "pid_inactive" }, { 5, "ignore_pid_inactive" }, { 6, "seq_completed" })`)

// SchedStickNumaRecord is the record of sched_swap_numa and sched_stick_numa.
type SchedStickNumaRecord struct {
	SrcPID  int32 `c:"pid_t src_pid"`
	SrcTGID int32 `c:"pid_t src_tgid"`
	SrcNGID int32 `c:"pid_t src_ngid"`
	SrcCPU  int32 `c:"int src_cpu"`
	SrcNid  int32 `c:"int src_nid"`
	DstPID  int32 `c:"pid_t dst_pid"`
	DstTGID int32 `c:"pid_t dst_tgid"`
	DstNGID int32 `c:"pid_t dst_ngid"`
	DstCPU  int32 `c:"int dst_cpu"`
	DstNid  int32 `c:"int dst_nid"`
}

// SchedSwapNuma is sched:sched_swap_numa.
var SchedSwapNuma = event.Define[SchedStickNumaRecord](292, "sched", "sched_swap_numa",
	`"src_pid=%d src_tgid=%d src_ngid=%d src_cpu=%d src_nid=%d dst_pid=%d dst_tgid=%d dst_ngid=%d dst_cpu=%d dst_nid=%d", REC->src_pid, REC->src_tgid, REC->src_ngid, REC->src_cpu, REC->src_nid, REC->dst_pid, REC->dst_tgid, REC->dst_ngid, REC->dst_cpu, REC->dst_nid`)

// SchedStickNuma is sched:sched_stick_numa.
var SchedStickNuma = event.Define[SchedStickNumaRecord](293, "sched", "sched_stick_numa",
	`"src_pid=%d src_tgid=%d src_ngid=%d src_cpu=%d src_nid=%d dst_pid=%d dst_tgid=%d dst_ngid=%d dst_cpu=%d dst_nid=%d", REC->src_pid, REC->src_tgid, REC->src_ngid, REC->src_cpu, REC->src_nid, REC->dst_pid, REC->dst_tgid, REC->dst_ngid, REC->dst_cpu, REC->dst_nid`)

// SchedMoveNumaRecord is the record of sched_move_numa.
type SchedMoveNumaRecord struct {
	PID    int32 `c:"pid_t pid"`
	TGID   int32 `c:"pid_t tgid"`
	NGID   int32 `c:"pid_t ngid"`
	SrcCPU int32 `c:"int src_cpu"`
	SrcNid int32 `c:"int src_nid"`
	DstCPU int32 `c:"int dst_cpu"`
	DstNid int32 `c:"int dst_nid"`
}

// SchedMoveNuma is sched:sched_move_numa.
var SchedMoveNuma = event.Define[SchedMoveNumaRecord](294, "sched", "sched_move_numa",
	`"pid=%d tgid=%d ngid=%d src_cpu=%d src_nid=%d dst_cpu=%d dst_nid=%d", REC->pid, REC->tgid, REC->ngid, REC->src_cpu, REC->src_nid, REC->dst_cpu, REC->dst_nid`)

// SchedProcessHangRecord is the record of sched_process_hang.
type SchedProcessHangRecord struct {
	Comm [16]byte `c:"char comm[16]"`
	PID  int32    `c:"pid_t pid"`
}

// SchedProcessHang is sched:sched_process_hang.
var SchedProcessHang = event.Define[SchedProcessHangRecord](295, "sched", "sched_process_hang",
	`"comm=%s pid=%d", REC->comm, REC->pid`)

// SchedPiSetprioRecord is the record of sched_pi_setprio.
type SchedPiSetprioRecord struct {
	Comm    [16]byte `c:"char comm[16]"`
	PID     int32    `c:"pid_t pid"`
	Oldprio int32    `c:"int oldprio"`
	Newprio int32    `c:"int newprio"`
}

// SchedPiSetprio is sched:sched_pi_setprio.
var SchedPiSetprio = event.Define[SchedPiSetprioRecord](296, "sched", "sched_pi_setprio",
	`"comm=%s pid=%d oldprio=%d newprio=%d", REC->comm, REC->pid, REC->oldprio, REC->newprio`)

// SchedStatRuntimeRecord is the record of sched_stat_runtime.
type SchedStatRuntimeRecord struct {
	Comm    [16]byte `c:"char comm[16]"`
	PID     int32    `c:"pid_t pid"`
	Runtime uint64   `c:"u64 runtime"`
}

// SchedStatRuntime is sched:sched_stat_runtime.
var SchedStatRuntime = event.Define[SchedStatRuntimeRecord](297, "sched", "sched_stat_runtime",
	`"comm=%s pid=%d runtime=%Lu [ns]", REC->comm, REC->pid, (unsigned long long)REC->runtime`)

// SchedStatWaitRecord is the record of sched_stat_blocked, sched_stat_iowait,
// sched_stat_sleep and sched_stat_wait.
type SchedStatWaitRecord struct {
	Comm  [16]byte `c:"char comm[16]"`
	PID   int32    `c:"pid_t pid"`
	Delay uint64   `c:"u64 delay"`
}

// SchedStatBlocked is sched:sched_stat_blocked.
var SchedStatBlocked = event.Define[SchedStatWaitRecord](298, "sched", "sched_stat_blocked",
	`"comm=%s pid=%d delay=%Lu [ns]", REC->comm, REC->pid, (unsigned long long)REC->delay`)

// SchedStatIowait is sched:sched_stat_iowait.
var SchedStatIowait = event.Define[SchedStatWaitRecord](299, "sched", "sched_stat_iowait",
	`"comm=%s pid=%d delay=%Lu [ns]", REC->comm, REC->pid, (unsigned long long)REC->delay`)

// SchedStatSleep is sched:sched_stat_sleep.
var SchedStatSleep = event.Define[SchedStatWaitRecord](300, "sched", "sched_stat_sleep",
	`"comm=%s pid=%d delay=%Lu [ns]", REC->comm, REC->pid, (unsigned long long)REC->delay`)

// SchedStatWait is sched:sched_stat_wait.
var SchedStatWait = event.Define[SchedStatWaitRecord](301, "sched", "sched_stat_wait",
	`"comm=%s pid=%d delay=%Lu [ns]", REC->comm, REC->pid, (unsigned long long)REC->delay`)

// SchedPrepareExecRecord is the record of sched_prepare_exec.
type SchedPrepareExecRecord struct {
	Interp   string `c:"__data_loc char[] interp"`
	Filename string `c:"__data_loc char[] filename"`
	PID      int32  `c:"pid_t pid"`
	Comm     string `c:"__data_loc char[] comm"`
}

// SchedPrepareExec is sched:sched_prepare_exec.
var SchedPrepareExec = event.Define[SchedPrepareExecRecord](302, "sched", "sched_prepare_exec",
	`"interp=%s filename=%s pid=%d comm=%s", __get_str(interp), __get_str(filename), REC->pid, __get_str(comm)`)

// SchedProcessExecRecord is the record of sched_process_exec.
type SchedProcessExecRecord struct {
	Filename string `c:"__data_loc char[] filename"`
	PID      int32  `c:"pid_t pid"`
	OldPID   int32  `c:"pid_t old_pid"`
}

// SchedProcessExec is sched:sched_process_exec.
var SchedProcessExec = event.Define[SchedProcessExecRecord](303, "sched", "sched_process_exec",
	`"filename=%s pid=%d old_pid=%d", __get_str(filename), REC->pid, REC->old_pid`)

// SchedProcessForkRecord is the record of sched_process_fork.
type SchedProcessForkRecord struct {
	ParentComm [16]byte `c:"char parent_comm[16]"`
	ParentPID  int32    `c:"pid_t parent_pid"`
	ChildComm  [16]byte `c:"char child_comm[16]"`
	ChildPID   int32    `c:"pid_t child_pid"`
}

// SchedProcessFork is sched:sched_process_fork.
var SchedProcessFork = event.Define[SchedProcessForkRecord](304, "sched", "sched_process_fork",
	`"comm=%s pid=%d child_comm=%s child_pid=%d", REC->parent_comm, REC->parent_pid, REC->child_comm, REC->child_pid`)

// SchedProcessWaitRecord is the record of sched_process_wait.
type SchedProcessWaitRecord struct {
	Comm [16]byte `c:"char comm[16]"`
	PID  int32    `c:"pid_t pid"`
	Prio int32    `c:"int prio"`
}

// SchedProcessWait is sched:sched_process_wait.
var SchedProcessWait = event.Define[SchedProcessWaitRecord](305, "sched", "sched_process_wait",
	`"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio`)

// SchedProcessExitRecord is the record of sched_wait_task, sched_process_exit
// and sched_process_free.
type SchedProcessExitRecord struct {
	Comm [16]byte `c:"char comm[16]"`
	PID  int32    `c:"pid_t pid"`
	Prio int32    `c:"int prio"`
}

// SchedWaitTask is sched:sched_wait_task.
var SchedWaitTask = event.Define[SchedProcessExitRecord](306, "sched", "sched_wait_task",
	`"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio`)

// SchedProcessExit is sched:sched_process_exit.
var SchedProcessExit = event.Define[SchedProcessExitRecord](307, "sched", "sched_process_exit",
	`"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio`)

// SchedProcessFree is sched:sched_process_free.
var SchedProcessFree = event.Define[SchedProcessExitRecord](308, "sched", "sched_process_free",
	`"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio`)

// SchedMigrateTaskRecord is the record of sched_migrate_task.
type SchedMigrateTaskRecord struct {
	Comm    [16]byte `c:"char comm[16]"`
	PID     int32    `c:"pid_t pid"`
	Prio    int32    `c:"int prio"`
	OrigCPU int32    `c:"int orig_cpu"`
	DestCPU int32    `c:"int dest_cpu"`
}

// SchedMigrateTask is sched:sched_migrate_task.
var SchedMigrateTask = event.Define[SchedMigrateTaskRecord](309, "sched", "sched_migrate_task",
	`"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", REC->comm, REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu`)

// SchedSwitchRecord is the record of sched_switch.
type SchedSwitchRecord struct {
	PrevComm  [16]byte `c:"char prev_comm[16]"`
	PrevPID   int32    `c:"pid_t prev_pid"`
	PrevPrio  int32    `c:"int prev_prio"`
	PrevState int64    `c:"long prev_state"`
	NextComm  [16]byte `c:"char next_comm[16]"`
	NextPID   int32    `c:"pid_t next_pid"`
	NextPrio  int32    `c:"int next_prio"`
}

// SchedSwitch is sched:sched_switch.
var SchedSwitch = event.Define[SchedSwitchRecord](310, "sched", "sched_switch",
	`"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) ? "+" : "", REC->next_comm, REC->next_pid, REC->next_prio`)

// SchedWakeupRecord is the record of sched_wakeup_new, sched_wakeup and
// sched_waking.
type SchedWakeupRecord struct {
	Comm      [16]byte `c:"char comm[16]"`
	PID       int32    `c:"pid_t pid"`
	Prio      int32    `c:"int prio"`
	TargetCPU int32    `c:"int target_cpu"`
}

// SchedWakeupNew is sched:sched_wakeup_new.
var SchedWakeupNew = event.Define[SchedWakeupRecord](311, "sched", "sched_wakeup_new",
	`"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu`)

// SchedWakeup is sched:sched_wakeup.
var SchedWakeup = event.Define[SchedWakeupRecord](312, "sched", "sched_wakeup",
	`"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu`)

// SchedWaking is sched:sched_waking.
var SchedWaking = event.Define[SchedWakeupRecord](313, "sched", "sched_waking",
	`"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu`)

// SchedKthreadWorkExecuteEndRecord is the record of
// sched_kthread_work_execute_end.
type SchedKthreadWorkExecuteEndRecord struct {
	Work     uint64 `c:"void * work"`
	Function uint64 `c:"void * function"`
}

// SchedKthreadWorkExecuteEnd is sched:sched_kthread_work_execute_end.
var SchedKthreadWorkExecuteEnd = event.Define[SchedKthreadWorkExecuteEndRecord](314, "sched", "sched_kthread_work_execute_end",
	`"work struct %p: function %ps", REC->work, REC->function`)

// SchedKthreadWorkExecuteStartRecord is the record of
// sched_kthread_work_execute_start.
type SchedKthreadWorkExecuteStartRecord struct {
	Work     uint64 `c:"void * work"`
	Function uint64 `c:"void * function"`
}

// SchedKthreadWorkExecuteStart is sched:sched_kthread_work_execute_start.
var SchedKthreadWorkExecuteStart = event.Define[SchedKthreadWorkExecuteStartRecord](315, "sched", "sched_kthread_work_execute_start",
	`"work struct %p: function %ps", REC->work, REC->function`)

// SchedKthreadWorkQueueWorkRecord is the record of
// sched_kthread_work_queue_work.
type SchedKthreadWorkQueueWorkRecord struct {
	Work     uint64 `c:"void * work"`
	Function uint64 `c:"void * function"`
	Worker   uint64 `c:"void * worker"`
}

// SchedKthreadWorkQueueWork is sched:sched_kthread_work_queue_work.
var SchedKthreadWorkQueueWork = event.Define[SchedKthreadWorkQueueWorkRecord](316, "sched", "sched_kthread_work_queue_work",
	`"work struct=%p function=%ps worker=%p", REC->work, REC->function, REC->worker`)

// SchedKthreadStopRetRecord is the record of sched_kthread_stop_ret.
type SchedKthreadStopRetRecord struct {
	Ret int32 `c:"int ret"`
}

// SchedKthreadStopRet is sched:sched_kthread_stop_ret.
var SchedKthreadStopRet = event.Define[SchedKthreadStopRetRecord](317, "sched", "sched_kthread_stop_ret",
	`"ret=%d", REC->ret`)

// SchedKthreadStopRecord is the record of sched_kthread_stop.
type SchedKthreadStopRecord struct {
	Comm [16]byte `c:"char comm[16]"`
	PID  int32    `c:"pid_t pid"`
}

// SchedKthreadStop is sched:sched_kthread_stop.
var SchedKthreadStop = event.Define[SchedKthreadStopRecord](318, "sched", "sched_kthread_stop",
	`"comm=%s pid=%d", REC->comm, REC->pid`)
