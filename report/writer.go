package report

import (
	"cmp"
	"errors"
	"fmt"

	"ftracelab/ringbuf"
	"ftracelab/stackmap"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// Sizes, in bytes, of records in the ring buffer.
const (
	eventHeaderBytes = 4
	lengthWordBytes  = 4
	wordBytes        = 8 // an address

	kernelStackFixed = 16 // common fields, size, padding to the addresses
	userStackTGID    = 8  // offset of tgid
	userStackSize    = 80 // with 8 addresses
	timeExtendBytes  = 8
	stackHole        = 12 // offset of the padding to the addresses
	stackIDFixed     = 12 // common fields, stack_id
	inlineUserFrames = 8  // caller[8] of user_stack
	unwindFrameBytes = 20 // of an address in user_unwind_stack: address, inode, device

	// recordOverhead is the most that a record takes besides its data: event header,
	// length word, alignment and a time extend.
	recordOverhead = 20
	// discardBytes is what a discarded stack_id costs: the event after it has an
	// absolute time stamp.
	discardBytes = 8
)

// stackIDBytes is the room that a stack_id takes, with its header.
var stackIDBytes = uint64(ringbuf.EventSize(stackIDFixed))

// userStackBytes is the room that a user_stack takes.
var userStackBytes = uint64(ringbuf.EventSize(userStackSize))

// cookieBytes is the room that a user_unwind_cookie takes.
var cookieBytes = uint64(ringbuf.EventSize(16))

// kernelStackBytes is the room that a kernel_stack of that many addresses takes.
func kernelStackBytes(depth int) uint64 {
	return uint64(ringbuf.EventSize(kernelStackFixed + wordBytes*depth))
}

// kernelStackDepth gives the number of addresses in a kernel_stack whose data has that
// length.
func kernelStackDepth(length int) int { return (length - kernelStackFixed) / wordBytes }

// writer records a trace as one design would. Each CPU has a lane.
type writer struct {
	design record.Design
	opt    *Options
	ids    recordIDs
	stacks *record.Stacks
	lanes  []*lane
	page   []byte
	counts writerCounts
	stack  record.Stack
	common [event.CommonSize]byte
}

// writerCounts says what became of the records. For stacks, record.Stacks knows more.
type writerCounts struct {
	tooBig uint64 // records that no sub-buffer can hold
	// stackTooBig is how many of tooBig are stacks.
	stackTooBig uint64
	primary     [classes]uint64 // the events that were written, by the class of their type
	depthIDs    [maxDepth + 1]uint64
}

func newWriter(d record.Design, opt *Options) (*writer, error) {
	ids := namedIDs(opt.Types)
	stacks, err := record.NewStacks(largest(d), record.RecordIDs(ids))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return &writer{design: d, opt: opt, ids: ids, stacks: stacks, page: make([]byte, opt.SubbufSize)}, nil
}

// largest gives the largest size to the maps whose size is recommended later. A stack
// that the recommended map does not refuse is written through the largest one in the
// same way.
func largest(d record.Design) record.Design {
	d.KernelMap.Bits = cmp.Or(d.KernelMap.Bits, stackmap.MaxBits)
	d.UserMap.Bits = cmp.Or(d.UserMap.Bits, stackmap.MaxBits)
	return d
}

// consume records a batch.
func (w *writer) consume(b *batch) error {
	for i := range b.records {
		r := &b.records[i]
		var err error
		switch r.Kind {
		case record.Event:
			err = w.event(r)
		case record.KernelStack:
			err = w.kernelStack(r)
		case record.UserStack:
			err = w.userStack(r)
		}
		if errors.Is(err, ringbuf.ErrTooBig) {
			w.counts.tooBig++
			if r.Kind != record.Event {
				w.counts.stackTooBig++
			}
			err = nil
		}
		if err != nil {
			return fmt.Errorf("report: design %s, cpu %d: %w", w.design.Name, r.CPU, err)
		}
	}
	return nil
}

// lane returns the lane of a CPU, with its clock at the record's time and with room for
// that many bytes in that many records.
func (w *writer) lane(r *record.Record, bytes, records int) (*lane, error) {
	for len(w.lanes) <= r.CPU {
		w.lanes = append(w.lanes, nil)
	}
	l := w.lanes[r.CPU]
	if l == nil {
		var err error
		if l, err = newLane(r.CPU, w); err != nil {
			return nil, err
		}
		w.lanes[r.CPU] = l
	}
	l.at(r.Time)
	return l, l.makeRoom(bytes + records*recordOverhead)
}

// event writes the record as it is. If the capture has no record, only the common
// fields are written.
func (w *writer) event(r *record.Record) error {
	data := r.Data
	if len(data) < event.CommonSize {
		r.Common.Put(w.common[:])
		data = w.common[:]
	}
	l, err := w.lane(r, len(data), 1)
	if err != nil {
		return err
	}
	if err := l.recorder.Event(0, ringbuf.Normal, data); err != nil {
		return err
	}
	w.counts.primary[w.ids.class(event.ParseCommon(data).Type)]++
	l.newEntry, l.call = r.NewEntry, r.Call
	return nil
}

// kernelStack writes a kernel stack in the way of the design.
func (w *writer) kernelStack(r *record.Record) error {
	l, err := w.stackLane(r)
	if err != nil {
		return err
	}
	mode, err := l.recorder.WriteKernelStack(0, ringbuf.Normal, w.offer(l, r))
	switch mode {
	case record.StackID:
		w.counts.depthIDs[min(len(r.Stack), maxDepth)]++
	case record.CodedStack:
		l.coded.add(r.Stack)
	}
	return err
}

// userStack writes a user stack in the way of the design.
func (w *writer) userStack(r *record.Record) error {
	l, err := w.stackLane(r)
	if err != nil {
		return err
	}
	_, err = l.recorder.WriteUserStack(0, ringbuf.Normal, w.offer(l, r))
	return err
}

// stackLane returns the lane, with room for everything that the record's stack may
// become.
func (w *writer) stackLane(r *record.Record) (*lane, error) {
	bytes, records := w.stacks.Room(len(r.Stack))
	return w.lane(r, bytes, records)
}

// offer gives the stack of a record in the form that the recorder takes.
func (w *writer) offer(l *lane, r *record.Record) *record.Stack {
	w.stack = stackOf(r)
	w.stack.NewEntry, w.stack.Call = l.newEntry, l.call
	return &w.stack
}

// stackOf gives the stack of a record. The tgid, and what the page held in the hole,
// come from the capture's own record.
func stackOf(r *record.Record) record.Stack {
	s := record.Stack{Common: r.Common, IPs: r.Stack, TGID: uint32(r.Common.PID), Stay: r.Stay}
	if len(r.Data) >= stackHole+4 {
		s.Hole = word(r.Data[stackHole:])
		if r.Kind == record.UserStack {
			s.TGID = word(r.Data[userStackTGID:])
		}
	}
	return s
}

// word reads a little-endian 32-bit word of a record.
func word(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// wrote tells how many records of a class the design has written.
func (w *writer) wrote(c class) uint64 {
	n := &w.stacks.Counts
	written := [classes]uint64{
		kernelStack: n.Full, userStack: n.UserFull, stackID: n.IDs, userStackID: n.UserIDs, userCookie: n.Cookies, unwindStack: n.Unwinds,
		codedStack: n.Coded,
	}
	return w.counts.primary[c] + written[c]
}

// finish empties all lanes and checks them. Each lane checks its bytes; here it is
// checked that every record was found again with the class with which it was written.
func (w *writer) finish() error {
	for _, l := range w.lanes {
		if l == nil {
			continue
		}
		if err := l.finish(); err != nil {
			return fmt.Errorf("design %s: %w", w.design.Name, err)
		}
	}
	t := w.sum()
	for c := range classes {
		if n := w.wrote(c); t.records[c] != n {
			return fmt.Errorf("report: design %s: wrote %d records as %v, found %d on the pages", w.design.Name, n, c, t.records[c])
		}
	}
	return nil
}
