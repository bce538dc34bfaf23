package events

import "ftracelab/tracer/event"

// ftraceTypes are the entries of the system ftrace: what tracers and trace_marker
// write. The print fmt does not make their text in the file trace.
//
// Kernel: kernel/trace/trace_entries.h, struct definitions in kernel/trace/trace.h.
func ftraceTypes() []*event.Type {
	return []*event.Type{
		Function.Type,
		ContextSwitch.Type,
		Wakeup.Type,
		KernelStack.Type,
		Print.Type,
		Bprint.Type,
		MmiotraceRW.Type,
		MmiotraceMap.Type,
		Branch.Type,
		FuncgraphExit.Type,
		FuncgraphEntry.Type,
		UserStack.Type,
		Bputs.Type,
		Hwlat.Type,
		Osnoise.Type,
		Timerlat.Type,
		RawData.Type,
		FuncRepeats.Type,
		StackID.Type,
	}
}

// FunctionRecord is the entry of a traced function.
type FunctionRecord struct {
	IP       uint64 `c:"unsigned long ip"`
	ParentIP uint64 `c:"unsigned long parent_ip"`
}

// Function is ftrace:function.
var Function = event.Define[FunctionRecord](1, "ftrace", "function",
	`" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip`)

// ContextSwitchRecord is the record of context_switch and wakeup.
type ContextSwitchRecord struct {
	PrevPID   uint32 `c:"unsigned int prev_pid"`
	NextPID   uint32 `c:"unsigned int next_pid"`
	NextCPU   uint32 `c:"unsigned int next_cpu"`
	PrevPrio  uint8  `c:"unsigned char prev_prio"`
	PrevState uint8  `c:"unsigned char prev_state"`
	NextPrio  uint8  `c:"unsigned char next_prio"`
	NextState uint8  `c:"unsigned char next_state"`
}

// ContextSwitch is ftrace:context_switch.
var ContextSwitch = event.Define[ContextSwitchRecord](2, "ftrace", "context_switch",
	`"%u:%u:%u  ==> %u:%u:%u [%03u]", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu`)

// Wakeup is ftrace:wakeup.
var Wakeup = event.Define[ContextSwitchRecord](3, "ftrace", "wakeup",
	`"%u:%u:%u  ==+ %u:%u:%u [%03u]", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu`)

// KernelStackRecord is the kernel stack of the event before it. The format file
// shows 8 callers; a record holds Size of them, innermost first.
type KernelStackRecord struct {
	Size   int32    `c:"int size"`
	Caller []uint64 `c:"unsigned long caller[8]"`
}

// KernelStack is ftrace:kernel_stack.
var KernelStack = event.Define[KernelStackRecord](4, "ftrace", "kernel_stack",
	`"\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", (void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]`)

// PrintRecord is a text that was written to trace_marker or by trace_printk.
type PrintRecord struct {
	IP  uint64 `c:"unsigned long ip"`
	Buf string `c:"char buf[]"`
}

// Print is ftrace:print.
var Print = event.Define[PrintRecord](5, "ftrace", "print",
	`"%ps: %s", (void *)REC->ip, REC->buf`)

// BprintRecord is a trace_printk in binary form: Fmt is the address of its format, Buf
// holds its arguments.
type BprintRecord struct {
	IP  uint64   `c:"unsigned long ip"`
	Fmt uint64   `c:"const char * fmt"`
	Buf []uint32 `c:"u32 buf[]"`
}

// Bprint is ftrace:bprint.
var Bprint = event.Define[BprintRecord](6, "ftrace", "bprint",
	`"%ps: %s", (void *)REC->ip, REC->fmt`)

// MmiotraceRWRecord is a read or write of mapped device memory.
type MmiotraceRWRecord struct {
	Phys   uint64 `c:"resource_size_t phys"`
	Value  uint64 `c:"unsigned long value"`
	PC     uint64 `c:"unsigned long pc"`
	MapID  int32  `c:"int map_id"`
	Opcode uint8  `c:"unsigned char opcode"`
	Width  uint8  `c:"unsigned char width"`
}

// MmiotraceRW is ftrace:mmiotrace_rw.
var MmiotraceRW = event.Define[MmiotraceRWRecord](7, "ftrace", "mmiotrace_rw",
	`"%lx %lx %lx %d %x %x", (unsigned long)REC->phys, REC->value, REC->pc, REC->map_id, REC->opcode, REC->width`)

