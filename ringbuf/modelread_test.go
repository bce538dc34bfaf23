package ringbuf_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"syscall"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// What the model does to a ring but write: it reads, maps, swaps, resizes, waits.

// got checks one event that was read, lost events before it taken off first.
func (m *model) got(time uint64, data []byte, lost uint64, exact bool) {
	seq := binary.LittleEndian.Uint64(data)
	if m.carried != 0 {
		lost, m.carried = m.carried, 0
	}
	if lost == ringbuf.LostUnknown {
		for lost = 0; int(lost) < len(m.queue) && m.queue[lost].seq != seq; {
			lost++
		}
	}
	if lost >= uint64(len(m.queue)) {
		m.t.Fatalf("%d events lost of %d, then one read", lost, len(m.queue))
	}
	m.lost += lost
	want := m.queue[lost]
	m.queue = m.queue[lost+1:]
	switch {
	case want.seq != seq || want.size != len(data):
		m.t.Fatalf("read event %d with %d bytes after %d lost, want %+v", seq, len(data), lost, want)
	case time < m.lastTime:
		m.t.Fatalf("event %d at %d, before it %d", seq, time, m.lastTime)
	case time > want.time, time < want.time && (exact || !want.late && !want.loose):
		m.t.Fatalf("event %d at %d, its time was %d: %+v", seq, time, want.time, want)
	case time < want.time && want.late && !want.loose:
		m.seen["time of the event before"]++
		if lost == 0 && time != m.lastTime {
			m.t.Fatalf("event %d at %d, the one before at %d, its time was %d", seq, time, m.lastTime, want.time)
		}
	}
	m.lastTime = time
	m.read++
	m.seen["read"]++
}

// gotPage reads a page image: its last n data events, or all if n is below 0.
func (m *model) gotPage(image []byte, n int) {
	r, err := ringbuf.ReadPageImage(image)
	if err != nil {
		m.t.Fatal(err)
	}
	missed, lost, known := r.Missed()
	if missed && !known {
		lost = ringbuf.LostUnknown
	}
	if n < 0 {
		n = countEvents(m.t, image)
	}
	for skip := countEvents(m.t, image) - n; skip > 0; {
		if e, _ := r.Next(); e.IsData() {
			skip--
		}
	}
	if n == 0 && lost != 0 {
		m.carried = ringbuf.LostUnknown
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if e.IsData() {
			m.got(e.Time, e.Data, lost, e.Absolute)
			lost = 0
		}
	}
	if r.Err() != nil {
		m.t.Fatal(r.Err())
	}
}

func countEvents(t *rapid.T, image []byte) (n int) {
	l, err := ringbuf.PageLedger(image)
	if err != nil {
		t.Fatal(err)
	}
	return int(l.Events)
}

func (m *model) consume() bool {
	e, ok := m.b.Consume(0)
	if ok {
		m.got(e.Time, e.Data, e.Lost, false)
	} else if n := m.b.Stats(0).Entries; n != 0 {
		m.t.Fatalf("nothing to read with %d entries", n)
	}
	return ok
}

// drain reads all there is; then every loss has been told.
func (m *model) drain() {
	for m.consume() {
	}
	if s := m.b.Stats(0); s.Overrun < m.lost || s.Overrun-m.lost != uint64(len(m.queue)) {
		m.t.Fatalf("%d told as lost, %d never read, %+v", m.lost, len(m.queue), s)
	}
}

// iterate reads all that can still be read, which is the end of the queue.
func (m *model) iterate() {
	it := m.b.Iter(0)
	rest := m.queue[uint64(len(m.queue))-m.b.Stats(0).Entries:]
	n, last := 0, uint64(0)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		// What is on the reader page is older than what was lost.
		seq := binary.LittleEndian.Uint64(e.Data)
		if n >= len(rest) || seq != rest[n].seq && !slices.ContainsFunc(m.queue, func(w written) bool { return w.seq == seq }) {
			m.t.Fatalf("the iterator gives event %d as number %d of %d", seq, n, len(rest))
		}
		if e.Time < last {
			m.t.Fatalf("the iterator gives event %d at %d, before it %d", seq, e.Time, last)
		}
		last = e.Time
		n++
	}
	if n != len(rest) {
		m.t.Fatalf("the iterator gives %d events of %d", n, len(rest))
	}
}

