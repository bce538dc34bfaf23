package tracer

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/hist"
	"ftracelab/tracer/event/synth"
)

// histFile is events/SYSTEM/EVENT/hist: the histograms of the event's hist triggers.
//
// Kernel: event_hist_fops, kernel/trace/trace_events_hist.c.
func (tr *Instance) histFile(t *event.Type) tracefile.Node {
	return &tracefile.File{Name: "hist", Mode: 0o440, Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		h := &histHandle{tr: tr, t: t}
		_ = tr.locked(func() error { h.act = tr.hists.File(t).Hits(); return nil })
		text, err := tr.seq("hist", 0o440, func() ([]byte, error) {
			hists := tr.hists.File(t)
			h.read = hists.Hits()
			h.act = h.read
			return hists.Show(), nil
		}).Open(ctx, flags)
		h.Handle = text
		return h, err
	}}
}

// histHandle is an open hist. It can be read if events were counted since it was last read,
// and says once for each count that it has not told of (PollPri) that there are more.
//
// Kernel: struct hist_file_data and event_hist_poll, kernel/trace/trace_events_hist.c.
type histHandle struct {
	tracefile.Handle
	tr        *Instance
	t         *event.Type
	read, act uint64
}

func (h *histHandle) Poll() (events tracefile.Events) {
	_ = h.tr.locked(func() error {
		n := h.tr.hists.File(h.t).Hits()
		events = tracefile.Readable(n != h.read)
		if n != h.act {
			h.act = n
			events |= tracefile.PollPri
		}
		return nil
	})
	return events
}

// histEnv is an instance as its hist triggers see it.
type histEnv struct{ *Instance }

// Event finds an event of the instance.
//
// Kernel: find_event_file, kernel/trace/trace_events.c.
func (e histEnv) Event(system, name string) *event.Type { return e.ft.types.ByName(system, name) }

func (e histEnv) Synth(name string) hist.SynthEvent {
	if synth := e.ft.dyn.FindSynth(name); synth != nil {
		return synth
	}
	return nil
}

func (e histEnv) SynthOf(t *event.Type) hist.SynthEvent {
	if t.System != synth.System {
		return nil
	}
	return e.Synth(t.Name)
}

func (e histEnv) Filter() filter.Env { return e.filterEnv() }

// Syscall names a system call that has events.
//
// Kernel: get_syscall_name, kernel/trace/trace_syscalls.c.
func (e histEnv) Syscall(nr int) (name string, ok bool) {
	t := e.ft.syscalls.Enter[int64(nr)]
	if t == nil {
		return "", false
	}
	return t.Name[:len("sys_")] + t.Name[len("sys_enter_"):], true
}

func (e histEnv) LogError(location, message, command string, pos int) {
	e.errors.add(errorEntry{ns: e.ft.machine.Now(), location: location, message: message, command: command, pos: pos})
}

func (e histEnv) LogFilter(err error) {
	var fault *filter.Error
	if errors.As(err, &fault) {
		e.logFilterFault(fault)
	}
}

func (e histEnv) SetClock(name string) error { return e.setClock(name) }

// ClockInNs is trace_clock_in_ns, kernel/trace/trace.c.
func (e histEnv) ClockInNs() bool { return e.clock.InNS }

func (e histEnv) AbsoluteStamps(on bool) { e.keepUnbuffered(on) }

// Enable is trace_event_trigger_enable_disable, kernel/trace/trace_events_trigger.c.
func (e histEnv) Enable(t *event.Type, on bool) {
	e.events[t.ID].hists = e.hists.File(t)
	e.softEnableEvent(t, on)
}

// ArmSnapshot is tracing_snapshot_cond_enable, kernel/trace/trace.c.
func (e histEnv) ArmSnapshot() error {
	if e.current.MaxBuffer {
		return fmt.Errorf("snapshot: tracer %s uses it: %w", e.current.Name, syscall.EBUSY)
	}
	return e.armSnapshot()
}

func (e histEnv) DisarmSnapshot() { e.disarmSnapshot() }

// Snapshot takes a snapshot from within an event if take, which is called last,
// returns true.
//
// Kernel: tracing_snapshot_cond, kernel/trace/trace.c.
func (e histEnv) Snapshot(_ *hist.Moment, take func() bool) { e.triggerSnapshot(&e.moment, take) }

// histStack appends the stack that hists see. It leaves out the function that fires
// the event and the functions that lead from there to the hist.
//
// Departure: the stack of a synthetic event has none of the functions that lead from
// the event that generates it to the action.
//
// Kernel: HIST_STACKTRACE_SKIP, kernel/trace/trace.h.
func (m *moment) histStack(dst []uint64) []uint64 {
	if m.t == events.Print.Type {
		return append(dst, m.ft.markerStack(nil)[3:]...)
	}
	at := len(dst)
	dst = m.cpu.AppendKernelStack(dst)
	if len(dst) > at {
		dst = append(dst[:at], dst[at+1:]...)
	}
	return dst
}

// dropHists does what opening a trigger file with > does.
func (tr *Instance) dropHists(t *event.Type) {
	s := &tr.events[t.ID]
	s.hists.RemoveAll()
	for _, trig := range s.triggers.RemoveHistSwitches() {
		tr.dropTrigger(t, trig)
	}
}

// callHists counts the event of m in its hists; at is the time that the buffer gives
// the event.
func (tr *Instance) callHists(m *moment, hists *hist.File, rec []byte, at uint64, pid int, comm string) {
	if len(tr.histMoments) == tr.histDepth {
		tr.histMoments = append(tr.histMoments, new(hist.Moment))
	}
	h := tr.histMoments[tr.histDepth]
	*h = hist.Moment{Rec: rec, Time: at, CPU: m.cpu.ID, PID: pid, Comm: comm, Stack: tr.histStack}
	tr.histDepth++
	outer := tr.ft.dyn.Open(dynevent.OpenEvent{Header: m.h, Around: m.Around})
	asked := tr.ft.dyn.Asked(m.cpu)
	asked.Comm = comm // which is another task if a marker was written
	hists.Happen(h, asked)
	tr.ft.dyn.Open(outer)
	tr.histDepth--
}
