package report

import (
	"fmt"
	"math/bits"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// recordIDs are the type ids that tell the kinds of a trace's records apart.
type recordIDs record.RecordIDs

// Ids for types that the capture's kernel does not have. They are above all ids that a
// kernel gives out.
const firstFreeID = 0xfff0

// namedIDs takes the ids from the capture's types, as far as these have the types.
func namedIDs(types *event.Table) recordIDs {
	free := uint16(firstFreeID)
	named := func(name string) uint16 {
		if types != nil {
			if t := types.ByName("ftrace", name); t != nil {
				return uint16(t.ID)
			}
		}
		free++
		return free
	}
	return recordIDs{
		KernelStack: named("kernel_stack"),
		UserStack:   named("user_stack"),
		StackID:     named("stack_id"),
		UserStackID: named("user_stack_id"),
		Cookie:      named("user_unwind_cookie"),
		UnwindStack: named("user_unwind_stack"),
		CodedStack:  named("coded_stack"),
	}
}

// class is a kind of records, as the tally counts them.
type class uint8

const (
	primary class = iota
	kernelStack
	userStack
	stackID
	userStackID
	userCookie
	unwindStack
	codedStack
	classes
)

func (c class) String() string {
	return [...]string{"event", "kernel_stack", "user_stack", "stack_id", "user stack_id", "cookie", "user_unwind_stack", "coded_stack"}[c]
}

// class tells what a record of a type is.
func (ids *recordIDs) class(typ uint16) class {
	switch typ {
	case ids.KernelStack:
		return kernelStack
	case ids.UserStack:
		return userStack
	case ids.StackID:
		return stackID
	case ids.UserStackID:
		return userStackID
	case ids.Cookie:
		return userCookie
	case ids.UnwindStack:
		return unwindStack
	case ids.CodedStack:
		return codedStack
	}
	return primary
}

// tally counts the bytes of decoded pages, independently of the writer's ledger.
type tally struct {
	pages                               uint64
	records                             [classes]uint64
	pageHeader, eventHeader, lengthWord uint64
	common, payload, stack              uint64 // kinds of data bytes in records
	extends, discarded, tail            uint64
	stackBytes                          uint64 // bytes of all records except primary ones, with their headers
	accounted                           uint64 // the part of tail that the kernel counts as bytes

	kernelFullDepth, kernelFullDepthSize [maxDepth + 1]uint64

	coded  *record.CodedReader // nil: there are no coded stacks
	stacks stackSum            // of the coded stacks that were read
}

func (t *tally) events() uint64 { return t.records[primary] }

func (t *tally) allRecords() (n uint64) {
	for _, k := range t.records {
		n += k
	}
	return n
}

// accountedTail is the smallest tail into which the kernel puts a padding event, so
// that its statistics count it as bytes.
//
// Kernel: rb_reset_tail, kernel/trace/ring_buffer.c.
const accountedTail = 8

// page counts the sub-buffer to which r has just been set; it has size bytes with its
// header. full says that the writer has left it. page returns how many primary events
// are on it.
func (t *tally) page(r *ringbuf.PageReader, size int, ids *recordIDs, full bool) (events uint64, err error) {
	if t.coded != nil {
		t.coded.Reset()
	}
	t.pages++
	t.pageHeader += ringbuf.PageHeaderSize
	tail := uint64(size - ringbuf.PageHeaderSize - r.Commit())
	t.tail += tail
	if full && tail >= accountedTail {
		t.accounted += tail
	}
	before := t.events()
	for {
		e, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case e.IsData():
			if err := t.record(&e, ids); err != nil {
				return 0, fmt.Errorf("offset %d: %w", e.Offset, err)
			}
		case e.TypeLen == ringbuf.TypePadding:
			t.discarded += uint64(e.Size)
		default:
			t.extends += uint64(e.Size)
		}
	}
	return t.events() - before, r.Err()
}

// record counts one data event of a page.
func (t *tally) record(e *ringbuf.PageEvent, ids *recordIDs) error {
	t.eventHeader += eventHeaderBytes
	if e.TypeLen == 0 {
		t.lengthWord += lengthWordBytes
	}
	n := uint64(len(e.Data))
	common := min(n, event.CommonSize)
	t.common += common
	c := primary
	if n >= event.CommonSize {
		c = ids.class(event.ParseCommon(e.Data).Type)
	}
	t.records[c]++
	if c == primary {
		t.payload += n - common
		return nil
	}
	t.stack += n - common
	t.stackBytes += uint64(e.Size)
	if c == kernelStack && len(e.Data) >= kernelStackFixed {
		d := min(kernelStackDepth(len(e.Data)), maxDepth)
		t.kernelFullDepth[d]++
		t.kernelFullDepthSize[d] += uint64(e.Size)
	}
	if c == codedStack && t.coded != nil {
		ips, err := t.coded.Stack(e.Data)
		if err != nil {
			return err
		}
		t.stacks.add(ips)
	}
	return nil
}

// stackSum tells apart what stacks there were, in which order.
type stackSum uint64

func (s *stackSum) add(ips []uint64) {
	h := uint64(*s) + uint64(len(ips))
	for _, ip := range ips {
		h = bits.RotateLeft64((h^ip)*0x9e3779b97f4a7c15, 29)
	}
	*s = stackSum(h)
}

// add sums the counts of another CPU.
func (t *tally) add(o *tally) {
	for _, p := range []struct{ to, from *uint64 }{
		{&t.pages, &o.pages},
		{&t.pageHeader, &o.pageHeader},
		{&t.eventHeader, &o.eventHeader},
		{&t.lengthWord, &o.lengthWord},
		{&t.common, &o.common},
		{&t.payload, &o.payload},
		{&t.stack, &o.stack},
		{&t.extends, &o.extends},
		{&t.discarded, &o.discarded},
		{&t.tail, &o.tail},
		{&t.stackBytes, &o.stackBytes},
		{&t.accounted, &o.accounted},
	} {
		*p.to += *p.from
	}
	for c := range t.records {
		t.records[c] += o.records[c]
	}
	for d := range t.kernelFullDepth {
		t.kernelFullDepth[d] += o.kernelFullDepth[d]
		t.kernelFullDepthSize[d] += o.kernelFullDepthSize[d]
	}
}

// recordBytes gives the bytes of all records: what lies on the pages between header and
// tail.
func (t *tally) recordBytes() uint64 {
	return t.eventHeader + t.lengthWord + t.common + t.payload + t.stack + t.extends + t.discarded
}

// agree compares the counts with the writer's ledger, and gives an error that names
// what differs.
func (t *tally) agree(l ringbuf.Ledger) error {
	for _, c := range []struct {
		what            string
		decoded, ledger uint64
	}{
		{"pages", t.pages, l.Pages},
		{"records", t.allRecords(), l.Events},
		{"bytes of page headers", t.pageHeader, l.PageHeader},
		{"bytes of event headers", t.eventHeader, l.EventHeader},
		{"bytes of length words", t.lengthWord, l.LengthWord},
		{"bytes of payload and alignment", t.common + t.payload + t.stack, l.Payload + l.Align},
		{"bytes of time extends", t.extends, l.Extend},
		{"bytes of discarded records", t.discarded, l.Discarded},
		{"bytes of page tails", t.tail, l.Tail + l.Unused},
	} {
		if c.decoded != c.ledger {
			return fmt.Errorf("the pages hold %d %s, the writer's ledger says %d", c.decoded, c.what, c.ledger)
		}
	}
	return nil
}
