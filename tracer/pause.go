package tracer

// pause is a reader that opens trace: with options/pause-on-trace nothing is
// recorded until it is done.
//
// Kernel: tracing_stop_tr, kernel/trace/trace.c.
func (i *Instance) pause() {
	if !i.opts.Has(OptPauseOnTrace) {
		return
	}
	if i.pauses++; i.pauses == 1 {
		i.disable()
	}
}

// unpause is a reader that closes trace. Whoever does takes a pause back, though it may
// be another's: the option was not set when this one opened.
//
// Kernel: tracing_release and tracing_start_tr, kernel/trace/trace.c.
func (i *Instance) unpause() {
	if i.pauses == 0 {
		return
	}
	if i.pauses--; i.pauses == 0 {
		i.enable()
	}
}

func (i *Instance) disable() {
	i.buf.Disable()
	i.snap.buf.Disable()
}

func (i *Instance) enable() {
	i.buf.Enable()
	i.snap.buf.Enable()
}
