package tracer

import (
	"fmt"
	"math"
	"syscall"

	"ftracelab/ringbuf"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/cpumask"
	"ftracelab/tracer/output"
	"ftracelab/tracer/record"
)

// snapshot is the second buffer of an instance. Exchanging the two buffers keeps what
// the instance recorded until that moment. Until the snapshot is allocated it has the
// smallest possible size.
//
// Kernel: max_buffer of struct trace_array, kernel/trace/trace.h.
type snapshot struct {
	buf       *ringbuf.Buffer
	rec       *record.Recorder
	taken     uint64 // how often it was exchanged
	allocated bool
	armed     uint32 // how many triggers, commands and tracers may take one
	maps      int    // how many processes have a ring mapped, see mapped
}

// longest describes the snapshot of a latency tracer: which section it shows.
type longest struct {
	header output.Latency
	began  uint64 // entries before it do not belong to it
}

// perCPUSwap reports whether one CPU's buffer can be exchanged alone. The
// kernel is built with it if it has a tracer that needs it.
//
// Kernel: CONFIG_RING_BUFFER_ALLOW_SWAP, which IRQSOFF_TRACER selects.
func (ft *Ftrace) perCPUSwap() bool { return !ft.cfg.NoLatencyTracers }

// allocSnapshot makes the snapshot as large as the buffer.
//
// Kernel: tracing_alloc_snapshot_instance, kernel/trace/trace.c.
func (tr *Instance) allocSnapshot() error {
	if tr.snap.allocated {
		return nil
	}
	for n := range tr.buf.CPUs() {
		if err := tr.ft.bufferRoom(n, uint64(tr.buf.Size(n)), tr.snap.buf); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	if err := tr.snap.buf.SetSubbufSize(tr.buf.SubbufSize()); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := tr.matchSnapshot(-1); err != nil {
		return err
	}
	tr.snap.allocated = true
	return nil
}

// matchSnapshot gives the snapshot of one CPU or, with cpu < 0, of all CPUs the size
// of the buffer.
//
// Kernel: resize_buffer_duplicate_size, kernel/trace/trace.c.
func (tr *Instance) matchSnapshot(cpu int) error {
	for n := range tr.buf.CPUs() {
		if cpu >= 0 && n != cpu {
			continue
		}
		if err := tr.snap.buf.Resize(n, tr.buf.Size(n)); err != nil {
			return fmt.Errorf("snapshot of CPU %d: %w", n, err)
		}
	}
	return nil
}

// freeSnapshot empties the snapshot and gives its memory back.
//
// Kernel: free_snapshot, kernel/trace/trace.c.
func (tr *Instance) freeSnapshot() error {
	if err := tr.snap.buf.SetSubbufSize(pageSize); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := tr.snap.buf.ResizeAll(minBufferSize); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	resetCPUs(tr.snap.buf, -1)
	tr.snap.allocated = false
	return nil
}

// armSnapshot makes sure that a snapshot can be taken at any moment from now on,
// until disarmSnapshot has been called as often as armSnapshot.
//
// Kernel: tracing_arm_snapshot_locked, kernel/trace/trace.c.
func (tr *Instance) armSnapshot() error {
	if tr.snap.armed == math.MaxUint32 {
		return fmt.Errorf("snapshot: %w", syscall.EBUSY)
	}
	if tr.snap.maps > 0 {
		return fmt.Errorf("snapshot: trace_pipe_raw is mapped: %w", syscall.EBUSY)
	}
	if err := tr.allocSnapshot(); err != nil {
		return err
	}
	tr.snap.armed++
	return nil
}

// Kernel: tracing_disarm_snapshot, kernel/trace/trace.c.
func (tr *Instance) disarmSnapshot() { tr.snap.armed-- }

// takeSnapshot exchanges the buffer and the snapshot, for one CPU or, with cpu < 0,
// for all. It does nothing while no snapshot is allocated.
//
// Departure: except for irqsoff and its kin, the kernel exchanges the buffers as a
// whole, and an event that is half written then goes to the snapshot; here no event
// is half written.
//
// Kernel: update_max_tr and update_max_tr_single, kernel/trace/trace.c.
func (tr *Instance) takeSnapshot(cpu int) error {
	if !tr.snap.allocated {
		return nil
	}
	// One CPU's ring cannot be exchanged while it does not record; a whole buffer
	// can.
	if tr.pauses > 0 {
		tr.enable()
		defer tr.disable()
	}
	on := tr.buf.Recording()
	tr.setRecordable(true, cpumask.All(tr.buf.CPUs()))
	defer tr.setRecordable(on, tr.cpumask)
	var err error
	if cpu < 0 {
		err = ringbuf.Swap(tr.buf, tr.snap.buf)
	} else {
		err = ringbuf.SwapCPU(tr.buf, tr.snap.buf, cpu)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	tr.snap.taken++
	tr.longest = longest{}
	return nil
}

// setRecordable switches both buffers, as a whole and by CPU.
func (tr *Instance) setRecordable(on bool, mask cpumask.Mask) {
	for _, b := range []*ringbuf.Buffer{tr.buf, tr.snap.buf} {
		b.SetRecording(on)
		for cpu, on := range mask {
			b.SetCPURecording(cpu, on)
		}
	}
}

// shown returns the buffer that trace shows and empties. If the current tracer keeps
// its longest latency in the snapshot, that is the snapshot.
func (tr *Instance) shown() *ringbuf.Buffer {
	if tr.current.MaxBuffer {
		return tr.snap.buf
	}
	return tr.buf
}

// emptyShown empties the buffer that trace shows, on one CPU or, with cpu < 0, on
// all. If it empties all, the buffer's times begin anew.
//
// Kernel: tracing_open, kernel/trace/trace.c.
func (tr *Instance) emptyShown(cpu int) {
	if cpu < 0 {
		tr.ft.inodes.reset()
	}
	switch {
	case cpu >= 0:
		resetCPUs(tr.shown(), cpu)
		tr.wasEmptied(cpu)
	case tr.current.MaxBuffer:
		tr.resetSnapshot()
	default:
		tr.resetBuffer()
	}
}

// snapshotFile is snapshot. Reading shows the snapshot; writing 0 frees it, 1 takes
// one, and any other number empties it.
func (tr *Instance) snapshotFile(cpu int) tracefile.Node {
	return tr.seq("snapshot", 0o640, func() ([]byte, error) { return tr.snapshotText(cpu) }).
		OnWrite(func(p []byte) error { return tr.locked(func() error { return tr.writeSnapshot(cpu, string(p)) }) })
}

// Kernel: tracing_snapshot_write, kernel/trace/trace.c.
func (tr *Instance) writeSnapshot(cpu int, s string) error {
	if err := tr.expand(); err != nil {
		return err
	}
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if tr.current.MaxBuffer {
		return fmt.Errorf("snapshot: tracer %s uses it: %w", tr.current.Name, syscall.EBUSY)
	}
	if tr.hists.TakesSnapshots() {
		return fmt.Errorf("snapshot: a hist trigger uses it: %w", syscall.EBUSY)
	}
	switch n {
	case 0:
		if cpu >= 0 {
			return fmt.Errorf("snapshot of CPU %d: it is freed for all: %w", cpu, syscall.EINVAL)
		}
		if tr.snap.allocated {
			return tr.freeSnapshot()
		}
	case 1:
		if cpu >= 0 && !tr.ft.perCPUSwap() {
			return fmt.Errorf("snapshot of CPU %d: no tracer swaps one CPU: %w", cpu, syscall.EINVAL)
		}
		return tr.snapshotNow(cpu)
	default:
		if tr.snap.allocated {
			resetCPUs(tr.snap.buf, cpu)
		}
	}
	return nil
}

func (tr *Instance) snapshotNow(cpu int) error {
	if tr.snap.allocated {
		if err := tr.matchSnapshot(cpu); err != nil {
			return err
		}
	}
	if err := tr.armSnapshot(); err != nil {
		return err
	}
	defer tr.disarmSnapshot()
	return tr.takeSnapshot(cpu)
}

// snapshotText returns the text of the snapshot or, if it is empty, what can be done
// with it.
//
// Kernel: s_show and print_snapshot_help, kernel/trace/trace.c.
func (tr *Instance) snapshotText(cpu int) ([]byte, error) {
	for n := range tr.snap.buf.CPUs() {
		if (cpu < 0 || cpu == n) && !tr.snap.buf.Empty(n) {
			return tr.textOf(tr.snap.buf, cpu)
		}
	}
	state := "freed"
	if tr.snap.allocated {
		state = "allocated"
	}
	help := snapshotHelp
	switch {
	case cpu >= 0 && tr.ft.perCPUSwap():
		help = snapshotHelpCPUSwap
	case cpu >= 0:
		help = snapshotHelpCPU
	}
	return fmt.Appendf(nil, "# tracer: %s\n#\n#\n# * Snapshot is %s *\n#\n# Snapshot commands:\n%s", tr.current.Name, state, help), nil
}

const (
	snapshotHelp = `# echo 0 > snapshot : Clears and frees snapshot buffer
# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.
#                      Takes a snapshot of the main buffer.
# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)
` + snapshotOther
	snapshotHelpCPU = `# echo 0 > snapshot : Invalid for per_cpu snapshot file.
# echo 1 > snapshot : Not supported with this kernel.
#                     Must use main snapshot file to allocate.
` + snapshotClearCPU
	snapshotHelpCPUSwap = `# echo 0 > snapshot : Invalid for per_cpu snapshot file.
# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.
#                      Takes a snapshot of the main buffer for this cpu.
` + snapshotClearCPU
	snapshotClearCPU = `# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)
` + snapshotOther
	snapshotOther = `#                      (Doesn't have to be '2' works with any number that
#                       is not a '0' or '1')
`
)

// rawSnapshot is snapshot_raw, the snapshot's sub-buffers as raw bytes.
//
// Departure: snapshot_raw ends when the snapshot is empty; in the kernel it waits for
// the next snapshot.
//
// Kernel: snapshot_raw_open and tracing_buffers_read, kernel/trace/trace.c.
func (tr *Instance) rawSnapshot(cpu int) tracefile.Node {
	return pipe{tr: tr, cpu: cpu, snapshot: true}.file("snapshot_raw", takePage, tr.snapshotIsOurs, func() {})
}

func (tr *Instance) snapshotIsOurs() error {
	if tr.current.MaxBuffer {
		return fmt.Errorf("snapshot_raw: tracer %s uses the snapshot: %w", tr.current.Name, syscall.EBUSY)
	}
	return nil
}
