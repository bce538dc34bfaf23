package record

import (
	"fmt"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// Stacks is how an instance or a design writes stacks: its modes, the maps
// behind them, and the counts of what was written. The recorders of several
// buffers may share one, as CPUs share the map.
type Stacks struct {
	Kernel, User StackMode
	IDs          RecordIDs
	Counts       StackCounts

	kernelMap, userMap interning
	stays              map[int32]stay // of DeferredStack: each task's present stay in the kernel
	cookies            uint64

	// Records are made of these, so that none is allocated.
	kernelRec events.KernelStackRecord
	idRec     events.StackIDRecord
	userRec   events.UserStackRecord
	cookieRec events.UserUnwindCookieRecord
	unwindRec events.UserUnwindStackRecord
}

// RecordIDs are the type ids of the records that hold stacks. The kernel of a
// capture may have given out other ids than the catalogue.
type RecordIDs struct {
	KernelStack, UserStack, StackID, UserStackID, Cookie, UnwindStack uint16
}

// CatalogueIDs are the ids of the catalogue.
//
// Departure: no kernel has a map of user stacks; an id of that map is recorded
// as a stack_id with a type of its own, the first above the catalogue's ftrace
// types.
func CatalogueIDs() RecordIDs {
	return RecordIDs{
		KernelStack: uint16(events.KernelStack.ID),
		UserStack:   uint16(events.UserStack.ID),
		StackID:     uint16(events.StackID.ID),
		UserStackID: userStackIDType,
		Cookie:      uint16(events.UserUnwindCookie.ID),
		UnwindStack: uint16(events.UserUnwindStack.ID),
	}
}

const userStackIDType = 0xfff1

// StackCounts counts how stacks were written.
type StackCounts struct {
	Full, IDs         uint64 // kernel stacks written in full, and as an id
	Fallbacks         uint64 // of Full: the map had no id to give
	Drops             uint64 // of Fallbacks: because it had no room
	UserFull, UserIDs uint64
	UserFallbacks     uint64
	UserDrops         uint64
	UserCut           uint64 // user stacks that lost addresses
	Cookies, Unwinds  uint64 // of DeferredStack: records of each kind
	InferredStays     uint64 // of Unwinds: NewEntry did not mark the beginning of the stay
}

// NewStacks returns the state of a design, with maps of its own.
func NewStacks(d Design, ids RecordIDs) (*Stacks, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &Stacks{Kernel: d.Kernel, User: d.User, IDs: ids}
	if d.Kernel == StackID {
		m, err := d.KernelMap.Open()
		if err != nil {
			return nil, fmt.Errorf("design %s: %w", d.Name, err)
		}
		s.ShareKernelMap(m, d.KernelMap)
	}
	if d.User == StackID {
		m, err := d.UserMap.Open()
		if err != nil {
			return nil, fmt.Errorf("design %s: %w", d.Name, err)
		}
		s.userMap = d.UserMap.interning(m)
	}
	if d.User == DeferredStack {
		s.stays = make(map[int32]stay)
	}
	return s, nil
}

// interning is an Interner with the policy that the recorder follows around it.
type interning struct {
	Interner
	reserveFirst bool
	deepest      int // addresses of a stack that is asked about; 0: any
}

func (c MapConfig) interning(m Interner) interning {
	cfg := c.Config
	if m, ok := m.(Stackmap); ok {
		cfg = m.Config() // with its defaults
	}
	w := interning{Interner: m, reserveFirst: c.ReserveFirst}
	if !cfg.TruncateDeep {
		w.deepest = cfg.MaxDepth
	}
	return w
}

// ShareKernelMap makes m, which is configured as c, the map of kernel stacks. Several
// Stacks may share one.
func (s *Stacks) ShareKernelMap(m Interner, c MapConfig) { s.kernelMap = c.interning(m) }

// KernelMap returns the map of kernel stacks, nil if there is none.
func (s *Stacks) KernelMap() Interner { return s.kernelMap.Interner }

// UserMap returns the map of user stacks, nil if there is none.
func (s *Stacks) UserMap() Interner { return s.userMap.Interner }

// Stack is a stack to be recorded.
type Stack struct {
	Common event.Common // of the event it belongs to
	IPs    []uint64     // innermost first
	TGID   uint32       // of a user stack
	// Hole is the content of the four bytes before the addresses, which the
	// kernel does not write; a capture has them.
	Hole uint32
	// NewEntry says that the event is the first of a stay in the kernel.
	NewEntry bool
}

// stay is a task's time between an entry into the kernel and its return.
type stay struct {
	cookie uint64
	stack  uint64 // a hash of its user stack
}

const (
	// maxStays bounds the tasks whose stay in the kernel is remembered.
	maxStays = 1 << 16
	// maxUnwindFrames is how many addresses one page of unwind cache holds.
	//
	// Kernel: UNWIND_MAX_ENTRIES, kernel/unwind/deferred.c.
	maxUnwindFrames = 510
)

// enter returns the stay that an event with this user stack belongs to, and
// whether the event is the first of that stay. A stay begins with an event that
// the source marks with NewEntry. Without the mark, only a user stack that
// differs from the task's last one shows that a new stay has begun.
func (s *Stacks) enter(t *Stack) (st stay, first bool) {
	h := hashStack(t.IPs)
	st, known := s.stays[t.Common.PID]
	if known && !t.NewEntry && st.stack == h {
		return st, false
	}
	if !known && len(s.stays) >= maxStays {
		clear(s.stays)
	}
	s.cookies++
	st = stay{cookie: s.cookies, stack: h}
	s.stays[t.Common.PID] = st
	if !t.NewEntry {
		s.Counts.InferredStays++
	}
	return st, true
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
