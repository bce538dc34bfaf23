package output

import "ftracelab/ringbuf"

// Entry is one record as a reader of the ring buffer gets it.
type Entry = ringbuf.Entry

// Reader gives the records of one CPU in order. The Data of a record is valid until the
// next call. *ringbuf.Iter is a Reader; Consumer makes another.
type Reader interface {
	Peek() (Entry, bool)
	Next() (Entry, bool)
}

// Batcher is a Reader that can give many records in one call. They and their data are
// valid until the next call of any of its methods.
type Batcher interface {
	Reader
	// Batch takes the next records, at least one while there are any.
	Batch() []Entry
}

// Merge gives the records of several CPUs in the order of time. Of records with the
// same time, the one whose CPU comes first in the list goes first.
//
// Kernel: __find_next_entry, kernel/trace/trace.c.
type Merge struct {
	readers []Reader
	heads   []head
	live    bool
	// turns are the readers that have records, sorted by the time of their next record.
	// With moved, the first reader has gone on, and its turn still has the time of the
	// record before; with stale, that may be so for all of them.
	turns []turn
	moved bool
	stale bool
}

// head holds the records that a reader has given and Merge has not. If the buffers do
// not change, they are already taken from the reader, so a reader is asked at most once
// for each record.
type head struct {
	batch []Entry
	one   [1]Entry // the memory of batch if the reader is no Batcher
}

// turn says at what time it is the turn of a reader.
type turn struct {
	time   uint64
	reader int
}

func (t turn) before(u turn) bool {
	return t.time < u.time || t.time == u.time && t.reader < u.reader
}

// NewMerge merges the records of readers. It reads ahead, so the buffers must not
// change meanwhile; if they do, use NewLiveMerge.
func NewMerge(readers ...Reader) *Merge {
	return &Merge{readers: readers, heads: make([]head, len(readers)), stale: true}
}

// NewLiveMerge merges the records of buffers that are still being written. Each step
// looks at all readers again.
func NewLiveMerge(readers ...Reader) *Merge {
	m := NewMerge(readers...)
	m.live = true
	return m
}

// first is the index of the reader with the earliest record, -1 at the end.
func (m *Merge) first() int {
	switch {
	case m.live || m.stale:
		m.sort()
	case m.moved:
		m.advance()
	}
	if len(m.turns) == 0 {
		return -1
	}
	return m.turns[0].reader
}

// sort makes turns anew, from all readers.
func (m *Merge) sort() {
	m.turns, m.stale, m.moved = m.turns[:0], false, false
	for i := range m.readers {
		if h := m.look(i); len(h.batch) > 0 {
			m.turns = append(m.turns, turn{h.batch[0].Time, i})
			for k := len(m.turns) - 1; k > 0 && m.turns[k].before(m.turns[k-1]); k-- {
				m.turns[k], m.turns[k-1] = m.turns[k-1], m.turns[k]
			}
		}
	}
}

// advance finds the new place of the first reader, which has gone on.
func (m *Merge) advance() {
	m.moved = false
	t := m.turns[0]
	h := m.look(t.reader)
	if len(h.batch) == 0 {
		m.turns = append(m.turns[:0], m.turns[1:]...)
		return
	}
	t.time = h.batch[0].Time
	k := 1
	for k < len(m.turns) && m.turns[k].before(t) {
		m.turns[k-1] = m.turns[k]
		k++
	}
	m.turns[k-1] = t
}

// look fills the head of a reader with its next record, if there is one.
func (m *Merge) look(i int) *head {
	h := &m.heads[i]
	if len(h.batch) > 0 && !m.live {
		return h
	}
	var ok bool
	if b, batches := m.readers[i].(Batcher); batches && !m.live {
		h.batch = b.Batch()
		return h
	} else if m.live {
		h.one[0], ok = m.readers[i].Peek()
	} else {
		h.one[0], ok = m.readers[i].Next()
	}
	h.batch = h.one[:0]
	if ok {
		h.batch = h.one[:1]
	}
	return h
}

// Empty reports whether there is nothing more to read.
func (m *Merge) Empty() bool { return m.first() < 0 }

// Next takes the earliest record. reader says which reader it came from, for PeekAt and
// SkipAt.
func (m *Merge) Next() (e Entry, reader int, ok bool) {
	reader, ok = m.next(&e)
	return e, reader, ok
}

func (m *Merge) next(e *Entry) (reader int, ok bool) {
	if m.moved && !m.stale { // most often the next record comes from the same reader
		t := m.turns[0]
		if h := &m.heads[t.reader]; len(h.batch) > 0 && (len(m.turns) == 1 || h.batch[0].Time < m.turns[1].time) {
			*e = h.batch[0]
			h.batch = h.batch[1:]
			return t.reader, true
		}
	}
	i := m.first()
	if i < 0 {
		return -1, false
	}
	if m.live {
		*e, ok = m.readers[i].Next()
		return i, ok
	}
	h := &m.heads[i]
	*e = h.batch[0]
	h.batch = h.batch[1:]
	m.moved = true
	return i, true
}

// PeekTime gives the time of the record that Next would give. The data of the record
// given last may become invalid.
func (m *Merge) PeekTime() (time uint64, ok bool) {
	i := m.first()
	if i < 0 {
		return 0, false
	}
	return m.turns[0].time, true
}

// PeekAt shows the next record of one reader. The data of the record given last may
// become invalid.
func (m *Merge) PeekAt(reader int) (Entry, bool) {
	if h := m.look(reader); len(h.batch) > 0 {
		return h.batch[0], true
	}
	return Entry{}, false
}

// SkipAt passes over the next record of one reader.
func (m *Merge) SkipAt(reader int) {
	if m.live {
		m.readers[reader].Next()
		return
	}
	h := m.look(reader)
	if len(h.batch) == 0 {
		return
	}
	h.batch = h.batch[1:]
	if len(m.turns) > 0 && m.turns[0].reader == reader {
		m.moved = true
	} else {
		m.stale = true
	}
}

// consumer reads a CPU of a buffer and removes what it has read.
type consumer struct {
	b   *ringbuf.Buffer
	cpu int
}

// Consumer makes the reader for trace_pipe. The records that it gives are removed from
// b.
func Consumer(b *ringbuf.Buffer, cpu int) Reader { return consumer{b, cpu} }

func (c consumer) Peek() (Entry, bool) { return c.b.Peek(c.cpu) }
func (c consumer) Next() (Entry, bool) { return c.b.Consume(c.cpu) }
