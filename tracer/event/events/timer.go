package events

import "ftracelab/tracer/event"

// timerTypes are the events of the system timer.
//
// Kernel: include/trace/events/timer.h.
func timerTypes() []*event.Type {
	return []*event.Type{
		TickStop.Type,
		ItimerExpire.Type,
		ItimerState.Type,
		HrtimerCancel.Type,
		HrtimerExpireExit.Type,
		HrtimerExpireEntry.Type,
		HrtimerStart.Type,
		HrtimerInit.Type,
		TimerBaseIdle.Type,
		TimerCancel.Type,
		TimerExpireExit.Type,
		TimerExpireEntry.Type,
		TimerStart.Type,
		TimerInit.Type,
	}
}

// TickStopRecord is the record of tick_stop.
type TickStopRecord struct {
	Success    int32 `c:"int success"`
	Dependency int32 `c:"int dependency"`
}

// TickStop is timer:tick_stop.
var TickStop = event.Define[TickStopRecord](406, "timer", "tick_stop",
	`"success=%d dependency=%s", REC->success, __print_symbolic(REC->dependency, { 0, "NONE" }, { (1 << 0), "POSIX_TIMER" }, { (1 << 1), "PERF_EVENTS" }, { (1 << 2), "SCHED" }, { (1 << 3), "CLOCK_UNSTABLE" }, { (1 << 4), "RCU" }, { (1 << 5), "RCU_EXP" })`)

// ItimerExpireRecord is the record of itimer_expire.
type ItimerExpireRecord struct {
	Which int32  `c:"int which"`
	PID   int32  `c:"pid_t pid"`
	Now   uint64 `c:"unsigned long long now"`
}

// ItimerExpire is timer:itimer_expire.
var ItimerExpire = event.Define[ItimerExpireRecord](407, "timer", "itimer_expire",
	`"which=%d pid=%d now=%llu", REC->which, (int) REC->pid, REC->now`)

// ItimerStateRecord is the record of itimer_state.
type ItimerStateRecord struct {
	Which        int32  `c:"int which"`
	Expires      uint64 `c:"unsigned long long expires"`
	ValueSec     int64  `c:"long value_sec"`
	ValueNsec    int64  `c:"long value_nsec"`
	IntervalSec  int64  `c:"long interval_sec"`
	IntervalNsec int64  `c:"long interval_nsec"`
}

// ItimerState is timer:itimer_state.
var ItimerState = event.Define[ItimerStateRecord](408, "timer", "itimer_state",
	`"which=%d expires=%llu it_value=%ld.%06ld it_interval=%ld.%06ld", REC->which, REC->expires, REC->value_sec, REC->value_nsec / 1000L, REC->interval_sec, REC->interval_nsec / 1000L`)

// HrtimerCancelRecord is the record of hrtimer_cancel and hrtimer_expire_exit.
type HrtimerCancelRecord struct {
	Hrtimer uint64 `c:"void * hrtimer"`
}

// HrtimerCancel is timer:hrtimer_cancel.
var HrtimerCancel = event.Define[HrtimerCancelRecord](409, "timer", "hrtimer_cancel",
	`"hrtimer=%p", REC->hrtimer`)

// HrtimerExpireExit is timer:hrtimer_expire_exit.
var HrtimerExpireExit = event.Define[HrtimerCancelRecord](410, "timer", "hrtimer_expire_exit",
	`"hrtimer=%p", REC->hrtimer`)

// HrtimerExpireEntryRecord is the record of hrtimer_expire_entry.
type HrtimerExpireEntryRecord struct {
	Hrtimer  uint64 `c:"void * hrtimer"`
	Now      int64  `c:"s64 now"`
	Function uint64 `c:"void * function"`
}

// HrtimerExpireEntry is timer:hrtimer_expire_entry.
var HrtimerExpireEntry = event.Define[HrtimerExpireEntryRecord](411, "timer", "hrtimer_expire_entry",
	`"hrtimer=%p function=%ps now=%llu", REC->hrtimer, REC->function, (unsigned long long) REC->now`)

// HrtimerStartRecord is the record of hrtimer_start.
type HrtimerStartRecord struct {
	Hrtimer     uint64 `c:"void * hrtimer"`
	Function    uint64 `c:"void * function"`
	Expires     int64  `c:"s64 expires"`
	Softexpires int64  `c:"s64 softexpires"`
	Mode        uint32 `c:"enum hrtimer_mode mode"`
	WasArmed    bool   `c:"bool was_armed"`
}

// HrtimerStart is timer:hrtimer_start.
var HrtimerStart = event.Define[HrtimerStartRecord](412, "timer", "hrtimer_start",
	`"hrtimer=%p function=%ps expires=%llu softexpires=%llu mode=%s was_armed=%d", REC->hrtimer, REC->function, (unsigned long long) REC->expires, (unsigned long long) REC->softexpires, __print_symbolic(REC->mode, { HRTIMER_MODE_ABS, "ABS" }, { HRTIMER_MODE_REL, "REL" }, { HRTIMER_MODE_ABS_PINNED, "ABS|PINNED" }, { HRTIMER_MODE_REL_PINNED, "REL|PINNED" }, { HRTIMER_MODE_ABS_SOFT, "ABS|SOFT" }, { HRTIMER_MODE_REL_SOFT, "REL|SOFT" }, { HRTIMER_MODE_ABS_PINNED_SOFT, "ABS|PINNED|SOFT" }, { HRTIMER_MODE_REL_PINNED_SOFT, "REL|PINNED|SOFT" }, { HRTIMER_MODE_ABS_HARD, "ABS|HARD" }, { HRTIMER_MODE_REL_HARD, "REL|HARD" }, { HRTIMER_MODE_ABS_PINNED_HARD, "ABS|PINNED|HARD" }, { HRTIMER_MODE_REL_PINNED_HARD, "REL|PINNED|HARD" }), REC->was_armed`)

