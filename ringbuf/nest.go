package ringbuf

// openEvent is the place of an Event. Contexts nest like a stack, so the CPU
// keeps these on one, and an Event stays small enough to be passed in
// registers.
type openEvent struct {
	page uint32 // its id
	off  uint32 // of the event on its page, its time extend included
}

const nowhere = 1<<32 - 1 // for a page: the event has no room yet

// maxNest bounds the events open on one CPU: those of five contexts, and those
// that NestStart allows.
const maxNest = 32

// The recursion bits of a CPU: bit 0 for the one recursion that is allowed,
// then NMI, IRQ, SoftIRQ and Normal. So the lowest set bit is always the
// innermost context, and a writer leaves its context by clearing that bit.
//
// Kernel: trace_recursive_lock and _unlock, kernel/trace/ring_buffer.c.
const (
	transitionBit = 1 << 0
	normalShift   = 4
	nestedBits    = 5 // per NestStart
)

func (c *cpuBuffer) enter(ctx Context) bool {
	bit := uint64(1<<normalShift) >> (ctx & 3) << (c.nest & 63)
	if c.context&bit != 0 {
		bit = transitionBit << (c.nest & 63)
		if c.context&bit != 0 {
			return false
		}
	}
	c.context |= bit
	return true
}

func (c *cpuBuffer) leave() { c.context &= c.context - 1<<(c.nest&63) }

// NestStart lets the context that is writing on cpu write another event before
// it ends the first, as a synthetic event is made while the event that
// triggers it is open. NestEnd is called when that other event has ended.
//
// Kernel: ring_buffer_nest_start, kernel/trace/ring_buffer.c.
func (b *Buffer) NestStart(cpu int) {
	c := b.writer(cpu)
	c.settle()
	if c.nest += nestedBits; c.nest+nestedBits > 64 {
		panic("ringbuf: invariant: NestStart without NestEnd")
	}
}

// NestEnd ends what NestStart began.
func (b *Buffer) NestEnd(cpu int) { b.writer(cpu).nest -= nestedBits }
