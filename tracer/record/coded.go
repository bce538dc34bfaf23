package record

import (
	"fmt"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record/stackcode"
)

// codedStackSize is the size of a coded stack without its rest, common fields included.
const codedStackSize = event.CommonSize + 2 + 2

// The reference of a coded stack is the last one before it on its sub-buffer that was
// recorded in the same context. So each sub-buffer can be read alone, whatever was
// overwritten; and as a context never interrupts itself, its stacks are coded in the order
// in which they lie on the sub-buffer.

// contexts is how many of them have references.
const contexts = 4

// contextOf tells in which context a record was made.
func contextOf(c event.Common) ringbuf.Context {
	switch {
	case c.Flags&event.FlagNMI != 0:
		return ringbuf.NMI
	case c.Flags&event.FlagHardIRQ != 0:
		return ringbuf.IRQ
	case c.Flags&event.FlagSoftIRQ != 0:
		return ringbuf.SoftIRQ
	}
	return ringbuf.Normal
}

// reference is the last coded stack of a context of a CPU.
type reference struct {
	page uint64 // on which it is, see Ring.Page
	ips  []uint64
}

// codedStack writes a kernel stack as what it shares with its reference, and reports
// whether it did: not if it would take more room than all its addresses.
//
// Whether the record begins a sub-buffer shows when there is room for it. If so, there is
// no reference, and the room is given back for one of the right size.
func (r *Recorder) codedStack(cpu int, ctx ringbuf.Context, t *Stack) (done bool, err error) {
	for len(r.refs) <= cpu {
		r.refs = append(r.refs, [contexts]reference{})
	}
	ref := &r.refs[cpu][contextOf(t.Common)]
	page := r.ring.Page(cpu)
	known := ref.ips
	if ref.page != page {
		known = nil
	}
	var e ringbuf.Event
	for {
		if !r.code(known, t.IPs) {
			return false, nil
		}
		if e, err = r.ring.Reserve(cpu, ctx, codedStackSize+len(r.codedRec.Rest)); err != nil {
			return false, err
		}
		if known == nil || r.ring.Page(cpu) == page {
			break
		}
		r.ring.Discard(cpu, e)
		known = nil
	}
	events.CodedStack.Append(e.Data[:0], t.Common, &r.codedRec)
	retype(e.Data, t.Common, r.stacks.IDs.CodedStack)
	ref.page, ref.ips = r.ring.Page(cpu), append(ref.ips[:0], t.IPs...)
	r.ring.Commit(cpu, e)
	return true, nil
}

// code makes the record of a stack after ref; it returns false if a record with all
// addresses is shorter, or if the counts have no room.
func (r *Recorder) code(ref, ips []uint64) bool {
	if len(ips) > stackcode.MaxDepth {
		return false
	}
	shared := stackcode.Shared(ref, ips)
	r.scratch = r.stacks.code.Append(r.scratch[:0], ref, ips, shared)
	r.codedRec = events.CodedStackRecord{Own: uint16(len(ips) - shared), Shared: uint16(shared), Rest: r.scratch}
	return codedStackSize+len(r.scratch) <= kernelStackSize+8*len(ips)
}

// CodedReader reads the coded stacks of sub-buffers, of one after the other.
type CodedReader struct {
	code stackcode.Code
	refs [contexts]struct {
		last, next []uint64
		err        error
	}
	data []byte
	rec  events.CodedStackRecord
}

// NewCodedReader returns a reader of stacks that a design with that code has written.
func NewCodedReader(code stackcode.Code) *CodedReader { return &CodedReader{code: code} }

// Reset is called where a sub-buffer begins.
func (d *CodedReader) Reset() {
	for n := range d.refs {
		ref := &d.refs[n]
		ref.last, ref.err = ref.last[:0], nil
	}
}

// Stack reads the stack in a record, which belongs to the reader until the next call.
// The records of a sub-buffer are read in their order. After an error the others of the
// same context cannot be read either, until Reset.
func (d *CodedReader) Stack(data []byte) ([]uint64, error) {
	if len(data) < codedStackSize {
		return nil, fmt.Errorf("coded stack: a record of %d bytes, needs %d", len(data), codedStackSize)
	}
	common := event.ParseCommon(data)
	d.data = append(d.data[:0], data...)
	retype(d.data, common, uint16(events.CodedStack.ID)) // it has the id of its trace
	if err := events.CodedStack.Decode(d.data, &d.rec); err != nil {
		return nil, err
	}
	ref := &d.refs[contextOf(common)]
	if ref.err != nil {
		return nil, fmt.Errorf("a stack before it cannot be read: %w", ref.err)
	}
	ref.next, ref.err = d.code.Decode(ref.next[:0], ref.last, int(d.rec.Own), int(d.rec.Shared), d.rec.Rest)
	if ref.err != nil {
		return nil, fmt.Errorf("coded stack: %w", ref.err)
	}
	ref.last, ref.next = ref.next, ref.last
	return ref.last, nil
}
