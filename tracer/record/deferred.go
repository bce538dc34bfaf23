package record

import (
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// Sizes of the record of an unwound user stack, common fields included.
const (
	unwindSize      = event.CommonSize + 8 + 3*4 + 4 // the kernel's structure ends at a multiple of 8
	unwindFrameSize = 8 + 8 + 4                      // address, inode, device
)

// unwindBytes is the room that the record of a stack of n addresses takes.
func unwindBytes(n int) uint64 { return uint64(ringbuf.EventSize(unwindSize + n*unwindFrameSize)) }

// stay is a task's time between an entry into the kernel and its return.
type stay struct {
	cookie          uint64
	name            uint64 // that of the source; 0: it names none
	stack           uint64 // a hash of its user stack
	bytes           uint64 // what its records take
	entered         bool   // it began with the entry of a system call
	closed          bool   // no exit of a system call can belong to it any more
	tied, tiedBytes uint64 // its part of Counts.Tied and Counts.TiedBytes
}

const (
	// maxStays bounds the tasks whose stay in the kernel is remembered.
	maxStays = 1 << 16
	// maxUnwindFrames is how many addresses one page of unwind cache holds.
	//
	// Kernel: UNWIND_MAX_ENTRIES, kernel/unwind/deferred.c.
	maxUnwindFrames = 510
)

// enter returns the stay that an event with this user stack belongs to, and whether the
// event is the first of that stay. A stay begins with an event that the source marks with
// NewEntry; and as a stay has one system call, no second exit of one belongs to it. Else
// only a user stack that differs from the task's last one shows a new stay. If the source
// names the stay, that decides alone.
func (s *Stacks) enter(t *Stack) (st stay, first bool) {
	h := hashStack(t.IPs)
	st, known := s.stays[t.Common.PID]
	if known && t.Stay != 0 && st.name == t.Stay {
		return st, false
	}
	if known && t.Stay == 0 && !t.NewEntry && !(t.exitsCall() && st.closed) && st.stack == h {
		return st, false
	}
	if !known && len(s.stays) >= maxStays {
		s.forgotten = s.openBytes()
		clear(s.stays)
	}
	s.cookies++
	if !t.NewEntry && t.Stay == 0 {
		s.Counts.InferredStays++
	}
	return stay{cookie: s.cookies, name: t.Stay, stack: h, entered: t.NewEntry && t.Call, closed: t.NewEntry && !t.Call}, true
}

// FirstOfStay reports whether a user stack is the first of its stay, and remembers the stay.
// It is for who only counts; a Recorder of s must not be used beside it. s has the mode
// DeferredStack.
func (s *Stacks) FirstOfStay(t *Stack) bool {
	st, first := s.enter(t)
	st.closed = st.closed || t.exitsCall()
	s.stays[t.Common.PID] = st
	return first
}

// exitsCall reports whether the stack's event is the exit of a system call.
func (t *Stack) exitsCall() bool { return t.Call && !t.NewEntry }

// tie notes that an event is in the stay st only because of its user stack, whose record
// would take that many bytes. Between the entry and the exit of a system call, that is
// certain.
func (s *Stacks) tie(st *stay, t *Stack, bytes uint64) {
	if t.exitsCall() && st.entered {
		s.Counts.Tied -= st.tied
		s.Counts.TiedBytes -= st.tiedBytes
		st.tied, st.tiedBytes = 0, 0
		return
	}
	st.tied++
	st.tiedBytes += bytes
	s.Counts.Tied++
	s.Counts.TiedBytes += bytes
}

// Doubt says by how many bytes of records a kernel's deferred stacks may differ from
// those written here, because a source does not tell everything about stays.
type Doubt struct {
	// Less are the records of each task's last stay. A task that exits gets no
	// cookies any more, and one that is still in the kernel at the end no stack.
	Less uint64
	// More are the stacks of the Counts.Tied events, if each of these began a stay.
	More uint64
	// Deeper comes to More for each address that the stacks of the Counts.Brimful
	// events have lost, if the source has cut them, and if each has a stay of its own.
	Deeper uint64
	// Deepest is how many addresses a record holds.
	Deepest int
}

// Doubt returns what is not known about the stays so far.
func (s *Stacks) Doubt() Doubt {
	return Doubt{Less: s.openBytes(), More: s.Counts.TiedBytes, Deeper: unwindFrameSize * s.Counts.Brimful, Deepest: s.deepest}
}

// openBytes is what the records of the stays take that may not have ended.
func (s *Stacks) openBytes() uint64 {
	n := s.forgotten
	for _, st := range s.stays {
		n += st.bytes
	}
	return n
}

// hashStack tells stacks apart; it need not be the hash of any map.
func hashStack(ips []uint64) uint64 {
	h := uint64(len(ips))
	for _, ip := range ips {
		h = (h ^ ip) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// deferred writes a cookie for the event and, once for each stay in the kernel,
// the stack that it stands for. A kernel thread has no user stack: a source
// gives an empty one, and nothing is written.
//
// Departure: for a capture, the stack is written with the first event of the
// stay and not when the task returns to user space, because a capture does not
// show that return; the bytes are the same.
func (r *Recorder) deferred(cpu int, ctx ringbuf.Context, t *Stack) (StackMode, error) {
	if len(t.IPs) == 0 {
		return NoStacks, nil
	}
	s := r.stacks
	st, first := s.enter(t)
	e, err := r.ring.Reserve(cpu, ctx, events.UserUnwindCookie.Size)
	if err != nil {
		return NoStacks, err
	}
	s.cookieRec.Cookie = st.cookie
	events.UserUnwindCookie.Append(e.Data[:0], t.Common, &s.cookieRec)
	retype(e.Data, t.Common, s.IDs.Cookie)
	r.ring.Commit(cpu, e)

	s.Counts.Cookies++
	if len(t.IPs) == userStackFrames {
		s.Counts.Brimful++
	}
	s.deepest = r.unwindFrames(maxUnwindFrames)
	unwound := unwindBytes(r.unwindFrames(len(t.IPs)))
	st.bytes += uint64(ringbuf.EventSize(events.UserUnwindCookie.Size))
	if first {
		st.bytes += unwound
		err = r.UnwindStack(cpu, ctx, t, st.cookie)
	} else if t.Stay == 0 {
		s.tie(&st, t, unwound)
	}
	st.closed = st.closed || t.exitsCall()
	s.stays[t.Common.PID] = st
	return DeferredStack, err
}

// unwindFrames is how many of n addresses are written: what fits into a sub-buffer.
func (r *Recorder) unwindFrames(n int) int {
	return min(n, maxUnwindFrames, (r.ring.MaxEventSize()-unwindSize)/unwindFrameSize)
}

// NoInode stands in a user_unwind_stack for an address at which nothing is known to be
// mapped.
const NoInode = ^uint64(0)

// noInodes and noDevs are the arrays for a stack without files.
var (
	noInodes = func() (a [maxUnwindFrames]uint64) {
		for i := range a {
			a[i] = NoInode
		}
		return a
	}()
	noDevs [maxUnwindFrames]uint32
)

// UnwindStack writes the user stack that a cookie stands for, as far as it fits
// into a sub-buffer.
func (r *Recorder) UnwindStack(cpu int, ctx ringbuf.Context, t *Stack, cookie uint64) error {
	s := r.stacks
	n := r.unwindFrames(len(t.IPs))
	if n < len(t.IPs) {
		s.Counts.UserCut++
	}
	e, err := r.ring.Reserve(cpu, ctx, unwindSize+n*unwindFrameSize)
	if err != nil {
		return err
	}
	s.unwindRec = events.UserUnwindStackRecord{Cookie: cookie, Stack: t.IPs[:n], Inodes: noInodes[:n], Dev: noDevs[:n]}
	if t.Inodes != nil {
		s.unwindRec.Inodes, s.unwindRec.Dev = t.Inodes[:n], t.Devs[:n]
	}
	events.UserUnwindStack.Append(e.Data[:0], t.Common, &s.unwindRec)
	retype(e.Data, t.Common, s.IDs.UnwindStack)
	r.ring.Commit(cpu, e)
	s.Counts.Unwinds++
	return nil
}