// MmiotraceMapRecord says that a mapping of device memory was made or removed.
type MmiotraceMapRecord struct {
	Phys   uint64 `c:"resource_size_t phys"`
	Virt   uint64 `c:"unsigned long virt"`
	Len    uint64 `c:"unsigned long len"`
	MapID  int32  `c:"int map_id"`
	Opcode uint8  `c:"unsigned char opcode"`
}

// MmiotraceMap is ftrace:mmiotrace_map.
var MmiotraceMap = event.Define[MmiotraceMapRecord](8, "ftrace", "mmiotrace_map",
	`"%lx %lx %lx %d %x", (unsigned long)REC->phys, REC->virt, REC->len, REC->map_id, REC->opcode`)

// BranchRecord is the evaluation of a likely or unlikely.
type BranchRecord struct {
	Line     uint32   `c:"unsigned int line"`
	Func     [31]byte `c:"char func[31]"`
	File     [21]byte `c:"char file[21]"`
	Correct  uint8    `c:"char correct"`
	Constant uint8    `c:"char constant"`
}

// Branch is ftrace:branch.
var Branch = event.Define[BranchRecord](9, "ftrace", "branch",
	`"%u:%s:%s (%u)%s", REC->line, REC->func, REC->file, REC->correct, REC->constant ? " CONSTANT" : ""`)

// FuncgraphExitRecord is a return, with both times in ns.
//
// Its last 16 bytes are in no format file: 6.12's struct has two further times behind
// those of the return itself, and nothing writes them.
type FuncgraphExitRecord struct {
	_        struct{} `c:"__packed"`
	Func     uint64   `c:"unsigned long func"`
	Depth    int32    `c:"int depth"`
	Overrun  uint32   `c:"unsigned int overrun"`
	Calltime uint64   `c:"unsigned long long calltime"`
	Rettime  uint64   `c:"unsigned long long rettime"`
	_        [16]byte
}

// FuncgraphExit is ftrace:funcgraph_exit.
var FuncgraphExit = event.Define[FuncgraphExitRecord](10, "ftrace", "funcgraph_exit",
	`"<-- %ps (%d) (start: %llx  end: %llx) over: %d", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth`)

// FuncgraphExitRetvalRecord is the FuncgraphExitRecord of a kernel that is built to
// record return values.
type FuncgraphExitRetvalRecord struct {
	_        struct{} `c:"__packed"`
	Func     uint64   `c:"unsigned long func"`
	Retval   uint64   `c:"unsigned long retval"`
	Depth    int32    `c:"int depth"`
	Overrun  uint32   `c:"unsigned int overrun"`
	Calltime uint64   `c:"unsigned long long calltime"`
	Rettime  uint64   `c:"unsigned long long rettime"`
	_        [16]byte
}

// FuncgraphExitRetval is ftrace:funcgraph_exit with CONFIG_FUNCTION_GRAPH_RETVAL. It
// has the id of FuncgraphExit, and only that one is in All.
var FuncgraphExitRetval = event.Define[FuncgraphExitRetvalRecord](10, "ftrace", "funcgraph_exit",
	`"<-- %ps (%d) (start: %llx  end: %llx) over: %d retval: %lx", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth, REC->retval`)

// FuncgraphEntryRecord is the entry of a function that will return.
type FuncgraphEntryRecord struct {
	_     struct{} `c:"__packed"`
	Func  uint64   `c:"unsigned long func"`
	Depth int32    `c:"int depth"`
}

// FuncgraphEntry is ftrace:funcgraph_entry.
var FuncgraphEntry = event.Define[FuncgraphEntryRecord](11, "ftrace", "funcgraph_entry",
	`"--> %ps (%d)", (void *)REC->func, REC->depth`)

// UserStackRecord is the user stack of the event before it, with a 0 behind the last
// caller.
type UserStackRecord struct {
	TGID   uint32    `c:"unsigned int tgid"`
	Caller [8]uint64 `c:"unsigned long caller[8]"`
}

// UserStack is ftrace:user_stack.
var UserStack = event.Define[UserStackRecord](12, "ftrace", "user_stack",
	`"\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", (void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]`)

// BputsRecord is a trace_printk of a constant string, which lies at the address Str.
type BputsRecord struct {
	IP  uint64 `c:"unsigned long ip"`
	Str uint64 `c:"const char * str"`
}

// Bputs is ftrace:bputs.
var Bputs = event.Define[BputsRecord](14, "ftrace", "bputs",
	`"%ps: %s", (void *)REC->ip, REC->str`)

