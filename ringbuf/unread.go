package ringbuf

import (
	"encoding/binary"
	"slices"
)

// Unread gives back sub-buffers that were taken with ReadPage, in this order, and that
// nobody has looked at. GetReader shows them before all others, and Take reads them. What
// was taken of the sub-buffer on which the reader still is becomes unread there. images holds
// the sub-buffers one behind the other. Unread stops at the first image that is not a
// sub-buffer.
func (m *Mapping) Unread(images []byte) {
	c := m.buf.readers(m.cpu)
	defer c.lock.Unlock()
	var r PageReader
	for len(images) >= m.buf.subbufSize {
		page := images[:m.buf.subbufSize]
		images = images[len(page):]
		if r.Reset(page) != nil {
			break
		}
		if first, _, ok := r.NextData(); ok && c.goBack(first) {
			break // the rest was taken of the same sub-buffer
		}
		m.queue = append(m.queue, slices.Clone(page))
	}
	if len(m.queue) > 0 {
		m.lend(c)
		return
	}
	m.show(c, 0)
	m.update(c)
}

// Pending says whether there are sub-buffers from Unread that were not shown yet.
func (m *Mapping) Pending() bool {
	c := m.buf.readers(m.cpu)
	defer c.lock.Unlock()
	return len(m.queue) > 0
}

// Take reads the next sub-buffer from Unread in place of ReadPage. It reports false if there
// is none.
func (m *Mapping) Take(page []byte) (n int, ok bool) {
	c := m.buf.readers(m.cpu)
	defer c.lock.Unlock()
	if len(m.queue) == 0 {
		return 0, false
	}
	n = copy(page, m.queue[0])
	m.queue = m.queue[1:]
	return n, true
}

// goBack makes the events of the reader page unread that are not older than a time. It
// reports false if that page was not read, or if it is younger.
func (c *cpuBuffer) goBack(time uint64) bool {
	sub := c.reader.sub.Load()
	if sub == nil || c.read == 0 || sub.committed() < c.read || time < sub.stamp.Load() {
		return false
	}
	end, events, bytes := c.read, c.readEvents, c.readBytes
	c.read, c.readStamp = 0, sub.stamp.Load()
	for c.read < end {
		at, now := c.read, c.readStamp
		it := c.readItem(c.reader)
		for it.typeLen >= TypeTimeExtend { // which is never separated from its event
			c.advance(it)
			it = c.readItem(c.reader)
		}
		if it.typeLen <= TypeDataMax && c.readStamp+it.delta >= time {
			c.read, c.readStamp = at, now
			break
		}
		c.advance(it)
	}
	c.readEvents, c.readBytes = events, bytes
	left := c.read
	for p := left; p < end; {
		it, _ := decodeItem(sub.data, p, end)
		if it.typeLen <= TypeDataMax {
			c.readEvents--
		}
		c.readBytes -= uint64(it.size)
		p += it.size
	}
	return true
}

// lend shows the next sub-buffer from Unread as the reader's. It has the number of another
// one, so that a process which looks at the number sees that it changed.
func (m *Mapping) lend(c *cpuBuffer) {
	clear(m.page)
	copy(m.page, m.queue[0])
	if commit := binary.LittleEndian.Uint64(m.page[8:]); commit&missedEvents != 0 {
		binary.LittleEndian.PutUint64(m.page[8:], commit|extended)
	}
	id := 0
	if m.ReaderID() == id {
		id++
	}
	m.update(c)
	binary.LittleEndian.PutUint32(m.meta[24:], uint32(id))
	binary.LittleEndian.PutUint32(m.meta[28:], 0)
	m.lent = true
}

// endLending gives the reader's sub-buffer another number if it has the same as the one from
// Unread that is shown. It swaps numbers with the head, which is not shown.
func (m *Mapping) endLending(c *cpuBuffer) {
	lent := m.ReaderID()
	if m.ids[c.reader.id] != lent {
		return
	}
	m.ids[c.reader.id], m.ids[c.head.id] = m.ids[c.head.id], lent
}

// next does what GetReader does as long as there is something from Unread. If it reports
// false, there is nothing left, and GetReader looks at the ring.
func (m *Mapping) next(c *cpuBuffer) bool {
	if len(m.queue) == 0 {
		return m.lent && c.empty()
	}
	shown := binary.LittleEndian.Uint32(m.meta[28:]) // reader.read
	if !m.lent || shown != 0 {
		m.lend(c)
	}
	size := binary.LittleEndian.Uint32(m.page[8:]) &^ missedMask
	binary.LittleEndian.PutUint32(m.meta[28:], size)
	m.version++
	m.queue = m.queue[1:]
	return true
}
