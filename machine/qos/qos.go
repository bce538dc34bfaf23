// Package qos keeps the requests for a limit of the latency that CPUs may have when they
// leave an idle state. Who wants it says how long that may take, in microseconds, and the
// shortest of all these times is the target. Nothing else keeps such requests, and nothing
// heeds them: a kernel asks for the target when it chooses an idle state.
//
// Kernel: cpu_latency_constraints, kernel/power/qos.c.
package qos

import (
	"encoding/binary"
	"slices"
)

const (
	// Default is the value of a request that does not want anything.
	//
	// Kernel: PM_QOS_DEFAULT_VALUE, include/linux/pm_qos.h.
	Default int32 = -1

	// NoLimit is the target if nobody wants anything.
	//
	// Kernel: PM_QOS_CPU_LATENCY_DEFAULT_VALUE.
	NoLimit int32 = 2000 * 1000 * 1000
)

// Action is what happens to a request.
//
// Kernel: enum pm_qos_req_action, include/linux/pm_qos.h.
type Action uint32

// The actions, with the kernel's numbers.
const (
	Add Action = iota
	Update
	Remove
)

// Change is what became of a request. A kernel makes an event of what was asked for, and
// then one of what that did to the target.
type Change struct {
	Action Action
	Asked  bool  // otherwise the value was invalid, and nothing happened
	Value  int32 // what was asked for
	// Applied says that the request has a new value, or that it came or went; the target
	// was Prev and is Curr.
	Applied    bool
	Prev, Curr int32
}

// Limit is the limit that all requests together make. The zero value has no requests.
type Limit struct {
	requests []*Request
}

// Request is one wish.
type Request struct {
	limit *Limit
	value int32 // NoLimit, if it has none
}

// Target is the shortest time of all requests, or NoLimit.
//
// Kernel: pm_qos_get_value.
func (l *Limit) Target() int32 {
	if len(l.requests) == 0 {
		return NoLimit
	}
	least := l.requests[0].value
	for _, r := range l.requests[1:] {
		least = min(least, r.value)
	}
	return least
}

// Add adds a request without a value of its own.
//
// Kernel: cpu_latency_qos_add_request.
func (l *Limit) Add() (*Request, Change) {
	r := &Request{l, NoLimit}
	return r, l.apply(Add, Default, func() { l.requests = append(l.requests, r) })
}

// Update gives a request another value. Negative ones are ignored, except for Default.
//
// Kernel: cpu_latency_qos_update_request, cpu_latency_qos_value_invalid.
func (r *Request) Update(value int32) Change {
	switch {
	case value < 0 && value != Default:
		return Change{Action: Update, Value: value}
	case value == r.value:
		return Change{Action: Update, Asked: true, Value: value}
	}
	return r.limit.apply(Update, value, func() {
		if r.value = value; value == Default {
			r.value = NoLimit
		}
	})
}

// Remove takes a request away. It must not be used any more.
//
// Kernel: cpu_latency_qos_remove_request.
func (r *Request) Remove() Change {
	l := r.limit
	return l.apply(Remove, Default, func() {
		l.requests = slices.DeleteFunc(l.requests, func(other *Request) bool { return other == r })
	})
}

// Kernel: pm_qos_update_target.
func (l *Limit) apply(a Action, value int32, do func()) Change {
	c := Change{Action: a, Asked: true, Value: value, Applied: true, Prev: l.Target()}
	do()
	c.Curr = l.Target()
	return c
}

// Size is how many bytes a value has for programs.
const Size = 4

// AppendValue appends a value as programs read it.
func AppendValue(dst []byte, value int32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(value))
}

// Value is a value as programs write it, in that many bytes.
func Value(p [Size]byte) int32 { return int32(binary.LittleEndian.Uint32(p[:])) }
