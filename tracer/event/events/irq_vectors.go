package events

import "ftracelab/tracer/event"

// irqVectorTypes are the events of the system irq_vectors.
//
// Kernel: arch/x86/include/asm/trace/irq_vectors.h.
func irqVectorTypes() []*event.Type {
	return []*event.Type{
		VectorFreeMoved.Type,
		VectorSetup.Type,
		VectorTeardown.Type,
		VectorDeactivate.Type,
		VectorActivate.Type,
		VectorAllocManaged.Type,
		VectorAlloc.Type,
		VectorReserve.Type,
		VectorReserveManaged.Type,
		VectorClear.Type,
		VectorUpdate.Type,
		VectorConfig.Type,
		ThermalAPICExit.Type,
		ThermalAPICEntry.Type,
		DeferredErrorAPICExit.Type,
		DeferredErrorAPICEntry.Type,
		ThresholdAPICExit.Type,
		ThresholdAPICEntry.Type,
		CallFunctionSingleExit.Type,
		CallFunctionSingleEntry.Type,
		CallFunctionExit.Type,
		CallFunctionEntry.Type,
		RescheduleExit.Type,
		RescheduleEntry.Type,
		IRQWorkExit.Type,
		IRQWorkEntry.Type,
		X86PlatformIPIExit.Type,
		X86PlatformIPIEntry.Type,
		ErrorAPICExit.Type,
		ErrorAPICEntry.Type,
		SpuriousAPICExit.Type,
		SpuriousAPICEntry.Type,
		LocalTimerExit.Type,
		LocalTimerEntry.Type,
	}
}

// VectorFreeMovedRecord is the record of vector_free_moved.
type VectorFreeMovedRecord struct {
	IRQ       uint32 `c:"unsigned int irq"`
	CPU       uint32 `c:"unsigned int cpu"`
	Vector    uint32 `c:"unsigned int vector"`
	IsManaged bool   `c:"bool is_managed"`
}

// VectorFreeMoved is irq_vectors:vector_free_moved.
var VectorFreeMoved = event.Define[VectorFreeMovedRecord](59, "irq_vectors", "vector_free_moved",
	`"irq=%u cpu=%u vector=%u is_managed=%d", REC->irq, REC->cpu, REC->vector, REC->is_managed`)

// VectorSetupRecord is the record of vector_setup.
type VectorSetupRecord struct {
	IRQ      uint32 `c:"unsigned int irq"`
	IsLegacy bool   `c:"bool is_legacy"`
	Ret      int32  `c:"int ret"`
}

// VectorSetup is irq_vectors:vector_setup.
var VectorSetup = event.Define[VectorSetupRecord](60, "irq_vectors", "vector_setup",
	`"irq=%u is_legacy=%d ret=%d", REC->irq, REC->is_legacy, REC->ret`)

// VectorTeardownRecord is the record of vector_teardown.
type VectorTeardownRecord struct {
	IRQ         uint32 `c:"unsigned int irq"`
	IsManaged   bool   `c:"bool is_managed"`
	HasReserved bool   `c:"bool has_reserved"`
}

// VectorTeardown is irq_vectors:vector_teardown.
var VectorTeardown = event.Define[VectorTeardownRecord](61, "irq_vectors", "vector_teardown",
	`"irq=%u is_managed=%d has_reserved=%d", REC->irq, REC->is_managed, REC->has_reserved`)

// VectorActivateRecord is the record of vector_deactivate and vector_activate.
type VectorActivateRecord struct {
	IRQ        uint32 `c:"unsigned int irq"`
	IsManaged  bool   `c:"bool is_managed"`
	CanReserve bool   `c:"bool can_reserve"`
	Reserve    bool   `c:"bool reserve"`
}

// VectorDeactivate is irq_vectors:vector_deactivate.
var VectorDeactivate = event.Define[VectorActivateRecord](62, "irq_vectors", "vector_deactivate",
	`"irq=%u is_managed=%d can_reserve=%d reserve=%d", REC->irq, REC->is_managed, REC->can_reserve, REC->reserve`)

// VectorActivate is irq_vectors:vector_activate.
var VectorActivate = event.Define[VectorActivateRecord](63, "irq_vectors", "vector_activate",
	`"irq=%u is_managed=%d can_reserve=%d reserve=%d", REC->irq, REC->is_managed, REC->can_reserve, REC->reserve`)

// VectorAllocManagedRecord is the record of vector_alloc_managed.
type VectorAllocManagedRecord struct {
	IRQ    uint32 `c:"unsigned int irq"`
	Vector uint32 `c:"unsigned int vector"`
	Ret    int32  `c:"int ret"`
}

