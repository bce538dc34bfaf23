package events

import "ftracelab/tracer/event"

// exceptionTypes are the events of the system exceptions.
//
// Kernel: arch/x86/include/asm/trace/exceptions.h.
func exceptionTypes() []*event.Type {
	return []*event.Type{
		PageFaultKernel.Type,
		PageFaultUser.Type,
	}
}

// PageFaultUserRecord is the record of page_fault_kernel and page_fault_user.
type PageFaultUserRecord struct {
	Address   uint64 `c:"unsigned long address"`
	IP        uint64 `c:"unsigned long ip"`
	ErrorCode uint64 `c:"unsigned long error_code"`
}

// PageFaultKernel is exceptions:page_fault_kernel.
var PageFaultKernel = event.Define[PageFaultUserRecord](122, "exceptions", "page_fault_kernel",
	`"address=%ps ip=%ps error_code=0x%lx", (void *)REC->address, (void *)REC->ip, REC->error_code`)

// PageFaultUser is exceptions:page_fault_user.
var PageFaultUser = event.Define[PageFaultUserRecord](123, "exceptions", "page_fault_user",
	`"address=%ps ip=%ps error_code=0x%lx", (void *)REC->address, (void *)REC->ip, REC->error_code`)
