package tracer

import (
	"bytes"
	"fmt"
	"syscall"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// The task that stands for whoever writes to the tracefs: a shell outside the
// simulated machine, on CPU 0.
const (
	writerPID  = 1000
	writerComm = "sh"
	writerCPU  = 0
)

// markerMax is the longest text of one marker; a longer write is cut and its
// count says so.
const markerMax = 4054

// writeMarker records what was written to trace_marker and returns how many
// bytes it took.
//
// Kernel: tracing_mark_write, kernel/trace/trace.c.
func (i *Instance) writeMarker(p []byte) (int, error) {
	if !i.opts.Has(OptMarkers) {
		return 0, fmt.Errorf("trace_marker: options/markers is off: %w", syscall.EINVAL)
	}
	text := p[:min(len(p), markerMax)]
	// The kernel makes room for a newline and a NUL behind the text before it
	// knows whether it needs the newline.
	end := "\n"
	if bytes.HasSuffix(text, []byte{'\n'}) {
		end = "\x00"
	}
	rec := events.PrintRecord{IP: i.ft.markerIP(), Buf: string(text) + end}
	i.scratch = events.Print.Append(i.scratch[:0], event.Common{PID: writerPID}, &rec)
	if err := i.rec.Event(writerCPU, ringbuf.Normal, i.scratch); err != nil {
		return 0, fmt.Errorf("trace_marker: %w: %w", err, syscall.EBADF)
	}
	i.ft.cmdlines.set(writerPID, writerPID, writerComm)
	return len(text), nil
}

// writeRawMarker records what was written to trace_marker_raw: a 4-byte id and
// data.
//
// Kernel: tracing_mark_raw_write, kernel/trace/trace.c.
func (i *Instance) writeRawMarker(p []byte) (int, error) {
	switch {
	case !i.opts.Has(OptMarkers):
		return 0, fmt.Errorf("trace_marker_raw: options/markers is off: %w", syscall.EINVAL)
	case len(p) < 4 || event.CommonSize+len(p) > i.buf.SubbufSize()-24:
		return 0, fmt.Errorf("trace_marker_raw: %d bytes: %w", len(p), syscall.EINVAL)
	}
	id := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
	i.scratch = events.RawData.Append(i.scratch[:0], event.Common{PID: writerPID}, &events.RawDataRecord{ID: id, Buf: p[4:]})
	if err := i.rec.Event(writerCPU, ringbuf.Normal, i.scratch); err != nil {
		return 0, fmt.Errorf("trace_marker_raw: %w: %w", err, syscall.EBADF)
	}
	i.ft.cmdlines.set(writerPID, writerPID, writerComm)
	return len(p), nil
}

// markerIP is the address that makes a marker's line begin with
// tracing_mark_write.
func (ft *Ftrace) markerIP() uint64 {
	s, _ := ft.machine.Kallsyms().ByName("tracing_mark_write")
	return s.Addr
}