// HwlatRecord is one sample of the hardware latency detector.
type HwlatRecord struct {
	Duration      uint64 `c:"u64 duration"`
	OuterDuration uint64 `c:"u64 outer_duration"`
	NMITotalTS    uint64 `c:"u64 nmi_total_ts"`
	TvSec         int64  `c:"s64 tv_sec"`
	TvNsec        int64  `c:"long tv_nsec"`
	NMICount      uint32 `c:"unsigned int nmi_count"`
	Seqnum        uint32 `c:"unsigned int seqnum"`
	Count         uint32 `c:"unsigned int count"`
}

// Hwlat is ftrace:hwlat.
var Hwlat = event.Define[HwlatRecord](15, "ftrace", "hwlat",
	`"cnt:%u\tts:%010llu.%010lu\tinner:%llu\touter:%llu\tcount:%d\tnmi-ts:%llu\tnmi-count:%u\n", REC->seqnum, REC->tv_sec, REC->tv_nsec, REC->duration, REC->outer_duration, REC->count, REC->nmi_total_ts, REC->nmi_count`)

// OsnoiseRecord is the summary of one osnoise period, in ns.
type OsnoiseRecord struct {
	Noise        uint64 `c:"u64 noise"`
	Runtime      uint64 `c:"u64 runtime"`
	MaxSample    uint64 `c:"u64 max_sample"`
	HwCount      uint32 `c:"unsigned int hw_count"`
	NMICount     uint32 `c:"unsigned int nmi_count"`
	IRQCount     uint32 `c:"unsigned int irq_count"`
	SoftirqCount uint32 `c:"unsigned int softirq_count"`
	ThreadCount  uint32 `c:"unsigned int thread_count"`
}

// Osnoise is ftrace:osnoise.
var Osnoise = event.Define[OsnoiseRecord](16, "ftrace", "osnoise",
	`"noise:%llu\tmax_sample:%llu\thw:%u\tnmi:%u\tirq:%u\tsoftirq:%u\tthread:%u\n", REC->noise, REC->max_sample, REC->hw_count, REC->nmi_count, REC->irq_count, REC->softirq_count, REC->thread_count`)

// TimerlatRecord is one timer latency in ns. Context tells where it was measured: 0 in
// the interrupt, 1 in the thread, 2 at the return to user space.
type TimerlatRecord struct {
	Seqnum       uint32 `c:"unsigned int seqnum"`
	Context      int32  `c:"int context"`
	TimerLatency uint64 `c:"u64 timer_latency"`
}

// Timerlat is ftrace:timerlat.
var Timerlat = event.Define[TimerlatRecord](17, "ftrace", "timerlat",
	`"seq:%u\tcontext:%d\ttimer_latency:%llu\n", REC->seqnum, REC->context, REC->timer_latency`)

// RawDataRecord is what was written to trace_marker_raw: the first 4 bytes are ID, the
// rest is Buf.
type RawDataRecord struct {
	ID  uint32 `c:"unsigned int id"`
	Buf []byte `c:"char buf[]"`
}

// RawData is ftrace:raw_data.
var RawData = event.Define[RawDataRecord](18, "ftrace", "raw_data",
	`"id:%04x %08x", REC->id, (int)REC->buf[0]`)

// FuncRepeatsRecord stands for function calls that were equal to the one before them.
type FuncRepeatsRecord struct {
	IP            uint64 `c:"unsigned long ip"`
	ParentIP      uint64 `c:"unsigned long parent_ip"`
	Count         uint16 `c:"u16 count"`
	TopDeltaTS    uint16 `c:"u16 top_delta_ts"`
	BottomDeltaTS uint32 `c:"u32 bottom_delta_ts"`
}

// FuncRepeats is ftrace:func_repeats.
var FuncRepeats = event.Define[FuncRepeatsRecord](19, "ftrace", "func_repeats",
	`" %ps <-%ps\t(repeats:%u  delta: -%llu)", (void *)REC->ip, (void *)REC->parent_ip, REC->count, (((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)`)

// StackIDRecord is the id, in stack_map, of the stack of the event before it.
type StackIDRecord struct {
	StackID int32 `c:"int stack_id"`
}

// StackID is ftrace:stack_id.
var StackID = event.Define[StackIDRecord](20, "ftrace", "stack_id",
	`"<stack_id %d>", REC->stack_id`)