// HrtimerInitRecord is the record of hrtimer_init.
type HrtimerInitRecord struct {
	Hrtimer uint64 `c:"void * hrtimer"`
	Clockid int32  `c:"clockid_t clockid"`
	Mode    uint32 `c:"enum hrtimer_mode mode"`
}

// HrtimerInit is timer:hrtimer_init.
var HrtimerInit = event.Define[HrtimerInitRecord](413, "timer", "hrtimer_init",
	`"hrtimer=%p clockid=%s mode=%s", REC->hrtimer, __print_symbolic(REC->clockid, { 0, "CLOCK_REALTIME" }, { 1, "CLOCK_MONOTONIC" }, { 7, "CLOCK_BOOTTIME" }, { 11, "CLOCK_TAI" }), __print_symbolic(REC->mode, { HRTIMER_MODE_ABS, "ABS" }, { HRTIMER_MODE_REL, "REL" }, { HRTIMER_MODE_ABS_PINNED, "ABS|PINNED" }, { HRTIMER_MODE_REL_PINNED, "REL|PINNED" }, { HRTIMER_MODE_ABS_SOFT, "ABS|SOFT" }, { HRTIMER_MODE_REL_SOFT, "REL|SOFT" }, { HRTIMER_MODE_ABS_PINNED_SOFT, "ABS|PINNED|SOFT" }, { HRTIMER_MODE_REL_PINNED_SOFT, "REL|PINNED|SOFT" }, { HRTIMER_MODE_ABS_HARD, "ABS|HARD" }, { HRTIMER_MODE_REL_HARD, "REL|HARD" }, { HRTIMER_MODE_ABS_PINNED_HARD, "ABS|PINNED|HARD" }, { HRTIMER_MODE_REL_PINNED_HARD, "REL|PINNED|HARD" })`)

// TimerBaseIdleRecord is the record of timer_base_idle.
type TimerBaseIdleRecord struct {
	IsIdle bool   `c:"bool is_idle"`
	CPU    uint32 `c:"unsigned int cpu"`
}

// TimerBaseIdle is timer:timer_base_idle.
var TimerBaseIdle = event.Define[TimerBaseIdleRecord](414, "timer", "timer_base_idle",
	`"is_idle=%d cpu=%d", REC->is_idle, REC->cpu`)

// TimerCancelRecord is the record of timer_cancel, timer_expire_exit and
// timer_init.
type TimerCancelRecord struct {
	Timer uint64 `c:"void * timer"`
}

// TimerCancel is timer:timer_cancel.
var TimerCancel = event.Define[TimerCancelRecord](415, "timer", "timer_cancel",
	`"timer=%p", REC->timer`)

// TimerExpireExit is timer:timer_expire_exit.
var TimerExpireExit = event.Define[TimerCancelRecord](416, "timer", "timer_expire_exit",
	`"timer=%p", REC->timer`)

// TimerExpireEntryRecord is the record of timer_expire_entry.
type TimerExpireEntryRecord struct {
	Timer    uint64 `c:"void * timer"`
	Now      uint64 `c:"unsigned long now"`
	Function uint64 `c:"void * function"`
	Baseclk  uint64 `c:"unsigned long baseclk"`
}

// TimerExpireEntry is timer:timer_expire_entry.
var TimerExpireEntry = event.Define[TimerExpireEntryRecord](417, "timer", "timer_expire_entry",
	`"timer=%p function=%ps now=%lu baseclk=%lu", REC->timer, REC->function, REC->now, REC->baseclk`)

// TimerStartRecord is the record of timer_start.
type TimerStartRecord struct {
	Timer        uint64 `c:"void * timer"`
	Function     uint64 `c:"void * function"`
	Expires      uint64 `c:"unsigned long expires"`
	BucketExpiry uint64 `c:"unsigned long bucket_expiry"`
	Now          uint64 `c:"unsigned long now"`
	Flags        uint32 `c:"unsigned int flags"`
}

// TimerStart is timer:timer_start.
var TimerStart = event.Define[TimerStartRecord](418, "timer", "timer_start",
	`"timer=%p function=%ps expires=%lu [timeout=%ld] bucket_expiry=%lu cpu=%u idx=%u flags=%s", REC->timer, REC->function, REC->expires, (long)REC->expires - REC->now, REC->bucket_expiry, REC->flags & 0x0003FFFF, REC->flags >> 22, __print_flags(REC->flags & (0x00040000 | 0x00080000 | 0x00100000 | 0x00200000), "|", { 0x00040000, "M" }, { 0x00080000, "D" }, { 0x00100000, "P" }, { 0x00200000, "I" })`)

// TimerInit is timer:timer_init.
var TimerInit = event.Define[TimerCancelRecord](419, "timer", "timer_init",
	`"timer=%p", REC->timer`)
