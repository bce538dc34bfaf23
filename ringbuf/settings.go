package ringbuf

// disabled is one Disable in Buffer.off, where recordOff is SetRecording's.
const disabled = 2

// SetRecording switches all CPUs (the file tracing_on). While recording is off,
// Reserve returns ErrDisabled; events already reserved can be committed.
//
// Kernel: ring_buffer_record_off and _on, kernel/trace/ring_buffer.c.
func (b *Buffer) SetRecording(on bool) {
	if on {
		b.off.And(^uint32(recordOff))
	} else {
		b.off.Or(recordOff)
	}
}

// Recording reports what SetRecording has set.
func (b *Buffer) Recording() bool { return b.off.Load()&recordOff == 0 }

// Disable makes Reserve return ErrDisabled until Enable has been called as
// often, whatever SetRecording says meanwhile.
//
// Kernel: ring_buffer_record_disable and _enable, kernel/trace/ring_buffer.c.
func (b *Buffer) Disable() { b.off.Add(disabled) }

// Enable takes one Disable back.
func (b *Buffer) Enable() {
	if b.off.Add(^uint32(disabled-1)) >= ^uint32(disabled-1) {
		panic("ringbuf: invariant: Enable without Disable")
	}
}

// Enabled reports whether Reserve may succeed on CPUs that record.
//
// Kernel: ring_buffer_record_is_on, kernel/trace/ring_buffer.c.
func (b *Buffer) Enabled() bool { return b.off.Load() == 0 }

// SetCPURecording switches one CPU (tracing_cpumask).
//
// Departure: this is a switch; the kernel counts, and needs as many enables as
// disables.
//
// Kernel: ring_buffer_record_disable_cpu, kernel/trace/ring_buffer.c.
func (b *Buffer) SetCPURecording(cpu int, on bool) {
	c := b.readers(cpu)
	defer c.lock.Unlock()
	if on {
		c.control.And(^uint32(recordOff))
	} else {
		c.control.Or(recordOff)
	}
}

// CPURecording reports what SetCPURecording has set.
func (b *Buffer) CPURecording(cpu int) bool { return b.cpus[cpu].Load().control.Load()&recordOff == 0 }

// SetOverwrite chooses what a full ring keeps: the newest events or, with on
// false, the oldest (the option overwrite).
//
// Kernel: ring_buffer_change_overwrite, kernel/trace/ring_buffer.c.
func (b *Buffer) SetOverwrite(on bool) { b.overwrite.Store(on) }

// SetClock chooses another clock. Times of two clocks cannot be compared: the
// caller resets the buffer, as trace_clock does.
//
// Kernel: ring_buffer_set_clock, kernel/trace/ring_buffer.c.
func (b *Buffer) SetClock(clock func(cpu int) uint64) {
	b.stop(0, len(b.cpus))
	defer b.start(0, len(b.cpus))
	b.clock = clock
}

// SetAbsoluteTime makes every event carry an absolute stamp (timestamp_mode).
//
// Kernel: ring_buffer_set_time_stamp_abs, kernel/trace/ring_buffer.c.
func (b *Buffer) SetAbsoluteTime(on bool) {
	b.stop(0, len(b.cpus))
	defer b.start(0, len(b.cpus))
	b.absolute = on
}

// AbsoluteTime reports what SetAbsoluteTime or Config has set.
func (b *Buffer) AbsoluteTime() bool { return b.absolute }
