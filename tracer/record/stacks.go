package record

import (
	"fmt"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record/stackcode"
)

// Stacks is how an instance or a design writes stacks: its modes, the maps
// behind them, and the counts of what was written. The recorders of several
// buffers may share one, as CPUs share the map.
type Stacks struct {
	Kernel, User StackMode
	IDs          RecordIDs
	Counts       StackCounts

	kernelMap, userMap interning
	code               stackcode.Code // of CodedStack
	stays              map[int32]stay // of DeferredStack: each task's present stay in the kernel
	cookies            uint64
	forgotten          uint64 // what the records of stays take that are not in stays any more
	deepest            int    // how many addresses a record holds

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
	KernelStack, UserStack, StackID, UserStackID, Cookie, UnwindStack, CodedStack uint16
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
		CodedStack:  uint16(events.CodedStack.ID),
	}
}

const userStackIDType = 0xfff1

// StackCounts counts how stacks were written.
type StackCounts struct {
	Full, IDs         uint64 // kernel stacks written in full, and as an id
	Fallbacks         uint64 // of Full: the map had no id to give
	Drops             uint64 // of Fallbacks: because it had no room
	Coded             uint64 // kernel stacks written as what they share with another
	UserFull, UserIDs uint64
	UserFallbacks     uint64
	UserDrops         uint64
	UserCut           uint64 // user stacks that lost addresses
	Cookies, Unwinds  uint64 // of DeferredStack: records of each kind
	InferredStays     uint64 // of Unwinds: NewEntry did not mark the beginning of the stay
	Tied              uint64 // of Cookies: only an equal user stack puts the event into its stay
	TiedBytes         uint64 // what the stacks of Tied take, if each has a stay of its own
	Brimful           uint64 // of Cookies: the stack has as many addresses as a user_stack holds
}

// NewStacks returns the state of a design, with maps of its own.
func NewStacks(d Design, ids RecordIDs) (*Stacks, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &Stacks{Kernel: d.Kernel, User: d.User, IDs: ids, code: d.Code}
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
	// NewEntry and Call are those of the event, see [Record].
	NewEntry, Call bool
	Stay           uint64 // of a user stack, see [Record]
	// Inodes and Devs name the files that IPs are offsets in, see
	// [events.UserUnwindStackRecord]. Both are nil, or as long as IPs.
	Inodes []uint64
	Devs   []uint32
}
