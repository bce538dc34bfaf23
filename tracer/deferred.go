package tracer

import (
	"fmt"

	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
	"ftracelab/unwind"
	"ftracelab/unwind/cookie"
)

// deferStacks turns userstacktrace_delay on or off: with it, an event records a
// cookie, and the user stack the cookie stands for follows once, when the task
// returns to user space.
//
// Kernel: the deferred unwinding series for ftrace, not merged; unwind explains
// the mechanism.
func (tr *Instance) deferStacks(on bool) error {
	tr.ft.inodes.reset()
	if !on {
		if err := tr.ft.unwind.Cancel(tr.deferred); err != nil {
			return fmt.Errorf("options/userstacktrace_delay: %w", err)
		}
		tr.deferred = nil
		return nil
	}
	w := &unwind.Work{Func: tr.deferredStack}
	if err := tr.ft.unwind.Init(w); err != nil {
		return fmt.Errorf("options/userstacktrace_delay: %w", err)
	}
	tr.deferred = w
	return nil
}

// requestStack records the cookie of the current stay in the kernel.
func (tr *Instance) requestStack(w *record.Recorder, c *machine.CPU, h event.Common) {
	if c.Current.Kernel {
		return
	}
	var id cookie.ID
	var err error
	if t := tr.ft.unwindTask(c.Current); c.InNMI {
		_, id, err = tr.ft.unwind.RequestNMI(t, c.ID, tr.deferred)
	} else {
		_, id, err = tr.ft.unwind.Request(t, c.ID, tr.deferred)
	}
	if err != nil {
		return // no stack: the task exits, or the kernel cannot take one here
	}
	// The buffer counts what it refuses.
	_ = record.Write(w, c.ID, contextOf(c), events.UserUnwindCookie, h, &events.UserUnwindCookieRecord{Cookie: uint64(id)})
}

// deferredStack records the stack of a stay that ends, as offsets in the files that are
// mapped. Which files these are is told by events that follow the record, as in the kernel,
// where they happen while the record is being filled.
//
// Kernel: trace_user_unwind_callback of the series.
func (tr *Instance) deferredStack(t *unwind.Task, stack []uint64, id cookie.ID) {
	c, s := t.Machine.CPU(), &tr.stack
	s.Common = event.Common{PID: int32(t.Machine.PID)}
	s.IPs, s.Inodes, s.Devs = s.IPs[:0], tr.inodes[:0], tr.devs[:0]
	for _, ip := range stack {
		inode, dev := record.NoInode, uint32(0)
		if m := t.Machine.Mapping(ip); m != nil {
			ip, inode, dev = m.At(ip), m.Inode, m.Dev
		}
		s.IPs, s.Inodes, s.Devs = append(s.IPs, ip), append(s.Inodes, inode), append(s.Devs, dev)
	}
	tr.inodes, tr.devs = s.Inodes, s.Devs
	_ = tr.rec.UnwindStack(c.ID, ringbuf.Normal, s, uint64(id))
	s.Inodes, s.Devs = nil, nil
	tr.ft.tellFiles(c, t.Machine, stack)
}

// userExit runs when c is about to return to user space.
func (ft *Ftrace) userExit(c *machine.CPU) {
	if d := ft.data(c.Current); d.unwind != nil {
		ft.unwind.ReturnToUser(d.unwind)
	}
}

func (ft *Ftrace) unwindTask(t *machine.Task) *unwind.Task {
	d := ft.data(t)
	if d.unwind == nil {
		d.unwind = ft.unwind.NewTask(t)
	}
	d.unwind.Exiting = t.Exiting()
	return d.unwind
}
