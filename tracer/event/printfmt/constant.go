package printfmt

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:generate go run ftracelab/internal/facts enums .

// constant gives the value of an enum constant that 6.12's print fmts use by
// name (their headers do not export it with TRACE_DEFINE_ENUM).
func constant(name string) (uint64, bool) {
	v, ok := constants[name]
	if !ok {
		v, ok = enumerated()[name]
	}
	return v, ok
}

//go:embed enums.txt
var enumsText string

// enumerated reads enums.txt, which has a line NAME VALUE for each constant.
var enumerated = sync.OnceValue(func() map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(enumsText) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			values[name] = uint64(v)
		}
	}
	return values
})

var constants = map[string]uint64{
	// enum hrtimer_mode, include/linux/hrtimer.h
	"HRTIMER_MODE_ABS": 0, "HRTIMER_MODE_REL": 1,
	"HRTIMER_MODE_ABS_PINNED": 2, "HRTIMER_MODE_REL_PINNED": 3,
	"HRTIMER_MODE_ABS_SOFT": 4, "HRTIMER_MODE_REL_SOFT": 5,
	"HRTIMER_MODE_ABS_PINNED_SOFT": 6, "HRTIMER_MODE_REL_PINNED_SOFT": 7,
	"HRTIMER_MODE_ABS_HARD": 8, "HRTIMER_MODE_REL_HARD": 9,
	"HRTIMER_MODE_ABS_PINNED_HARD": 10, "HRTIMER_MODE_REL_PINNED_HARD": 11,

	// softirq vectors, include/linux/interrupt.h
	"HI_SOFTIRQ": 0, "TIMER_SOFTIRQ": 1, "NET_TX_SOFTIRQ": 2, "NET_RX_SOFTIRQ": 3, "BLOCK_SOFTIRQ": 4,
	"IRQ_POLL_SOFTIRQ": 5, "TASKLET_SOFTIRQ": 6, "SCHED_SOFTIRQ": 7, "HRTIMER_SOFTIRQ": 8, "RCU_SOFTIRQ": 9,

	// TCP states, include/net/tcp_states.h
	"TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4, "TCP_FIN_WAIT2": 5, "TCP_TIME_WAIT": 6,
	"TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8, "TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11, "TCP_NEW_SYN_RECV": 12,

	// I/O priority classes, include/uapi/linux/ioprio.h
	"IOPRIO_CLASS_NONE": 0, "IOPRIO_CLASS_RT": 1, "IOPRIO_CLASS_BE": 2, "IOPRIO_CLASS_IDLE": 3, "IOPRIO_CLASS_INVALID": 7,

	// include/linux/pm_qos.h
	"PM_QOS_ADD_REQ": 0, "PM_QOS_UPDATE_REQ": 1, "PM_QOS_REMOVE_REQ": 2,
	"DEV_PM_QOS_RESUME_LATENCY": 1, "DEV_PM_QOS_LATENCY_TOLERANCE": 2, "DEV_PM_QOS_FLAGS": 5,

	// enum vmscan_throttle_state, include/linux/mmzone.h
	"VMSCAN_THROTTLE_WRITEBACK": 0, "VMSCAN_THROTTLE_ISOLATED": 1, "VMSCAN_THROTTLE_NOPROGRESS": 2, "VMSCAN_THROTTLE_CONGESTED": 3,

	// enum fault_flag and enum vm_fault_reason, include/linux/mm_types.h
	"FAULT_FLAG_WRITE": 1 << 0, "FAULT_FLAG_MKWRITE": 1 << 1, "FAULT_FLAG_ALLOW_RETRY": 1 << 2, "FAULT_FLAG_RETRY_NOWAIT": 1 << 3,
	"FAULT_FLAG_KILLABLE": 1 << 4, "FAULT_FLAG_TRIED": 1 << 5, "FAULT_FLAG_USER": 1 << 6, "FAULT_FLAG_REMOTE": 1 << 7,
	"FAULT_FLAG_INSTRUCTION": 1 << 8, "FAULT_FLAG_INTERRUPTIBLE": 1 << 9, "FAULT_FLAG_VMA_LOCK": 1 << 12,
	"VM_FAULT_OOM": 0x1, "VM_FAULT_SIGBUS": 0x2, "VM_FAULT_MAJOR": 0x4, "VM_FAULT_HWPOISON": 0x10, "VM_FAULT_HWPOISON_LARGE": 0x20,
	"VM_FAULT_SIGSEGV": 0x40, "VM_FAULT_NOPAGE": 0x100, "VM_FAULT_LOCKED": 0x200, "VM_FAULT_RETRY": 0x400, "VM_FAULT_FALLBACK": 0x800,
	"VM_FAULT_DONE_COW": 0x1000, "VM_FAULT_NEEDDSYNC": 0x2000, "VM_FAULT_COMPLETED": 0x4000,
}
