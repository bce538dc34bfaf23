package main

import (
	"strings"

	"ftracelab/machine"
)

// item is a step of a task, as the graph tracer saw it.
type item struct {
	kind    itemKind
	fn      uint64 // for enter and exit: the function
	event   machine.Event
	arg     int32
	delta   uint64 // the task's own time before it, in ns of the capture
	flags   uint8
	preempt uint8
	raises  int32   // for saying: 1 more than the index of the interrupt that follows from it
	rec     *record // for an event: its record; for swtch: the sched_switch before it on the CPU
}

type itemKind uint8

const (
	enter itemKind = iota
	exit
	event
	swtch
	halt
	scheduling // the code of a switch was cut out here
	finishing  // the code at the beginning of a task was cut out here
	saying     // an event that activities take with its arguments
)

// segment is a sequence of items that belong together, and the reason why they ran.
type segment struct {
	key    string
	items  []item
	start  uint64 // time of the first item
	end    uint64
	child  int // the pid that it forked
	forked *process
	exec   *record
	nr     int64
	args   [6]uint64
	ret    int64
}

// stream turns the records of one task into segments.
type stream struct {
	ev      *eventTypes
	cs      *callers
	comm    string
	idle    bool
	kthread bool

	prev   uint64 // time of the last record
	cur    *segment
	irq    *segment // the interrupt that is being cut out
	irqAt  int      // the depth at which it began
	under  record   // the state of the processor below it
	synced bool     // a kernel thread has come to the place where its rounds begin
	ending bool     // cur is on its way back to user space
	done   []*segment
	irqs   []*segment
	user   bool   // the task is between two stays
	last   string // the function that was left last at the present level
}

// add takes the next record of the task. switched is the last sched_switch on its CPU.
func (s *stream) add(r, switched *record) {
	if s.prev == 0 {
		s.prev = r.time
	}
	delta := r.time - s.prev
	s.prev = r.time
	switch r.typ {
	case s.ev.entry:
		fn := s.cs.entry(r.u64(8))
		if s.irq == nil && isFinish(s.cs.name(fn)) {
			// The task runs again. The time in between was not its own.
			s.put(item{kind: swtch, rec: switched, flags: r.flags, preempt: r.preempt - 1})
			delta = 0
		}
		s.enter(r, fn, delta)
	case s.ev.exit:
		s.exit(r, s.cs.entry(r.u64(8)), delta)
	default:
		s.event(r, delta)
	}
}

func (s *stream) enter(r *record, fn uint64, delta uint64) {
	name := s.cs.name(fn)
	depth := int(int32(r.u32(16)))
	if s.ending && depth == 0 && name != "switch_fpu_return" {
		s.finish(r.time - delta)
	}
	if s.irq == nil && name == "irq_enter_rcu" {
		if s.cur != nil && s.idle && depth == 1 && strings.HasPrefix(s.last, "tick_nohz_idle_") {
			s.put(item{kind: halt, flags: r.flags, preempt: r.preempt - 1})
		}
		s.irq, s.irqAt = &segment{start: r.time}, depth
		s.under = *r
		s.user = depth == 0 && s.cur == nil && !s.idle && !s.kthread
		delta = 0
	}
	if s.irq == nil && depth == 0 {
		s.top(name, r, delta)
		if s.cur != nil && len(s.cur.items) == 0 {
			delta = 0
		}
	}
	pc := r.preempt
	if pc&0xf > 0 {
		pc-- // the graph tracer itself disables preemption once, see doc.go
	}
	s.put(item{kind: enter, fn: fn, delta: delta, flags: r.flags, preempt: pc})
	if s.irq != nil && s.irq.key == "" && depth == s.irqAt && name != "irq_enter_rcu" {
		s.irq.key = "irq " + strings.TrimPrefix(name, "__sysvec_")
	}
}