// VectorAllocManaged is irq_vectors:vector_alloc_managed.
var VectorAllocManaged = event.Define[VectorAllocManagedRecord](64, "irq_vectors", "vector_alloc_managed",
	`"irq=%u vector=%u ret=%d", REC->irq, REC->vector, REC->ret`)

// VectorAllocRecord is the record of vector_alloc.
type VectorAllocRecord struct {
	IRQ      uint32 `c:"unsigned int irq"`
	Vector   uint32 `c:"unsigned int vector"`
	Reserved bool   `c:"bool reserved"`
	Ret      int32  `c:"int ret"`
}

// VectorAlloc is irq_vectors:vector_alloc.
var VectorAlloc = event.Define[VectorAllocRecord](65, "irq_vectors", "vector_alloc",
	`"irq=%u vector=%u reserved=%d ret=%d", REC->irq, REC->vector, REC->reserved, REC->ret`)

// VectorReserveRecord is the record of vector_reserve and
// vector_reserve_managed.
type VectorReserveRecord struct {
	IRQ uint32 `c:"unsigned int irq"`
	Ret int32  `c:"int ret"`
}

// VectorReserve is irq_vectors:vector_reserve.
var VectorReserve = event.Define[VectorReserveRecord](66, "irq_vectors", "vector_reserve",
	`"irq=%u ret=%d", REC->irq, REC->ret`)

// VectorReserveManaged is irq_vectors:vector_reserve_managed.
var VectorReserveManaged = event.Define[VectorReserveRecord](67, "irq_vectors", "vector_reserve_managed",
	`"irq=%u ret=%d", REC->irq, REC->ret`)

// VectorClearRecord is the record of vector_clear and vector_update.
type VectorClearRecord struct {
	IRQ        uint32 `c:"unsigned int irq"`
	Vector     uint32 `c:"unsigned int vector"`
	CPU        uint32 `c:"unsigned int cpu"`
	PrevVector uint32 `c:"unsigned int prev_vector"`
	PrevCPU    uint32 `c:"unsigned int prev_cpu"`
}

// VectorClear is irq_vectors:vector_clear.
var VectorClear = event.Define[VectorClearRecord](68, "irq_vectors", "vector_clear",
	`"irq=%u vector=%u cpu=%u prev_vector=%u prev_cpu=%u", REC->irq, REC->vector, REC->cpu, REC->prev_vector, REC->prev_cpu`)

// VectorUpdate is irq_vectors:vector_update.
var VectorUpdate = event.Define[VectorClearRecord](69, "irq_vectors", "vector_update",
	`"irq=%u vector=%u cpu=%u prev_vector=%u prev_cpu=%u", REC->irq, REC->vector, REC->cpu, REC->prev_vector, REC->prev_cpu`)

// VectorConfigRecord is the record of vector_config.
type VectorConfigRecord struct {
	IRQ      uint32 `c:"unsigned int irq"`
	Vector   uint32 `c:"unsigned int vector"`
	CPU      uint32 `c:"unsigned int cpu"`
	Apicdest uint32 `c:"unsigned int apicdest"`
}

// VectorConfig is irq_vectors:vector_config.
var VectorConfig = event.Define[VectorConfigRecord](70, "irq_vectors", "vector_config",
	`"irq=%u vector=%u cpu=%u apicdest=0x%08x", REC->irq, REC->vector, REC->cpu, REC->apicdest`)

// LocalTimerEntryRecord is the record of every interrupt vector's entry and
// exit.
type LocalTimerEntryRecord struct {
	Vector int32 `c:"int vector"`
}

// ThermalAPICExit is irq_vectors:thermal_apic_exit.
var ThermalAPICExit = event.Define[LocalTimerEntryRecord](71, "irq_vectors", "thermal_apic_exit",
	`"vector=%d", REC->vector`)

// ThermalAPICEntry is irq_vectors:thermal_apic_entry.
var ThermalAPICEntry = event.Define[LocalTimerEntryRecord](72, "irq_vectors", "thermal_apic_entry",
	`"vector=%d", REC->vector`)

// DeferredErrorAPICExit is irq_vectors:deferred_error_apic_exit.
var DeferredErrorAPICExit = event.Define[LocalTimerEntryRecord](73, "irq_vectors", "deferred_error_apic_exit",
	`"vector=%d", REC->vector`)

