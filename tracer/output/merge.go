package output

import "ftracelab/ringbuf"

// Entry is one record as a reader of the ring buffer gets it.
type Entry = ringbuf.Entry

// Reader gives the records of one CPU in order. Data of what it returns is
// valid until its next call. *ringbuf.Iter is one; Consumer makes another.
type Reader interface {
	Peek() (Entry, bool)
	Next() (Entry, bool)
}

// Merge gives the records of several CPUs in the order of time; of equal times
// the CPU that comes first in the list goes first.
//
// Kernel: __find_next_entry, kernel/trace/trace.c.
type Merge struct {
	readers []Reader
	heads   []head
	live    bool
	// leader is the reader that Next took from last; it stays first while its next
	// record is not later than rival's, the first of the others (-1: there is none).
	leader, rival int
}

// head is the record that a reader is to give next. Of buffers that do not change
// it is taken already, so that each reader is asked once for each record.
type head struct {
	Entry
	known bool // Entry and empty are valid
	empty bool
}

// NewMerge merges what readers give; it reads one record ahead. They must not
// change under it; see NewLiveMerge.
func NewMerge(readers ...Reader) *Merge {
	return &Merge{readers: readers, heads: make([]head, len(readers)), leader: -1, rival: -1}
}

// NewLiveMerge merges readers of buffers that are still written to: each step
// looks at all of them afresh.
func NewLiveMerge(readers ...Reader) *Merge {
	m := NewMerge(readers...)
	m.live = true
	return m
}

// first is the index of the reader with the earliest record, -1 at the end.
func (m *Merge) first() int {
	if l := m.leader; l >= 0 && !m.live {
		if m.look(l); m.before(l, m.rival) {
			return l
		}
	}
	m.leader, m.rival = -1, -1
	for i := range m.heads {
		m.look(i)
		switch {
		case m.before(i, m.leader):
			m.leader, m.rival = i, m.leader
		case m.before(i, m.rival):
			m.rival = i
		}
	}
	return m.leader
}

// look makes sure of the next record of a reader.
func (m *Merge) look(i int) {
	h := &m.heads[i]
	switch {
	case m.live:
		e, ok := m.readers[i].Peek()
		*h = head{Entry: e, known: true, empty: !ok}
	case !h.known:
		e, ok := m.readers[i].Next()
		h.Entry, h.known, h.empty = e, true, !ok
	}
}

// before says whether reader i has a record, and that before reader j; j < 0 is a
// reader without records.
func (m *Merge) before(i, j int) bool {
	switch h := &m.heads[i]; {
	case h.empty:
		return false
	case j < 0 || m.heads[j].empty:
		return true
	case h.Time == m.heads[j].Time:
		return i < j
	default:
		return h.Time < m.heads[j].Time
	}
}

// Empty says whether there is nothing (more) to read.
func (m *Merge) Empty() bool { return m.first() < 0 }

// Next takes the earliest record. reader names where it came from, for PeekAt and SkipAt.
func (m *Merge) Next() (e Entry, reader int, ok bool) {
	reader, ok = m.next(&e)
	return e, reader, ok
}

func (m *Merge) next(e *Entry) (reader int, ok bool) {
	i := m.first()
	if i < 0 {
		return -1, false
	}
	if m.live {
		*e, ok = m.readers[i].Next()
		return i, ok
	}
	m.heads[i].known = false
	*e = m.heads[i].Entry
	return i, true
}

// PeekTime is the time of the record that Next would give. It may make the data
// of the last one invalid.
func (m *Merge) PeekTime() (time uint64, ok bool) {
	i := m.first()
	if i < 0 {
		return 0, false
	}
	return m.heads[i].Time, true
}

// PeekAt shows the next record of one reader. It may make the data of the last
// one invalid.
func (m *Merge) PeekAt(reader int) (Entry, bool) {
	m.look(reader)
	h := &m.heads[reader]
	return h.Entry, !h.empty
}

// SkipAt passes over the next record of one reader.
func (m *Merge) SkipAt(reader int) {
	if m.live {
		m.readers[reader].Next()
		return
	}
	m.look(reader)
	m.heads[reader].known = false
}

// consumer reads a CPU of a buffer and takes what it reads away.
type consumer struct {
	b   *ringbuf.Buffer
	cpu int
}

// Consumer is the reader of trace_pipe: what it gives is gone from b.
func Consumer(b *ringbuf.Buffer, cpu int) Reader { return consumer{b, cpu} }

func (c consumer) Peek() (Entry, bool) { return c.b.Peek(c.cpu) }
func (c consumer) Next() (Entry, bool) { return c.b.Consume(c.cpu) }
