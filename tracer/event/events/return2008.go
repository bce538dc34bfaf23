package events

import "ftracelab/tracer/event"

// returnTypes is the entry of the tracer return of 2008.
//
// Departure: the patch adds TRACE_FN_RET as the last entry of its kernel, whose entries
// had neither ids nor format files. Here it has an id above those of 6.12's events.
func returnTypes() []*event.Type { return []*event.Type{FnRet.Type} }

// FnRetRecord is a function that has returned.
type FnRetRecord struct {
	IP       uint64 `c:"unsigned long ip"`            // the place it returned to
	Calltime uint64 `c:"unsigned long long calltime"` // ns
	Rettime  uint64 `c:"unsigned long long rettime"`  // ns
}

// FnRet is ftrace:fn_ret.
var FnRet = event.Define[FnRetRecord](1533, "ftrace", "fn_ret",
	`"%ps Called: %llu Returned: %llu", (void *)REC->ip, REC->calltime, REC->rettime`)
