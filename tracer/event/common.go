package event

import "encoding/binary"

// Common is the header with which every record begins.
//
// Kernel: struct trace_entry, include/linux/trace_events.h.
type Common struct {
	Type         uint16 // the event's id
	Flags        uint8  // TRACE_FLAG_…: interrupts off, need-resched, contexts
	PreemptCount uint8  // low 4 bits: preempt depth, high 4 bits: migrate-disable depth
	PID          int32  // the task that was running
}

// CommonSize is the size of Common in a record, in bytes.
const CommonSize = 8

// Put writes c into data[:CommonSize].
func (c Common) Put(data []byte) {
	_ = data[CommonSize-1]
	binary.LittleEndian.PutUint16(data, c.Type)
	data[2], data[3] = c.Flags, c.PreemptCount
	binary.LittleEndian.PutUint32(data[4:], uint32(c.PID))
}

// ParseCommon reads the header of a record. For a record shorter than
// CommonSize, which no ring buffer holds, it returns the zero header.
func ParseCommon(data []byte) Common {
	if len(data) < CommonSize {
		return Common{}
	}
	return Common{
		Type:         binary.LittleEndian.Uint16(data),
		Flags:        data[2],
		PreemptCount: data[3],
		PID:          int32(binary.LittleEndian.Uint32(data[4:])),
	}
}

// usualCommon are the fields of Common, as every format file shows them. All types share
// them.
var usualCommon = [...]Field{
	{Name: "common_type", Decl: "unsigned short common_type", Offset: 0, Size: 2},
	{Name: "common_flags", Decl: "unsigned char common_flags", Offset: 2, Size: 1},
	{Name: "common_preempt_count", Decl: "unsigned char common_preempt_count", Offset: 3, Size: 1},
	{Name: "common_pid", Decl: "int common_pid", Offset: 4, Size: 4, Signed: true},
}

// commonFields gives the first n of them; who appends to them gets a copy.
func commonFields(n int) []Field { return usualCommon[:n:n] }

// Bits of Flags.
//
// Kernel: enum trace_flag_type, include/linux/trace_events.h.
const (
	FlagIRQsOff        = 0x01
	FlagNeedResched    = 0x04
	FlagHardIRQ        = 0x08
	FlagSoftIRQ        = 0x10
	FlagPreemptResched = 0x20
	FlagNMI            = 0x40
	FlagBHOff          = 0x80
)

// Unpreemptible gives c with the preempt depth increased by one. It serves where the
// tracer, or what calls it, has switched preemption off and the machine does not know
// of that.
func (c Common) Unpreemptible() Common {
	if c.PreemptCount&0xf < 0xf {
		c.PreemptCount++
	}
	return c
}
