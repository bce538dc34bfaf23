package record

import (
	"errors"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// Recorder writes events and their stacks into a ring buffer: an event as it is
// given, and the stacks that follow it as its Stacks decide.
//
// The time of a record is that of the buffer's clock when it is reserved.
// A Recorder is used by one goroutine at a time.
type Recorder struct {
	ring   Ring
	stacks *Stacks
	cpu    int // of the machine that CPU 0 of the ring is
	// scratch is where Write makes records, and where stacks are coded.
	scratch  []byte
	refs     [][contexts]reference // by CPU; of CodedStack
	codedRec events.CodedStackRecord
}

// NewRecorder returns a recorder into a ring.
func NewRecorder(ring Ring, stacks *Stacks) *Recorder {
	return &Recorder{ring: ring, stacks: stacks}
}

// NewRecorderOf returns a recorder into a ring that is one CPU's alone: for the maps,
// CPU 0 of that ring is this one.
func NewRecorderOf(cpu int, ring Ring, stacks *Stacks) *Recorder {
	return &Recorder{ring: ring, stacks: stacks, cpu: cpu}
}

// Stacks returns how stacks are written.
func (r *Recorder) Stacks() *Stacks { return r.stacks }

// Sizes of records with and before their variable part, common fields included.
const (
	kernelStackSize = event.CommonSize + 8 // int size, hole, addresses
	stackIDSize     = event.CommonSize + 4
	stackHole       = event.CommonSize + 4 // between a 32-bit field and the addresses
	userStackFrames = 8
)

// Room returns upper bounds for the records of a stack of that depth: their
// bytes without event headers and time stamps, and their number.
func (s *Stacks) Room(depth int) (bytes, records int) {
	return stackIDSize + unwindSize + max(kernelStackSize+8*depth, unwindFrameSize*depth, events.UserStack.Size), 3
}

// Event writes one binary record, common header included. On an error the
// buffer has taken nothing; in that case the kernel records no stack either.
//
// Kernel: trace_event_buffer_reserve and trace_event_buffer_commit,
// kernel/trace/trace.c.
func (r *Recorder) Event(cpu int, ctx ringbuf.Context, data []byte) error {
	e, err := r.ring.Reserve(cpu, ctx, len(data))
	if err != nil {
		return err
	}
	copy(e.Data, data)
	r.ring.Commit(cpu, e)
	return nil
}

// Write writes v, a record of d with the header h. On an error the buffer has taken
// nothing, and counts that.
func Write[T any](r *Recorder, cpu int, ctx ringbuf.Context, d *event.Def[T], h event.Common, v *T) error {
	r.scratch = d.Append(r.scratch[:0], h, v)
	return r.Event(cpu, ctx, r.scratch)
}

// WriteFunction is Write for the function tracer's record, of which there are very many. It
// encodes the record in the buffer.
func (r *Recorder) WriteFunction(cpu int, ctx ringbuf.Context, h event.Common, ip, parent uint64) error {
	e, err := r.ring.Reserve(cpu, ctx, event.PairSize)
	if err != nil {
		return err
	}
	events.Function.PutPair(e.Data, h, ip, parent)
	r.ring.Commit(cpu, e)
	return nil
}

// WriteKernelStack writes a kernel stack as the design says and returns how it was
// written: as an id if the map gives one, coded if that is shorter, and as the whole stack
// otherwise.
//
// Kernel: __ftrace_trace_stack, kernel/trace/trace.c; with the map, as the
// stackmap patches have it.
func (r *Recorder) WriteKernelStack(cpu int, ctx ringbuf.Context, t *Stack) (StackMode, error) {
	s := r.stacks
	switch s.Kernel {
	case NoStacks:
		return NoStacks, nil
	case StackID:
		done, drop, err := r.stackID(cpu, ctx, &s.kernelMap, s.IDs.StackID, t)
		if err != nil {
			return NoStacks, err
		}
		if done {
			s.Counts.IDs++
			return StackID, nil
		}
		s.Counts.Fallbacks++
		if drop {
			s.Counts.Drops++
		}
	case CodedStack:
		done, err := r.codedStack(cpu, ctx, t)
		if err != nil {
			return NoStacks, err
		}
		if done {
			s.Counts.Coded++
			return CodedStack, nil
		}
	}
	e, err := r.ring.Reserve(cpu, ctx, kernelStackSize+8*len(t.IPs))
	if err != nil {
		return NoStacks, err
	}
	s.kernelRec = events.KernelStackRecord{Size: int32(len(t.IPs)), Caller: t.IPs}
	events.KernelStack.Append(e.Data[:0], t.Common, &s.kernelRec)
	finishStack(e.Data, t, s.IDs.KernelStack)
	r.ring.Commit(cpu, e)
	s.Counts.Full++
	return FullStack, nil
}

// stackID writes a stack_id and reports whether it did; drop is set if the map
// had no room. The two revisions differ in order. v2 asks the map and then the
// buffer, so the map changes even while tracing is off. v4 reserves first and,
// if the map gives no id, discards the slot, which costs the next event an
// absolute time stamp.
func (r *Recorder) stackID(cpu int, ctx ringbuf.Context, m *interning, id uint16, t *Stack) (done, drop bool, err error) {
	if n := len(t.IPs); n == 0 || m.deepest > 0 && n > m.deepest {
		return false, false, nil
	}
	var slot uint32
	if !m.reserveFirst {
		if slot, err = m.Intern(r.cpu+cpu, t.IPs); err != nil {
			return false, errors.Is(err, ErrNoSpace), nil
		}
	}
	e, err := r.ring.Reserve(cpu, ctx, stackIDSize)
	if err != nil {
		return false, false, err
	}
	if m.reserveFirst {
		if slot, err = m.Intern(r.cpu+cpu, t.IPs); err != nil {
			r.ring.Discard(cpu, e)
			return false, errors.Is(err, ErrNoSpace), nil
		}
	}
	r.stacks.idRec.StackID = int32(slot)
	events.StackID.Append(e.Data[:0], t.Common, &r.stacks.idRec)
	retype(e.Data, t.Common, id)
	r.ring.Commit(cpu, e)
	return true, false, nil
}

// WriteUserStack writes a user stack as the design says.
func (r *Recorder) WriteUserStack(cpu int, ctx ringbuf.Context, t *Stack) (StackMode, error) {
	s := r.stacks
	switch s.User {
	case NoStacks:
		return NoStacks, nil
	case DeferredStack:
		return r.deferred(cpu, ctx, t)
	case StackID:
		done, drop, err := r.stackID(cpu, ctx, &s.userMap, s.IDs.UserStackID, t)
		if err != nil {
			return NoStacks, err
		}
		if done {
			s.Counts.UserIDs++
			return StackID, nil
		}
		s.Counts.UserFallbacks++
		if drop {
			s.Counts.UserDrops++
		}
	}
	return FullStack, r.userStack(cpu, ctx, t)
}

// userStack writes ftrace's record of the innermost 8 addresses.
//
// Kernel: ftrace_trace_userstack, kernel/trace/trace.c.
func (r *Recorder) userStack(cpu int, ctx ringbuf.Context, t *Stack) error {
	s := r.stacks
	e, err := r.ring.Reserve(cpu, ctx, events.UserStack.Size)
	if err != nil {
		return err
	}
	s.userRec = events.UserStackRecord{TGID: t.TGID}
	if copy(s.userRec.Caller[:], t.IPs) < len(t.IPs) {
		s.Counts.UserCut++
	}
	events.UserStack.Append(e.Data[:0], t.Common, &s.userRec)
	finishStack(e.Data, t, s.IDs.UserStack)
	r.ring.Commit(cpu, e)
	s.Counts.UserFull++
	return nil
}

// finishStack gives a kernel_stack or user_stack its type and its hole.
func finishStack(data []byte, t *Stack, id uint16) {
	retype(data, t.Common, id)
	for n := range 4 {
		data[stackHole+n] = byte(t.Hole >> (8 * n))
	}
}

// retype gives a record the type id of its buffer.
func retype(data []byte, c event.Common, id uint16) {
	c.Type = id
	c.Put(data)
}
