package hist

import (
	"fmt"
	"syscall"
)

// trackedSnapshot is the conditional snapshot of an instance. It remembers the
// element for which the snapshot was last taken.
//
// Kernel: struct track_data, kernel/trace/trace_events_hist.c.
type trackedSnapshot struct {
	hist   *Hist
	action *action
	value  uint64
	taken  bool
	key    []byte
	comm   string
}

// makeSnapshot prepares the instance for the snapshots of an action. Errors:
// EBUSY if another action takes snapshots, or the buffer is in use.
//
// Kernel: tracing_snapshot_cond_enable, kernel/trace/trace.c.
func (h *Hist) makeSnapshot(a *action) error {
	i := h.file.instance
	if i.snapshot != nil {
		return fmt.Errorf("hist: another action takes snapshots: %w", syscall.EBUSY)
	}
	if err := i.env.ArmSnapshot(); err != nil {
		return err
	}
	i.snapshot = &trackedSnapshot{hist: h, action: a}
	return nil
}

// TakesSnapshots reports whether some trigger of the instance takes snapshots
// on a condition; nothing else may take snapshots then.
//
// Kernel: cond_snapshot of struct trace_array, kernel/trace/trace.h.
func (in *Instance) TakesSnapshots() bool { return in.snapshot != nil }

// takeSnapshot takes a snapshot if the value that is tracked in the element also
// replaces the value of the last snapshot.
//
// Kernel: save_track_data_snapshot and cond_snapshot_update,
// kernel/trace/trace_events_hist.c.
func (h *Hist) takeSnapshot(m *Moment, e *Element, key []byte) {
	s := h.file.instance.snapshot
	h.file.instance.env.Snapshot(m, func() bool {
		v := e.Vars[s.action.trackVar.index].N
		if !s.action.tracks(s.value, v) {
			return false
		}
		s.value, s.taken, s.comm = v, true, e.Comm
		s.key = append(s.key[:0], key...)
		return true
	})
}

// appendSnapshot appends the element for which the last snapshot was taken, if
// this trigger takes snapshots.
//
// Kernel: track_data_snapshot_print, kernel/trace/trace_events_hist.c.
func (h *Hist) appendSnapshot(dst []byte) []byte {
	s := h.file.instance.snapshot
	if s == nil || !s.taken {
		return dst
	}
	for _, a := range h.actions {
		if a.kind != snapshot {
			continue
		}
		dst = append(dst, "\nSnapshot taken (see tracing/snapshot).  Details:\n"...)
		dst = fmt.Appendf(dst, "\ttriggering value { %s%s) }: %10d", handlers[a.handler], a.track, s.value)
		dst = h.appendKey(append(dst, "\ttriggered by event with key: "...), s.key, s.comm)
		return append(dst, '\n')
	}
	return dst
}
