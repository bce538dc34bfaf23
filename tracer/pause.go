package tracer

import "ftracelab/tracer/option"

// pause is called when a reader opens trace. With options/pause-on-trace nothing is
// recorded until the reader closes it.
//
// Kernel: tracing_stop_tr, kernel/trace/trace.c.
func (tr *Instance) pause() {
	if !tr.opts.Has(option.PauseOnTrace) {
		return
	}
	if tr.pauses++; tr.pauses == 1 {
		tr.disable()
	}
}

// unpause is called when a reader closes trace. It takes one pause back, even if that
// is another reader's, because the option was not set when this one opened.
//
// Kernel: tracing_release and tracing_start_tr, kernel/trace/trace.c.
func (tr *Instance) unpause() {
	if tr.pauses == 0 {
		return
	}
	if tr.pauses--; tr.pauses == 0 {
		tr.enable()
	}
}

func (tr *Instance) disable() {
	tr.buf.Disable()
	tr.snap.buf.Disable()
}

func (tr *Instance) enable() {
	tr.buf.Enable()
	tr.snap.buf.Enable()
}
