// Package event describes trace events: what a record looks like in the ring
// buffer, how it is written and read, and how it becomes text.
//
// An event is declared once. Either in Go, as a struct whose tags are the C
// declarations ([Define]):
//
//	type schedWakeup struct {                        offset
//		Comm      [16]byte `c:"char comm[16]"`   //  8
//		PID       int32    `c:"pid_t pid"`       // 24
//		Prio      int32    `c:"int prio"`        // 28
//		TargetCPU int32    `c:"int target_cpu"`  // 32
//	}
//
// or by a kernel, as the text of events/SYSTEM/EVENT/format ([ParseFormat]).
// Both give a [Type]: id, fields with their offsets, print fmt. From it come the
// format file, the access to fields and, through package printfmt, the text;
// the Go declaration adds an encoder and a decoder that do not allocate.
//
//	record:  type flags preempt pid │ fields at their offsets │ pad │ dynamic data
//	         └── Common, 8 bytes ──┘                   ▲               ▲
//	                                   __data_loc: length<<16 │ offset ┘
//
// Package events holds the declarations of the kernel's own events. The
// examples of [Define] and [ParseFormat] show both ways.
//
// Kernel: include/trace/stages (layout, encoding), kernel/trace/trace_events.c
// (format files), kernel/trace/trace_output.c (text).
//
// Left out: big-endian and 32-bit kernels' records; longs are 8 bytes, little-endian.
package event
