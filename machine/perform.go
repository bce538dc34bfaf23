package machine

import "fmt"

// perform does what happens at an OpTrace step and reports it.
func (c *CPU) perform(t *Task, op *Op) {
	do := c.m.tracepoints[op.Event].perform
	if do == nil {
		panic(fmt.Sprintf("machine: invariant: operation with event %d", op.Event))
	}
	do(c, t, &t.acts[len(t.acts)-1], op)
}

func (c *CPU) performWaking(_ *Task, a *activation, op *Op) {
	who := a.next
	if a.next = nil; who == nil {
		who = c.chooseWakee(a, op.Arg)
	}
	if c.waking(who) {
		if a.wake != nil {
			c.makeRunnable(a.wake)
		}
		a.wake = who
	}
}

func (c *CPU) performWakeup(_ *Task, a *activation, _ *Op) {
	if a.wake != nil {
		c.makeRunnable(a.wake)
		a.wake = nil
	}
}

func (c *CPU) performWakeupNew(t *Task, _ *activation, _ *Op) {
	if child := t.child; child != nil {
		t.child = nil
		c.woken(child, EvSchedWakeupNew)
	}
}

// performInWorkload is for what the workload decides: which task is made, and which
// program it executes.
func (c *CPU) performInWorkload(t *Task, _ *activation, op *Op) {
	c.m.kernel.Workload.Event(c, t, op.Event, op.Arg)
}

func (c *CPU) performExit(t *Task, _ *activation, op *Op) {
	t.exiting = true
	c.m.kernel.Workload.Event(c, t, op.Event, op.Arg)
	c.reportProcess(op.Event, t, t.PID)
	if c.m.Hooks.Exiting != nil {
		c.m.Hooks.Exiting(c)
	}
}

func (c *CPU) performFree(_ *Task, _ *activation, op *Op) {
	if len(c.m.dead) == 0 {
		return
	}
	dead := c.m.dead[0]
	c.m.dead = append(c.m.dead[:0], c.m.dead[1:]...)
	c.reportProcess(op.Event, dead, dead.PID)
}

func (c *CPU) performWait(t *Task, _ *activation, op *Op) { c.reportProcess(op.Event, t, 0) }

func (c *CPU) reportProcess(e Event, t *Task, pid int) {
	if c.on(e) {
		c.args.process = SchedProcess{ID: e, Task: t, PID: pid}
		c.report(e, &c.args.process)
	}
}

func (c *CPU) performRuntime(t *Task, _ *activation, op *Op) {
	ran := c.Time - c.accounted
	c.accounted = c.Time
	if c.on(op.Event) && t != c.idle && ran > 0 {
		c.args.runtime = SchedStatRuntime{Task: t, Runtime: ran}
		c.report(op.Event, &c.args.runtime)
	}
}

// slab hands out the addresses of objects. For each kind of object it keeps a stack of
// those in use, so that a free has the address of an allocation.
type slab struct {
	kinds []slabKind
}

type slabKind struct {
	live []uint64
	next uint64
}

const (
	slabBase  = 0xffff888100000000 // direct mapping of page_offset_base without KASLR, above 4 GB
	slabRange = 1 << 21            // how many bytes of addresses each kind has
	slabLive  = 256                // how many objects are remembered for each kind
)

func (s *slab) alloc(kind int, size uint64) uint64 {
	k := s.kind(kind)
	addr := k.addr(kind, size)
	k.next++
	if len(k.live) == slabLive {
		k.live = append(k.live[:0], k.live[1:]...)
	}
	k.live = append(k.live, addr)
	return addr
}

func (s *slab) free(kind int, size uint64) uint64 {
	k := s.kind(kind)
	if len(k.live) == 0 {
		s.alloc(kind, size)
	}
	n := len(k.live) - 1
	addr := k.live[n]
	k.live = k.live[:n]
	k.next = max(k.next, 1) - 1
	return addr
}

// last gives the address that free would give.
func (s *slab) last(kind int, size uint64) uint64 {
	k := s.kind(kind)
	if n := len(k.live); n > 0 {
		return k.live[n-1]
	}
	return k.addr(kind, size)
}

// addr gives the address of the next object.
func (k *slabKind) addr(kind int, size uint64) uint64 {
	size = max(size, 8)
	return slabBase + uint64(kind)*slabRange + k.next*size%(slabRange-size)&^7
}

func (s *slab) kind(i int) *slabKind {
	for len(s.kinds) <= i {
		s.kinds = append(s.kinds, slabKind{})
	}
	return &s.kinds[i]
}

// slabOf is the kind of object of a step, and its call site. That is in the caller of the
// allocator's function, because the kernel passes _RET_IP_.
func (c *CPU) slabOf(t *Task, op *Op) (s Slab, site uint64) {
	if int(op.Arg) < len(c.m.kernel.Slabs) {
		s = c.m.kernel.Slabs[op.Arg]
	}
	if n := len(t.frames); n > 0 {
		site = t.frames[n-1].orig
	}
	return s, site
}

func (c *CPU) performAlloc(t *Task, _ *activation, op *Op) {
	if !c.on(op.Event) {
		return
	}
	s, site := c.slabOf(t, op)
	c.args.alloc = SlabAlloc{
		ID: op.Event, CallSite: site, Ptr: c.m.slab.alloc(int(s.Kind), uint64(s.Alloc)),
		BytesReq: uint64(s.Req), BytesAlloc: uint64(s.Alloc), GFP: uint64(s.GFP),
		Node: -1, Accounted: s.Accounted, Cache: s.Cache,
	}
	c.report(op.Event, &c.args.alloc)
}

func (c *CPU) performSlabFree(t *Task, _ *activation, op *Op) {
	if !c.on(op.Event) {
		return
	}
	s, site := c.slabOf(t, op)
	c.args.free = SlabFree{
		ID: op.Event, CallSite: site, Ptr: c.m.slab.free(int(s.Kind), uint64(s.Alloc)), Name: s.Cache,
	}
	c.report(op.Event, &c.args.free)
}
