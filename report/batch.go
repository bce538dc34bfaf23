package report

import (
	"context"
	"errors"
	"io"
	"sync"

	"ftracelab/tracer/record"
)

// Sizes of a batch. For a record that is larger than a whole arena, the arena grows.
const (
	batchRecords = 2048
	batchBytes   = 256 << 10
	batchWords   = 32 << 10
	batchCount   = 3 // one is being filled, one is being consumed, and one is in between
)

// batch is a run of a source's records, copied so that they outlive its next call.
type batch struct {
	records []record.Record
	bytes   []byte
	words   []uint64
	users   sync.WaitGroup // consumers that still read it
}

func newBatch() *batch {
	return &batch{
		records: make([]record.Record, 0, batchRecords),
		bytes:   make([]byte, 0, batchBytes),
		words:   make([]uint64, 0, batchWords),
	}
}

// reset empties b for reuse.
func (b *batch) reset() {
	b.records, b.bytes, b.words = b.records[:0], b.bytes[:0], b.words[:0]
}

// fits reports whether r can be added without moving what is there.
func (b *batch) fits(r *record.Record) bool {
	if len(b.records) == 0 {
		return true
	}
	return len(b.records) < cap(b.records) &&
		len(b.bytes)+len(r.Data) <= cap(b.bytes) &&
		len(b.words)+len(r.Stack) <= cap(b.words)
}

// add copies r. Only the first record of a batch may make the arenas grow.
func (b *batch) add(r *record.Record) {
	c := *r
	if r.Data != nil {
		at := len(b.bytes)
		b.bytes = append(b.bytes, r.Data...)
		c.Data = b.bytes[at:len(b.bytes):len(b.bytes)]
	}
	if r.Stack != nil {
		at := len(b.words)
		b.words = append(b.words, r.Stack...)
		c.Stack = b.words[at:len(b.words):len(b.words)]
	}
	b.records = append(b.records, c)
}

// reader cuts a source into batches.
type reader struct {
	src   record.Source
	carry record.Record // was read but did not fit
	held  bool
	done  bool
}

// fill reads records into b until it is full or the source ends.
func (rd *reader) fill(b *batch) error {
	b.reset()
	for !rd.done {
		if !rd.held {
			rd.carry = record.Record{}
			err := rd.src.Next(&rd.carry)
			if errors.Is(err, io.EOF) {
				rd.done = true
				return nil
			}
			if err != nil {
				return err
			}
		}
		if rd.held = !b.fits(&rd.carry); rd.held {
			return nil
		}
		b.add(&rd.carry)
	}
	return nil
}

// consumer takes a trace's batches in order, on a goroutine of its own.
type consumer interface {
	consume(b *batch) error
}

// pump hands the batches of rd to all consumers, beginning with first, which is already
// filled. Every consumer sees every record in the order of the source, so nothing
// depends on timing. An error of the source takes precedence, then errors of the
// consumers in their order, then that of ctx. After ctx has ended, nothing is consumed.
func pump(ctx context.Context, rd *reader, first *batch, consumers []consumer) error {
	var running sync.WaitGroup
	queues := make([]chan *batch, len(consumers))
	errs := make([]error, len(consumers))
	for i, c := range consumers {
		queues[i] = make(chan *batch, batchCount)
		running.Go(func() {
			for b := range queues[i] {
				if errs[i] == nil && ctx.Err() == nil {
					errs[i] = c.consume(b)
				}
				b.users.Done()
			}
		})
	}

	ring := [batchCount]*batch{first}
	var readErr error
	for n := 0; ; n++ {
		b := ring[n%batchCount]
		b.users.Add(len(consumers))
		for _, q := range queues {
			q <- b
		}
		if rd.done {
			break
		}
		next := (n + 1) % batchCount
		if ring[next] == nil {
			ring[next] = newBatch()
		}
		ring[next].users.Wait()
		if readErr = rd.fill(ring[next]); readErr != nil {
			break
		}
	}
	for _, q := range queues {
		close(q)
	}
	running.Wait()
	for _, err := range append([]error{readErr}, errs...) {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
