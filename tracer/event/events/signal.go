package events

import "ftracelab/tracer/event"

// signalTypes are the events of the system signal.
//
// Kernel: include/trace/events/signal.h.
func signalTypes() []*event.Type {
	return []*event.Type{
		SignalDeliver.Type,
		SignalGenerate.Type,
	}
}

// SignalDeliverRecord is the record of signal_deliver.
type SignalDeliverRecord struct {
	Sig       int32  `c:"int sig"`
	Errno     int32  `c:"int errno"`
	Code      int32  `c:"int code"`
	SaHandler uint64 `c:"unsigned long sa_handler"`
	SaFlags   uint64 `c:"unsigned long sa_flags"`
}

// SignalDeliver is signal:signal_deliver.
var SignalDeliver = event.Define[SignalDeliverRecord](192, "signal", "signal_deliver",
	`"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx", REC->sig, REC->errno, REC->code, REC->sa_handler, REC->sa_flags`)

// SignalGenerateRecord is the record of signal_generate.
type SignalGenerateRecord struct {
	Sig    int32    `c:"int sig"`
	Errno  int32    `c:"int errno"`
	Code   int32    `c:"int code"`
	Comm   [16]byte `c:"char comm[16]"`
	PID    int32    `c:"pid_t pid"`
	Group  int32    `c:"int group"`
	Result int32    `c:"int result"`
}

// SignalGenerate is signal:signal_generate.
var SignalGenerate = event.Define[SignalGenerateRecord](193, "signal", "signal_generate",
	`"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d", REC->sig, REC->errno, REC->code, REC->comm, REC->pid, REC->group, REC->result`)
