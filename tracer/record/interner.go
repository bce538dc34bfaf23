package record

import (
	"fmt"

	"ftracelab/stackmap"
	"ftracelab/tracer/record/variant"
)

// Interner gives stacks ids: the same id for the same addresses, as long as
// nobody resets it. One that does otherwise is [Faulty] and counts it. It is called from the recording path of every CPU, so its
// methods must be safe for concurrent use, and Intern must not allocate for a
// stack that is known.
type Interner interface {
	// Intern returns the id of ips, innermost address first, on behalf of a
	// CPU of the traced machine. It may keep a copy of ips, never ips itself. On an error the stack
	// is recorded in full. An error that wraps [ErrNoSpace] is counted as a
	// drop: it says that there is no room, while other errors say that this
	// kind of stack gets no id.
	Intern(cpu int, ips []uint64) (id uint32, err error)
	// Stack appends the addresses that an id stands for to dst; it returns
	// false if the id stands for no stack.
	Stack(id uint32, dst []uint64) ([]uint64, bool)
	// Cost says what a kernel would spend on the map.
	Cost() Cost
}

// ErrNoSpace is wrapped by the error of an Interner that has no room for a stack.
var ErrNoSpace = stackmap.ErrNoSpace

// Cost says how much of a kernel's memory an Interner takes, in bytes, and how
// much of that is in use.
type Cost = stackmap.Cost

// Faulty is an Interner that counts where its ids are not what one expects. One
// without this method has no faults.
type Faulty interface{ Faults() Faults }

// Faults counts what a map does to stacks beside refusing them.
type Faults = variant.Faults

// MapConfig says how stacks get ids: which map there is, and what the recorder
// and the tracefs do around it. The zero value is a stackmap.Config with its
// defaults and no policy. Start from [Documented], [V2] or [V4].
type MapConfig struct {
	stackmap.Config
	Policy
	// New makes the Interner; if it is nil, that is a stackmap of Config.
	New func(MapConfig) (Interner, error)
	// NoSweep, if it is not empty, says why no size of the map can be recommended. That
	// is so if the first answer for a stack is not the answer for good.
	NoSweep string
}

// Policy says what the recorder and the tracefs do around a map; no map does
// these things by itself.
type Policy struct {
	ReserveFirst       bool // the recorder reserves the ring slot before it asks for an id, and discards it on an error
	ClearBufferOnReset bool // a reset empties the ring buffer and the snapshot before the map
	TopLevelOnly       bool // instances without a map have no option stackmap
	PerInstance        bool // each instance has a map of its own, with its files; otherwise only the top one has
	FunctionStacks     bool // while options/stackmap is on, options/stacktrace covers the function tracer
	KeepBufferOnNop    bool // while options/stackmap is on, a switch to nop keeps the buffer
}

// V2 is RFC v2 as a real patched 6.12 runs it: the map is asked before the ring buffer,
// and a reset leaves the trace alone.
func V2() MapConfig { return MapConfig{Config: stackmap.V2()} }

// V4 is RFC v4 as a real patched 6.12 runs it: the ring slot is reserved first, a reset
// empties the trace too, and the option belongs to the top instance.
func V4() MapConfig {
	return MapConfig{Config: stackmap.V4(), Policy: Policy{ReserveFirst: true, ClearBufferOnReset: true, TopLevelOnly: true}}
}

// Documented is what the documentation and the self test of v2 promise a user, with
// v4's corrections: the documented session (options stackmap and stacktrace, then the
// function tracer) gives ids.
//
// Departure: neither real kernel passes the self test of v2; their function tracer
// ignores options/stacktrace, and a switch to nop empties the buffer.
func Documented() MapConfig {
	return MapConfig{Config: stackmap.Documented(), Policy: Policy{ReserveFirst: true, FunctionStacks: true, KeepBufferOnNop: true}}
}

// Open makes the Interner that c describes.
func (c MapConfig) Open() (Interner, error) {
	if c.New != nil {
		m, err := c.New(c)
		if err == nil && m == nil {
			err = fmt.Errorf("map %s: New made none", c.Preset)
		}
		return m, err
	}
	m, err := stackmap.New(c.Config)
	if err != nil {
		return nil, err
	}
	return Stackmap{m}, nil
}

// IsZero reports whether nothing of c is set.
func (c MapConfig) IsZero() bool {
	return c.New == nil && c.NoSweep == "" && c.Config == stackmap.Config{} && c.Policy == Policy{}
}

// Stackmap is a stack map as an Interner. Its ids are the map's slots.
type Stackmap struct{ *stackmap.Map }

// Intern implements [Interner].
func (m Stackmap) Intern(cpu int, ips []uint64) (uint32, error) { return m.GetID(cpu, ips) }

// Faults implements [Faulty]: CPUs that store the same new stack at the same moment may
// both give it an id.
func (m Stackmap) Faults() Faults { return Faults{Duplicates: stackmap.Duplicates(m.Map)} }
