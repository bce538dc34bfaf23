package events

import "ftracelab/tracer/event"

// rawSyscallTypes are the events of the system raw_syscalls.
//
// Kernel: include/trace/events/syscalls.h.
func rawSyscallTypes() []*event.Type {
	return []*event.Type{
		SysExit.Type,
		SysEnter.Type,
	}
}

// SysExitRecord is the record of sys_exit.
type SysExitRecord struct {
	ID  int64 `c:"long id"`
	Ret int64 `c:"long ret"`
}

// SysExit is raw_syscalls:sys_exit.
var SysExit = event.Define[SysExitRecord](383, "raw_syscalls", "sys_exit",
	`"NR %ld = %ld", REC->id, REC->ret`)

// SysEnterRecord is the record of sys_enter.
type SysEnterRecord struct {
	ID   int64     `c:"long id"`
	Args [6]uint64 `c:"unsigned long args[6]"`
}

// SysEnter is raw_syscalls:sys_enter.
var SysEnter = event.Define[SysEnterRecord](384, "raw_syscalls", "sys_enter",
	`"NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)", REC->id, REC->args[0], REC->args[1], REC->args[2], REC->args[3], REC->args[4], REC->args[5]`)