// mapped maps the ring, during which it cannot be changed, and reads through the
// mapping.
func (m *model) mapped() {
	m.consume() // a loss that was found by looking ahead is told
	mapping, err := m.b.Map(0)
	if err != nil {
		m.t.Fatal(err)
	}
	stats, pages := m.b.Stats(0), m.b.Pages(0)
	for what, err := range map[string]error{
		"resize": m.b.Resize(0, m.b.Size(0)+m.b.SubbufSize()), "order": m.b.SetSubbufSize(m.b.SubbufSize() * 2), "swap": ringbuf.SwapCPU(m.b, m.snap, 0),
	} {
		if !errors.Is(err, syscall.EBUSY) || m.b.Stats(0) != stats || m.b.Pages(0) != pages {
			m.t.Fatalf("%s of a mapped ring: %v", what, err)
		}
	}
	for range rapid.IntRange(0, 3).Draw(m.t, "pages") {
		before := m.b.Stats(0).Read
		mapping.GetReader()
		if m.b.Diagram(0).Pages[0].Commit {
			m.carried = ringbuf.LostUnknown // the kernel does not tell on the writer's page
		}
		m.gotPage(mapping.Reader(), int(m.b.Stats(0).Read-before))
		m.seen["GET_READER"]++
	}
	mapping.Close()
}

// swap takes a snapshot, or is refused because the rings are not alike.
func (m *model) swap() {
	alike := m.b.Pages(0) == m.snap.Pages(0) && m.b.SubbufSize() == m.snap.SubbufSize()
	x, y := m.b.Stats(0), m.snap.Stats(0)
	switch err := ringbuf.SwapCPU(m.b, m.snap, 0); {
	case !alike && errors.Is(err, syscall.EINVAL):
		if m.b.Stats(0) != x || m.snap.Stats(0) != y {
			m.t.Fatal("a refused swap has changed something")
		}
	case !alike || err != nil:
		m.t.Fatalf("swap of rings that are alike (%v): %v", alike, err)
	case m.b.Stats(0) != y || m.snap.Stats(0) != x:
		m.t.Fatalf("swapped %+v and %+v, they are %+v and %+v", x, y, m.b.Stats(0), m.snap.Stats(0))
	default:
		m.side, m.other = m.other, m.side
		m.mayLose = m.mayLose || m.overwrite[0]
		m.seen["swap"]++
	}
}

// order changes the size of the sub-buffers, of both or of one buffer; all is
// lost then.
func (m *model) order() {
	size := rapid.SampledFrom([]int{64, 256, 512, 4096}).Draw(m.t, "subbuf")
	if size == m.b.SubbufSize() {
		return
	}
	if err := m.b.SetSubbufSize(size); err != nil {
		m.t.Fatal(err)
	}
	m.side = &side{mayLose: m.overwrite[0]}
	if size != m.snap.SubbufSize() && rapid.Bool().Draw(m.t, "both") {
		if err := errors.Join(m.snap.SetSubbufSize(size), m.snap.Resize(0, m.b.Size(0))); err != nil {
			m.t.Fatal(err)
		}
		m.other = &side{mayLose: true}
	}
	m.seen["order"]++
}

func (m *model) resize() {
	before := m.b.Pages(0)
	size := rapid.IntRange(0, 6).Draw(m.t, "pages") * (m.b.SubbufSize() - 16)
	if rapid.IntRange(0, 9).Draw(m.t, "pinned") == 0 {
		m.b.PinSize(0)
		if err := m.b.Resize(0, size); m.b.Pages(0) != before || err != nil && !errors.Is(err, syscall.EBUSY) {
			m.t.Fatalf("resize of a pinned ring: %v, %d pages, were %d", err, m.b.Pages(0), before)
		}
		m.b.UnpinSize(0)
		return
	}
	if err := m.b.Resize(0, size); err != nil {
		m.t.Fatal(err)
	}
	m.mayLose = m.mayLose || m.b.Pages(0) < before
	m.seen["resize"]++
}

// wait begins to wait, as Wait does before it sleeps.
func (m *model) wait() {
	w := waiting{percent: rapid.SampledFrom([]int{0, 1, 25, 50, 75, 100}).Draw(m.t, "percent")}
	var hit bool
	if w.woken, w.kicks, hit = ringbuf.Watch(m.b, 0, w.percent); !hit {
		m.waiters = append(m.waiters, w)
	} else if !m.wakes(w.percent) && !m.padded {
		m.t.Fatalf("%d%% of the pages hold data, it is said:\n%s", w.percent, m.b.Diagram(0))
	}
}
