package tracer

import (
	"bytes"
	"context"
	"fmt"
	"syscall"

	"ftracelab/machine/klog"
	"ftracelab/ringbuf"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/option"
	"ftracelab/tracer/record"
)

// writer is the task that writes to the tracefs.
type writer struct {
	pid  int
	comm string
	cpu  int // where what it writes is recorded
}

// outsider stands for whoever writes to the tracefs from outside the simulated
// machine: a shell.
var outsider = writer{klog.Shell.PID, klog.Shell.Comm, writerCPU}

// writerCPU is the CPU of whoever writes to the tracefs, unless it is known where that
// process runs.
const writerCPU = 0

// writerOf returns who writes with ctx: if it is a task of the machine, as a client of a
// mount is, that task; otherwise outsider. It runs on the CPU that the context tells, if
// the machine has that CPU.
func (ft *Ftrace) writerOf(ctx context.Context) writer {
	by := outsider
	c, ok := tracefile.CallerOf(ctx)
	if !ok {
		return by
	}
	if t := ft.machine.Task(c.PID); t != nil && c.PID != 0 {
		by.pid, by.comm = t.PID, t.Comm
	}
	if cpus := ft.machine.CPUs(); c.CPU < len(cpus) && cpus[c.CPU].Online() {
		by.cpu = c.CPU
	}
	return by
}

// faulted is the length of the text that the kernel records if it cannot read the
// text that was written. It makes room for it before it knows.
//
// Kernel: FAULTED_SIZE, kernel/trace/trace.c.
const faulted = len("<faulted>")

// writeMarker records what was written to trace_marker and returns how many bytes it
// took: a text that no event can hold is cut. After the text there is room for a
// newline, which is added if it is missing, and for a NUL.
//
// Kernel: tracing_mark_write, kernel/trace/trace.c.
func (tr *Instance) writeMarker(by writer, p []byte) (int, error) {
	if !tr.opts.Has(option.Markers) {
		return 0, fmt.Errorf("trace_marker: options/markers is off: %w", syscall.EINVAL)
	}
	text := p[:min(len(p), maxMarker, tr.buf.MaxEventSize()-printSize-2)]
	buf := append(make([]byte, 0, len(text)+faulted+1), text...)
	if !bytes.HasSuffix(text, []byte{'\n'}) {
		buf = append(buf, '\n')
	}
	for len(buf) < max(len(text), faulted)+1 {
		buf = append(buf, 0)
	}
	// The encoder adds the last NUL.
	rec := events.PrintRecord{IP: tr.ft.markerIP(), Buf: string(buf)}
	h := event.Common{PID: int32(by.pid)}
	s := &tr.events[events.Print.ID]
	if s.triggers.Len() == 0 && s.hists.Len() == 0 {
		return len(text), recordMarker(tr, tr.rec, by, "trace_marker", events.Print, &rec)
	}
	if !tr.buf.Enabled() || !tr.cpumask[by.cpu] {
		return 0, fmt.Errorf("trace_marker: nothing is recorded: %w", syscall.EBADF)
	}
	// Triggers see the text without the newline that is added.
	seen := events.PrintRecord{IP: rec.IP, Buf: string(text)}
	m := &tr.moment
	*m = moment{tr, happening{Around: dynevent.Around{Outside: true}, cpu: tr.ft.machine.CPUs()[by.cpu], h: h, t: events.Print.Type}}
	record := events.Print.Append(nil, h, &seen)
	place, err := tr.reserveMarker(by.cpu, len(events.Print.Append(nil, h, &rec)))
	if err != nil {
		return 0, err
	}
	due := s.triggers.Call(record, filter.Context{CPU: by.cpu, Comm: by.comm}, m)
	if s.hists.Len() > 0 {
		tr.callHists(m, s.hists, record, tr.timeOf(&place, by.cpu), by.pid, by.comm)
	}
	if place.slot.IsOpen() {
		place.slot.Fill(events.Print.Append(nil, h, &rec))
		place.slot.Commit()
		tr.ft.cmdlines.SetComm(int32(by.pid), by.comm)
	} else {
		err = recordMarker(tr, tr.recorderAt(place.swaps), by, "trace_marker", events.Print, &rec)
	}
	s.triggers.CallDue(due, m)
	return len(text), err
}

// reserveMarker takes room for a marker before its triggers act, unless there is a
// snapshot buffer; see reserve.
func (tr *Instance) reserveMarker(cpu, size int) (room, error) {
	r := room{swaps: tr.snap.taken}
	if tr.snap.allocated {
		return r, nil
	}
	var err error
	if r.slot, err = tr.rec.Open(cpu, ringbuf.Normal, size); err != nil {
		return r, fmt.Errorf("trace_marker: %w: %w", err, syscall.EBADF)
	}
	return r, nil
}

// maxMarker is the most that is recorded of one write, in bytes.
//
// Kernel: TRACE_MARKER_MAX_SIZE, kernel/trace/trace.h.
const maxMarker = 4096

// Sizes of the markers' records up to their text.
const (
	printSize   = event.CommonSize + 8 // ip
	rawDataSize = event.CommonSize + 4 // id
)

// writeRawMarker records what was written to trace_marker_raw: a 4-byte id and data.
// The kernel counts the id twice, so four more bytes follow the data.
//
// Kernel: tracing_mark_raw_write, kernel/trace/trace.c.
func (tr *Instance) writeRawMarker(by writer, p []byte) (int, error) {
	size := rawDataSize + max(len(p), faulted+4)
	switch {
	case !tr.opts.Has(option.Markers):
		return 0, fmt.Errorf("trace_marker_raw: options/markers is off: %w", syscall.EINVAL)
	case len(p) < 4 || size > tr.buf.MaxEventSize():
		return 0, fmt.Errorf("trace_marker_raw: %d bytes: %w", len(p), syscall.EINVAL)
	}
	id := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
	buf := make([]byte, size-rawDataSize)
	copy(buf, p[4:])
	return len(p), recordMarker(tr, tr.rec, by, "trace_marker_raw", events.RawData, &events.RawDataRecord{ID: id, Buf: buf})
}

// recordMarker records v, an event of d, in the name of the task that writes to a
// file.
func recordMarker[T any](tr *Instance, w *record.Recorder, by writer, file string, d *event.Def[T], v *T) error {
	if err := record.Write(w, by.cpu, ringbuf.Normal, d, event.Common{PID: int32(by.pid)}, v); err != nil {
		return fmt.Errorf("%s: %w: %w", file, err, syscall.EBADF)
	}
	tr.ft.cmdlines.SetComm(int32(by.pid), by.comm)
	return nil
}

// markerIP is the address that makes a marker's line begin with
// tracing_mark_write.
func (ft *Ftrace) markerIP() uint64 {
	s, _ := ft.machine.Kallsyms().ByName("tracing_mark_write")
	return s.Addr
}

// markerStack appends the stack, innermost first, of a task in write(2) at the point
// where triggers act on what it writes to trace_marker.
func (ft *Ftrace) markerStack(dst []uint64) []uint64 {
	for _, call := range [...]struct{ caller, callee string }{
		{"tracing_mark_write", "event_triggers_post_call"},
		{"vfs_write", "tracing_mark_write"},
		{"ksys_write", "vfs_write"},
		{"do_syscall_64", "x64_sys_call"}, // which jumps to __x64_sys_write, and that to ksys_write
		{"entry_SYSCALL_64_after_hwframe", "do_syscall_64"},
	} {
		dst = append(dst, ft.machine.ReturnAddress(call.caller, call.callee))
	}
	return dst
}