// DeferredErrorAPICEntry is irq_vectors:deferred_error_apic_entry.
var DeferredErrorAPICEntry = event.Define[LocalTimerEntryRecord](74, "irq_vectors", "deferred_error_apic_entry",
	`"vector=%d", REC->vector`)

// ThresholdAPICExit is irq_vectors:threshold_apic_exit.
var ThresholdAPICExit = event.Define[LocalTimerEntryRecord](75, "irq_vectors", "threshold_apic_exit",
	`"vector=%d", REC->vector`)

// ThresholdAPICEntry is irq_vectors:threshold_apic_entry.
var ThresholdAPICEntry = event.Define[LocalTimerEntryRecord](76, "irq_vectors", "threshold_apic_entry",
	`"vector=%d", REC->vector`)

// CallFunctionSingleExit is irq_vectors:call_function_single_exit.
var CallFunctionSingleExit = event.Define[LocalTimerEntryRecord](77, "irq_vectors", "call_function_single_exit",
	`"vector=%d", REC->vector`)

// CallFunctionSingleEntry is irq_vectors:call_function_single_entry.
var CallFunctionSingleEntry = event.Define[LocalTimerEntryRecord](78, "irq_vectors", "call_function_single_entry",
	`"vector=%d", REC->vector`)

// CallFunctionExit is irq_vectors:call_function_exit.
var CallFunctionExit = event.Define[LocalTimerEntryRecord](79, "irq_vectors", "call_function_exit",
	`"vector=%d", REC->vector`)

// CallFunctionEntry is irq_vectors:call_function_entry.
var CallFunctionEntry = event.Define[LocalTimerEntryRecord](80, "irq_vectors", "call_function_entry",
	`"vector=%d", REC->vector`)

// RescheduleExit is irq_vectors:reschedule_exit.
var RescheduleExit = event.Define[LocalTimerEntryRecord](81, "irq_vectors", "reschedule_exit",
	`"vector=%d", REC->vector`)

// RescheduleEntry is irq_vectors:reschedule_entry.
var RescheduleEntry = event.Define[LocalTimerEntryRecord](82, "irq_vectors", "reschedule_entry",
	`"vector=%d", REC->vector`)

// IRQWorkExit is irq_vectors:irq_work_exit.
var IRQWorkExit = event.Define[LocalTimerEntryRecord](83, "irq_vectors", "irq_work_exit",
	`"vector=%d", REC->vector`)

// IRQWorkEntry is irq_vectors:irq_work_entry.
var IRQWorkEntry = event.Define[LocalTimerEntryRecord](84, "irq_vectors", "irq_work_entry",
	`"vector=%d", REC->vector`)

// X86PlatformIPIExit is irq_vectors:x86_platform_ipi_exit.
var X86PlatformIPIExit = event.Define[LocalTimerEntryRecord](85, "irq_vectors", "x86_platform_ipi_exit",
	`"vector=%d", REC->vector`)

// X86PlatformIPIEntry is irq_vectors:x86_platform_ipi_entry.
var X86PlatformIPIEntry = event.Define[LocalTimerEntryRecord](86, "irq_vectors", "x86_platform_ipi_entry",
	`"vector=%d", REC->vector`)

// ErrorAPICExit is irq_vectors:error_apic_exit.
var ErrorAPICExit = event.Define[LocalTimerEntryRecord](87, "irq_vectors", "error_apic_exit",
	`"vector=%d", REC->vector`)

// ErrorAPICEntry is irq_vectors:error_apic_entry.
var ErrorAPICEntry = event.Define[LocalTimerEntryRecord](88, "irq_vectors", "error_apic_entry",
	`"vector=%d", REC->vector`)

// SpuriousAPICExit is irq_vectors:spurious_apic_exit.
var SpuriousAPICExit = event.Define[LocalTimerEntryRecord](89, "irq_vectors", "spurious_apic_exit",
	`"vector=%d", REC->vector`)

// SpuriousAPICEntry is irq_vectors:spurious_apic_entry.
var SpuriousAPICEntry = event.Define[LocalTimerEntryRecord](90, "irq_vectors", "spurious_apic_entry",
	`"vector=%d", REC->vector`)

// LocalTimerExit is irq_vectors:local_timer_exit.
var LocalTimerExit = event.Define[LocalTimerEntryRecord](91, "irq_vectors", "local_timer_exit",
	`"vector=%d", REC->vector`)

// LocalTimerEntry is irq_vectors:local_timer_entry.
var LocalTimerEntry = event.Define[LocalTimerEntryRecord](92, "irq_vectors", "local_timer_entry",
	`"vector=%d", REC->vector`)