func (s *stream) exit(r *record, fn uint64, delta uint64) {
	name := s.cs.name(fn)
	depth := int(int32(r.u32(16)))
	s.put(item{kind: exit, fn: fn, delta: delta, flags: r.flags, preempt: r.preempt})
	if s.irq != nil {
		if depth == s.irqAt && name == "irq_exit_rcu" {
			s.endIRQ(r.time)
		}
		return
	}
	s.last = name
	if depth == 0 {
		s.bottom(name, r.time)
	}
}

// endIRQ files the interrupt that was cut out.
func (s *stream) endIRQ(now uint64) {
	g := s.irq
	s.irq = nil
	g.end = now
	from := " kernel"
	if s.user {
		from = " user"
	} else if s.idle {
		from = " idle"
	}
	g.key += from
	// What runs on the way back to user space belongs to the same interrupt.
	if s.user {
		s.cur = &segment{key: "exit", start: now}
		s.user = false
	}
	s.irqs = append(s.irqs, g)
	s.prev = now
}

// put adds an item to the segment that is being collected.
func (s *stream) put(it item) {
	switch {
	case s.irq != nil:
		// The machine adds the flags of the code that was interrupted.
		it.flags &^= s.under.flags & (machine.FlagSoftIRQ | machine.FlagBHOff)
		it.preempt -= min(it.preempt, s.under.preempt-min(s.under.preempt, 1))
		s.irq.items = append(s.irq.items, it)
	case s.cur != nil:
		s.cur.items = append(s.cur.items, it)
	}
}

// top is called when a function is entered from nowhere else. It begins a segment if
// one begins there.
func (s *stream) top(name string, r *record, delta uint64) {
	begin := func(key string) { s.cur = &segment{key: key, start: r.time, nr: -1} }
	switch {
	case s.idle:
		if name == "do_idle" {
			begin("idle")
		}
	case s.kthread:
		if s.cur == nil && s.synced {
			begin("kthread " + kthreadKind(s.comm))
		}
	case name == "ret_from_fork":
		begin("born")
	case name == "syscall_trace_enter":
		s.finish(r.time - delta)
		begin("sys")
	case (s.cur == nil || s.cur.key == "exit" && len(s.cur.items) == 0) && (name == "lock_vma_under_rcu" || name == "lock_mm_and_find_vma"):
		begin("fault")
	}
}

// bottom is called when such a function returns.
func (s *stream) bottom(name string, now uint64) {
	switch {
	case s.idle:
		if name == "do_idle" {
			s.finish(now)
		}
	case s.kthread:
		if s.cur == nil {
			s.synced = s.synced || name == "schedule" || isFinish(name)
			return
		}
		for _, it := range s.cur.items {
			if it.kind == swtch {
				s.finish(now)
				return
			}
		}
	case name == "ret_from_fork":
		s.finish(now)
	case name == "fpregs_assert_state_consistent":
		s.ending = s.cur != nil
	case name == "switch_fpu_return" && s.ending:
		s.finish(now)
	}
}

// finish files the current segment.
func (s *stream) finish(now uint64) {
	if g := s.cur; g != nil && len(g.items) > 0 {
		g.end = now
		s.done = append(s.done, g)
	}
	s.cur, s.ending = nil, false
}

// close files the segment that was still going on at the end of the capture, if the
// task had exited.
func (s *stream) close() {
	if s.cur == nil {
		return
	}
	if s.ending {
		s.finish(s.prev)
		return
	}
	for _, it := range s.cur.items {
		if it.kind == event && it.event == machine.EvSchedExit {
			s.finish(s.prev)
			return
		}
	}
}

// kthreadKind gives the part of the name that all threads with the same function have
// in common.
func kthreadKind(comm string) string {
	kind, _, _ := strings.Cut(comm, "/")
	if strings.HasPrefix(comm, "kworker/u") {
		return "kworker_u"
	}
	return strings.TrimRight(kind, "0123456789")
}
