package events

import "ftracelab/tracer/event"

// The first ids of the systems that Debian's kernel is built without. They lie behind
// the ids of its own events.
const (
	preemptIRQID = 1541
	osnoiseID    = preemptIRQID + 4
)

// FullID is the id of the first event in full.txt.gz, which has the events that no Go
// file declares and that only a kernel has that is built with everything.
const FullID = osnoiseID + 5

// preemptIRQTypes are the events of the system preemptirq.
//
// Kernel: include/trace/events/preemptirq.h.
func preemptIRQTypes() []*event.Type {
	return []*event.Type{PreemptEnable.Type, PreemptDisable.Type, IRQEnable.Type, IRQDisable.Type}
}

// PreemptIRQRecord tells where interrupts or preemption were switched, as offsets from
// the start of the kernel's text.
type PreemptIRQRecord struct {
	CallerOffs int32 `c:"s32 caller_offs"`
	ParentOffs int32 `c:"s32 parent_offs"`
}

const preemptIRQText = `"caller=%pS parent=%pS", (void *)((unsigned long)(_stext) + REC->caller_offs), (void *)((unsigned long)(_stext) + REC->parent_offs)`

// The events of preemptirq.
var (
	PreemptEnable  = event.Define[PreemptIRQRecord](preemptIRQID, "preemptirq", "preempt_enable", preemptIRQText)
	PreemptDisable = event.Define[PreemptIRQRecord](preemptIRQID+1, "preemptirq", "preempt_disable", preemptIRQText)
	IRQEnable      = event.Define[PreemptIRQRecord](preemptIRQID+2, "preemptirq", "irq_enable", preemptIRQText)
	IRQDisable     = event.Define[PreemptIRQRecord](preemptIRQID+3, "preemptirq", "irq_disable", preemptIRQText)
)

// osnoiseTypes are the events of the system osnoise.
//
// Kernel: include/trace/events/osnoise.h.
func osnoiseTypes() []*event.Type {
	return []*event.Type{SampleThreshold.Type, NMINoise.Type, IRQNoise.Type, SoftirqNoise.Type, ThreadNoise.Type}
}

// SampleThresholdRecord is a piece of missing time: when it began, how long it was,
// both in ns, and the number of interferences.
type SampleThresholdRecord struct {
	Start        uint64 `c:"u64 start"`
	Duration     uint64 `c:"u64 duration"`
	Interference uint64 `c:"u64 interference"`
}

// SampleThreshold is osnoise:sample_threshold.
var SampleThreshold = event.Define[SampleThresholdRecord](osnoiseID, "osnoise", "sample_threshold",
	`"start %llu.%09u duration %llu ns interference %llu", (REC->start) / 1000000000UL, (REC->start) % 1000000000UL, REC->duration, REC->interference`)

// NMINoiseRecord is the noise of an NMI, in ns.
type NMINoiseRecord struct {
	Start    uint64 `c:"u64 start"`
	Duration uint64 `c:"u64 duration"`
}

// NMINoise is osnoise:nmi_noise.
var NMINoise = event.Define[NMINoiseRecord](osnoiseID+1, "osnoise", "nmi_noise",
	`"start %llu.%09u duration %llu ns", (REC->start) / 1000000000UL, (REC->start) % 1000000000UL, REC->duration`)

// IRQNoiseRecord is the noise of an interrupt, in ns.
type IRQNoiseRecord struct {
	Start    uint64 `c:"u64 start"`
	Duration uint64 `c:"u64 duration"`
	Desc     string `c:"__data_loc char[] desc"`
	Vector   int32  `c:"int vector"`
}

// IRQNoise is osnoise:irq_noise.
var IRQNoise = event.Define[IRQNoiseRecord](osnoiseID+2, "osnoise", "irq_noise",
	`"%s:%d start %llu.%09u duration %llu ns", __get_str(desc), REC->vector, (REC->start) / 1000000000UL, (REC->start) % 1000000000UL, REC->duration`)

// SoftirqNoiseRecord is the noise of a softirq, in ns.
type SoftirqNoiseRecord struct {
	Start    uint64 `c:"u64 start"`
	Duration uint64 `c:"u64 duration"`
	Vector   int32  `c:"int vector"`
}

// SoftirqNoise is osnoise:softirq_noise.
var SoftirqNoise = event.Define[SoftirqNoiseRecord](osnoiseID+3, "osnoise", "softirq_noise",
	`"%8s:%d start %llu.%09u duration %llu ns", __print_symbolic(REC->vector, { HI_SOFTIRQ, "HI" }, { TIMER_SOFTIRQ, "TIMER" }, { NET_TX_SOFTIRQ, "NET_TX" }, { NET_RX_SOFTIRQ, "NET_RX" }, { BLOCK_SOFTIRQ, "BLOCK" }, { IRQ_POLL_SOFTIRQ, "IRQ_POLL" }, { TASKLET_SOFTIRQ, "TASKLET" }, { SCHED_SOFTIRQ, "SCHED" }, { HRTIMER_SOFTIRQ, "HRTIMER" }, { RCU_SOFTIRQ, "RCU" }), REC->vector, (REC->start) / 1000000000UL, (REC->start) % 1000000000UL, REC->duration`)

// ThreadNoiseRecord is the noise of another thread, in ns.
type ThreadNoiseRecord struct {
	Comm     [16]byte `c:"char comm[16]"`
	Start    uint64   `c:"u64 start"`
	Duration uint64   `c:"u64 duration"`
	PID      int32    `c:"pid_t pid"`
}

// ThreadNoise is osnoise:thread_noise.
var ThreadNoise = event.Define[ThreadNoiseRecord](osnoiseID+4, "osnoise", "thread_noise",
	`"%8s:%d start %llu.%09u duration %llu ns", REC->comm, REC->pid, (REC->start) / 1000000000UL, (REC->start) % 1000000000UL, REC->duration`)
