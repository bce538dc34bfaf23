package ringbuf

// Ledger says where the bytes written to a CPU's sub-buffers went, since the
// last reset; all fields but Events and Pages are bytes. With Unused they add
// up to the size of the pages:
//
//	Pages · SubbufSize = PageHeader + EventHeader + LengthWord + Payload +
//	    Align + Extend + Discarded + Tail + Unused
//
// The writer keeps it. PageLedger makes the same account of a page image from
// its bytes alone, which do not tell Payload and Align apart.
type Ledger struct {
	Events, Pages uint64

	PageHeader  uint64 // 16 of every page begun
	EventHeader uint64 // 4 of every event
	LengthWord  uint64 // 4 of every event above 112 bytes
	Payload     uint64 // what callers asked for
	Align       uint64 // between payload and the next event
	Extend      uint64 // time extends and absolute stamps
	Discarded   uint64 // discarded events that could not be given back
	Tail        uint64 // left at the end of pages because the next event did not fit
	Unused      uint64 // not yet written of the page that the writer is on
}

// ledger is what the writer counts; the rest follows from it.
type ledger struct {
	payload    uint64
	lengthWord uint64
	extend     uint64
	discarded  uint64
	tail       uint64
	pagesLeft  uint64
}

// discard counts an event's bytes as discarded; its time extend still counts as
// one.
func (l *ledger) discard(it item, length int) {
	l.payload -= uint64(length)
	l.discarded += uint64(it.size)
	if it.typeLen == 0 {
		l.lengthWord -= lengthWord
	}
}

// giveBack removes the last event, which was discarded and whose room is free
// again, from the account.
func (l *ledger) giveBack(size, extend int) {
	l.discarded -= uint64(size)
	l.extend -= uint64(extend)
}

// Ledger accounts for the bytes of cpu. Only the writer's goroutine may call
// it, and it is right only when no event is reserved.
func (b *Buffer) Ledger(cpu int) Ledger {
	c := b.writer(cpu)
	c.settle()
	entries, _ := c.written()
	l := Ledger{
		Events:      entries,
		Pages:       c.ledger.pagesLeft,
		EventHeader: headerSize * entries,
		LengthWord:  c.ledger.lengthWord,
		Payload:     c.ledger.payload,
		Extend:      c.ledger.extend,
		Discarded:   c.ledger.discarded,
		Tail:        c.ledger.tail,
	}
	if c.tail.write > 0 {
		l.Pages++
		if c.tail.realEnd == 0 { // otherwise the rest has been given up
			l.Unused = uint64(c.capacity - c.tail.write)
		}
	}
	l.PageHeader = PageHeaderSize * l.Pages
	l.Align = l.Pages*uint64(c.capacity) - l.Unused - l.Tail - l.EventHeader - l.LengthWord - l.Payload - l.Extend - l.Discarded
	return l
}

// PageLedger accounts for the bytes of one page image, independently of who
// wrote it. What follows the data counts as Tail. The error is what
// ReadPageImage returns or PageReader.Err tells.
func PageLedger(image []byte) (Ledger, error) {
	r, err := ReadPageImage(image)
	if err != nil {
		return Ledger{}, err
	}
	l := Ledger{Pages: 1, PageHeader: PageHeaderSize, Tail: uint64(len(image) - PageHeaderSize - r.Commit())}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		switch {
		case e.IsData():
			l.Events++
			l.EventHeader += headerSize
			l.Payload += uint64(len(e.Data))
			l.LengthWord += uint64(e.Size - headerSize - len(e.Data))
		case e.TypeLen == TypePadding:
			l.Discarded += uint64(e.Size)
		default:
			l.Extend += uint64(e.Size)
		}
	}
	return l, r.Err()
}

// Add adds another account to l, for sums over pages and CPUs.
func (l *Ledger) Add(other Ledger) {
	l.Events += other.Events
	l.Pages += other.Pages
	l.PageHeader += other.PageHeader
	l.EventHeader += other.EventHeader
	l.LengthWord += other.LengthWord
	l.Payload += other.Payload
	l.Align += other.Align
	l.Extend += other.Extend
	l.Discarded += other.Discarded
	l.Tail += other.Tail
	l.Unused += other.Unused
}
