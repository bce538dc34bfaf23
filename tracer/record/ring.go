package record

import "ftracelab/ringbuf"

// Ring is what a [Recorder] writes into: a [ringbuf.Buffer], or a ring of a design's own.
// Such a ring must write pages that [ringbuf.PageReader] can read. It may embed a Buffer
// and change what it likes, for example the length of what is reserved.
//
// One goroutine writes for each CPU. The report calls ReadPage and Ledger from the
// goroutine that writes.
type Ring interface {
	// Reserve takes room for a record of size bytes, or returns an error and takes
	// nothing. The room may be longer than asked for; what is not written is zero.
	Reserve(cpu int, ctx ringbuf.Context, size int) (ringbuf.Event, error)
	// Commit and Discard end what Reserve began.
	Commit(cpu int, e ringbuf.Event)
	Discard(cpu int, e ringbuf.Event)
	// MaxEventSize is the longest record that there can be room for.
	MaxEventSize() int
	// Page tells the sub-buffers apart that the writer has been on: it grows when the
	// writer goes on to the next one, and when the ring is reset.
	Page(cpu int) uint64
	// NestStart allows an event within an open one of the same context, until NestEnd.
	NestStart(cpu int)
	NestEnd(cpu int)

	// ReadPage takes the oldest sub-buffer out of the ring and reports whether there
	// was one. If full is set it takes only those that the writer has left.
	ReadPage(cpu int, page []byte, full bool) bool
	// Ledger says what the bytes written so far are used for.
	Ledger(cpu int) ringbuf.Ledger
}

// NewRing makes the ring that d writes into.
func (d Design) NewRing(c ringbuf.Config) (Ring, error) {
	if d.Ring != nil {
		return d.Ring(c)
	}
	return ringbuf.New(c)
}
