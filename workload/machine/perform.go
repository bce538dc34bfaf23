package machine

// perform does what happens at an OpTrace step and reports it.
func (c *CPU) perform(t *Task, op *Op) {
	a := &t.acts[len(t.acts)-1]
	switch e := op.Event; e {
	case EvSchedWaking, EvSchedWakeup, EvSchedWakeupNew:
		c.performWake(t, a, op)
	case EvSchedFork, EvSchedExec:
		c.m.kernel.Workload.Event(c, t, e, op.Arg)
	case EvSchedExit, EvSchedFree, EvSchedWait, EvSchedStatRuntime:
		c.performProcess(t, e, op.Arg)
	case EvSysEnter:
		if c.on(e) {
			c.args.sysEnter = SysEnter{NR: t.stay.NR, Args: t.stay.Args}
			c.report(e, &c.args.sysEnter)
		}
	case EvSysExit:
		if c.on(e) {
			c.args.sysExit = SysExit{NR: t.stay.NR, Ret: t.stay.Ret}
			c.report(e, &c.args.sysExit)
		}
	case EvPageFaultUser, EvPageFaultKernel:
		if c.on(e) {
			c.args.fault = PageFaultArgs{ID: e, Address: t.stay.Address, IP: t.User.IP, ErrorCode: t.stay.ErrorCode}
			c.report(e, &c.args.fault)
		}
	case EvNMIHandler:
		c.performNMI(a, op)
	case EvKmalloc, EvKmemCacheAlloc, EvKfree, EvKmemCacheFree:
		c.performSlab(t, op)
	case EvBlockBioQueue, EvBlockGetrq, EvBlockIOStart, EvBlockBackmerge, EvBlockPlug, EvBlockUnplug,
		EvBlockRqIssue, EvBlockRqComplete, EvBlockIODone, EvBlockDirtyBuffer:
		c.performBlock(t, a, op)
	default:
		if c.on(e) {
			c.performSimple(t, a, op)
		}
	}
}

func (c *CPU) performWake(t *Task, a *activation, op *Op) {
	switch op.Event {
	case EvSchedWaking:
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
	case EvSchedWakeup:
		if a.wake != nil {
			c.makeRunnable(a.wake)
			a.wake = nil
		}
	case EvSchedWakeupNew:
		if child := t.child; child != nil {
			t.child = nil
			c.woken(child, EvSchedWakeupNew)
		}
	}
}

func (c *CPU) performProcess(t *Task, e Event, arg int32) {
	switch e {
	case EvSchedExit:
		t.exiting = true
		c.m.kernel.Workload.Event(c, t, e, arg)
		if c.on(e) {
			c.args.process = SchedProcess{ID: e, Task: t, PID: t.PID}
			c.report(e, &c.args.process)
		}
	case EvSchedFree:
		if len(c.m.dead) == 0 {
			return
		}
		dead := c.m.dead[0]
		c.m.dead = append(c.m.dead[:0], c.m.dead[1:]...)
		if c.on(e) {
			c.args.process = SchedProcess{ID: e, Task: dead, PID: dead.PID}
			c.report(e, &c.args.process)
		}
	case EvSchedWait:
		if c.on(e) {
			c.args.process = SchedProcess{ID: e, Task: t, PID: 0}
			c.report(e, &c.args.process)
		}
	case EvSchedStatRuntime:
		ran := c.Time - c.accounted
		c.accounted = c.Time
		if c.on(e) && t != c.idle && ran > 0 {
			c.args.runtime = SchedStatRuntime{Task: t, Runtime: ran}
			c.report(e, &c.args.runtime)
		}
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

// performSlab allocates or frees an object. Its call site is in the caller of the
// allocator's function, because the kernel passes _RET_IP_.
func (c *CPU) performSlab(t *Task, op *Op) {
	if !c.on(op.Event) {
		return
	}
	var s Slab
	if int(op.Arg) < len(c.m.kernel.Slabs) {
		s = c.m.kernel.Slabs[op.Arg]
	}
	var site uint64
	if n := len(t.frames); n > 0 {
		site = t.frames[n-1].orig
	}
	switch op.Event {
	case EvKmalloc, EvKmemCacheAlloc:
		c.args.alloc = SlabAlloc{
			ID: op.Event, CallSite: site, Ptr: c.m.slab.alloc(int(s.Kind), uint64(s.Alloc)),
			BytesReq: uint64(s.Req), BytesAlloc: uint64(s.Alloc), GFP: uint64(s.GFP),
			Node: -1, Accounted: s.Accounted, Cache: s.Cache,
		}
		c.report(op.Event, &c.args.alloc)
	default:
		c.args.free = SlabFree{
			ID: op.Event, CallSite: site, Ptr: c.m.slab.free(int(s.Kind), uint64(s.Alloc)), Name: s.Cache,
		}
		c.report(op.Event, &c.args.free)
	}
}
