package ringbuf_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// written is an event as the model knows it: its number is its payload.
type written struct {
	seq  uint64
	time uint64
	size int // of the stored payload
}

// model is a ring buffer seen from outside: a queue of events of which some are
// lost, the losses being told in front of the next event.
type model struct {
	b        *ringbuf.Buffer
	now, seq uint64
	queue    []written

	committed, dropped, read uint64
	lost                     uint64 // as told to the reader
	unknown                  bool   // losses were told without a number
	overwrite, resized       bool
	image                    []byte
}

func storedPayload(length int) int {
	size := ringbuf.EventSize(length) - 4
	if size > 112 {
		size -= 4
	}
	return size
}

// reserve reserves and fills the next event; false: the ring refused it.
func (m *model) reserve(t *rapid.T, ctx ringbuf.Context, length int) (ringbuf.Event, bool) {
	e, err := m.b.Reserve(0, ctx, length)
	switch {
	case errors.Is(err, ringbuf.ErrFull):
		if m.overwrite {
			t.Fatal("full although old events may be overwritten")
		}
		m.dropped++
		return e, false
	case err != nil:
		t.Fatal(err)
	case len(e.Data) != length || e.Time != m.now:
		t.Fatalf("reserved %d bytes at %d, got %d at %d", length, m.now, len(e.Data), e.Time)
	}
	for i := range e.Data {
		e.Data[i] = 0xaa
	}
	return e, true
}

func (m *model) number(e ringbuf.Event) written {
	m.seq++
	binary.LittleEndian.PutUint64(e.Data, m.seq)
	return written{m.seq, e.Time, storedPayload(len(e.Data))}
}

func (m *model) commit(e ringbuf.Event, w ...written) {
	m.b.Commit(0, e)
	m.queue = append(m.queue, w...)
	m.committed += uint64(len(w))
}

// got checks one event that was read, lost events before it taken off first.
func (m *model) got(t *rapid.T, time uint64, data []byte, lost uint64) {
	seq := binary.LittleEndian.Uint64(data)
	if lost == ringbuf.LostUnknown {
		lost, m.unknown = 0, true
		for int(lost) < len(m.queue) && m.queue[lost].seq != seq {
			lost++
		}
	}
	if lost >= uint64(len(m.queue)) {
		t.Fatalf("%d events lost of %d, then one read", lost, len(m.queue))
	}
	m.lost += lost
	want := m.queue[lost]
	if want != (written{seq, time, len(data)}) {
		t.Fatalf("read event %d at %d with %d bytes after %d lost, want %+v", seq, time, len(data), lost, want)
	}
	m.queue = m.queue[lost+1:]
	m.read++
}

func (m *model) gotPage(t *rapid.T) {
	r, err := ringbuf.ReadPageImage(m.image)
	if err != nil {
		t.Fatal(err)
	}
	missed, lost, known := r.Missed()
	if missed && !known {
		lost = ringbuf.LostUnknown
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if e.IsData() {
			m.got(t, e.Time, e.Data, lost)
			lost = 0
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
}

func (m *model) check(t *rapid.T) {
	if err := ringbuf.Check(m.b, 0); err != nil {
		t.Fatal(err)
	}
	s := m.b.Stats(0)
	pending := uint64(len(m.queue)) // of which some may be lost
	switch {
	case s.Dropped != m.dropped:
		t.Fatalf("dropped %d, want %d", s.Dropped, m.dropped)
	case s.Read != m.read:
		t.Fatalf("read %d, want %d", s.Read, m.read)
	case s.Entries+s.Read+s.Overrun != m.committed:
		t.Fatalf("%+v do not add up to %d committed", s, m.committed)
	case s.Overrun < m.lost || s.Overrun-m.lost != pending-s.Entries:
		t.Fatalf("%+v: %d told as lost, %d pending", s, m.lost, pending)
	case (s.Entries == 0) != m.b.Empty(0) && s.Entries > 0:
		t.Fatalf("empty with %d entries", s.Entries)
	case !m.overwrite && !m.resized && s.Overrun != 0:
		t.Fatalf("%d events overwritten without leave", s.Overrun)
	}
}

// lengths of payloads: all kinds of headers, and the biggest.
func lengths(max int) *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(8, 40), rapid.IntRange(105, 120), rapid.IntRange(8, max), rapid.Just(max))
}

// steps of time: none, small, around what 27 bits hold, and days. A clock that
// passes 2^59 is beyond absolute stamps, in the kernel as here; one that starts
// above is not.
var steps = rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(1, 1000),
	rapid.Uint64Range(1<<27-2, 1<<27+2), rapid.Uint64Range(1, 1<<49))

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{256, 512, 4096}).Draw(t, "subbuf")
		m := &model{image: make([]byte, size), overwrite: rapid.Bool().Draw(t, "overwrite")}
		m.now = rapid.SampledFrom([]uint64{0, 3<<59 - 1000}).Draw(t, "start")
		var err error
		m.b, err = ringbuf.New(ringbuf.Config{
			CPUs: 1, Size: rapid.IntRange(0, 5).Draw(t, "pages") * (size - 16), SubbufSize: size,
			NoOverwrite: !m.overwrite, AbsoluteTime: rapid.Bool().Draw(t, "absolute"),
			Clock: func(int) uint64 { return m.now },
		})
		if err != nil {
			t.Fatal(err)
		}
		length := lengths(m.b.MaxEventSize())
		write := func(t *rapid.T) {
			m.now += steps.Draw(t, "step")
			if e, ok := m.reserve(t, ringbuf.Normal, length.Draw(t, "length")); ok {
				m.commit(e, m.number(e))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": write,
			"burst": func(t *rapid.T) {
				for range rapid.IntRange(2, 20).Draw(t, "events") {
					write(t)
				}
			},
			"discard": func(t *rapid.T) {
				m.now += steps.Draw(t, "step")
				if e, ok := m.reserve(t, ringbuf.Normal, length.Draw(t, "length")); ok {
					m.b.Discard(0, e)
				}
			},
			"nested": func(t *rapid.T) {
				outer, ok := m.reserve(t, ringbuf.Normal, rapid.IntRange(8, 40).Draw(t, "outer"))
				if !ok {
					return
				}
				list := []written{m.number(outer)}
				m.now += steps.Draw(t, "step")
				inner, err := m.b.Reserve(0, ringbuf.IRQ, rapid.IntRange(8, 40).Draw(t, "inner"))
				switch {
				case errors.Is(err, ringbuf.ErrFull):
					m.dropped++
				case errors.Is(err, ringbuf.ErrCommitOverrun):
				case err != nil:
					t.Fatal(err)
				default:
					list = append(list, m.number(inner))
					m.b.Commit(0, inner)
				}
				m.commit(outer, list...)
			},
			"consume": func(t *rapid.T) {
				p, had := m.b.Peek(0)
				p.Data = append([]byte(nil), p.Data...)
				e, ok := m.b.Consume(0)
				if ok != had || ok && (e.Time != p.Time || e.Lost != p.Lost || string(e.Data) != string(p.Data)) {
					t.Fatalf("peeked %v %v, consumed %v %v", p, had, e, ok)
				}
				if ok {
					m.got(t, e.Time, e.Data, e.Lost)
				} else if n := m.b.Stats(0).Entries; n != 0 {
					t.Fatalf("nothing to read with %d entries", n)
				}
			},
			"page": func(t *rapid.T) {
				if m.b.ReadPage(0, m.image, rapid.Bool().Draw(t, "full")) {
					m.gotPage(t)
				}
			},
			"part of a page": func(t *rapid.T) {
				if m.b.ReadPageN(0, m.image, rapid.IntRange(0, size).Draw(t, "bytes"), false) {
					m.gotPage(t)
				}
			},
			"iterate": func(t *rapid.T) { m.iterate(t) },
			"resize": func(t *rapid.T) {
				m.resized = true
				if err := m.b.Resize(0, rapid.IntRange(0, 6).Draw(t, "pages")*(size-16)); err != nil {
					t.Fatal(err)
				}
			},
			"overwrite": func(t *rapid.T) {
				m.overwrite = rapid.Bool().Draw(t, "on")
				m.resized = true // so there may be overrun
				m.b.SetOverwrite(m.overwrite)
			},
			"off": func(t *rapid.T) {
				m.b.SetRecording(false)
				if _, err := m.b.Reserve(0, ringbuf.Normal, 8); !errors.Is(err, ringbuf.ErrDisabled) {
					t.Fatalf("reserve with recording off: %v", err)
				}
				m.b.SetRecording(true)
			},
			"reset": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					m.b.Reset(0)
					*m = model{b: m.b, now: m.now, seq: m.seq, overwrite: m.overwrite, image: m.image}
					if s := m.b.Stats(0); s.Entries+s.Bytes+s.Read+s.Overrun+s.Dropped != 0 || !m.b.Empty(0) {
						t.Fatalf("after reset: %+v", s)
					}
				}
			},
			"": m.check,
		})
	})
}

// iterate reads all that can still be read, which is the end of the queue.
func (m *model) iterate(t *rapid.T) {
	it := m.b.Iter(0)
	rest := m.queue[uint64(len(m.queue))-m.b.Stats(0).Entries:]
	// What is on the reader page is older than what was lost.
	n := 0
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		w := written{binary.LittleEndian.Uint64(e.Data), e.Time, len(e.Data)}
		if w != rest[n] && !m.pending(w) {
			t.Fatalf("iterator gave %+v, want %+v", w, rest[n])
		}
		n++
	}
	if n != len(rest) {
		t.Fatalf("iterator gave %d events of %d", n, len(rest))
	}
}

func (m *model) pending(w written) bool {
	for _, q := range m.queue {
		if q == w {
			return true
		}
	}
	return false
}

// The writer's account and that of the decoder agree, page headers, time
// extends, tails and all.
func TestLedgerAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now uint64
		b, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 200 * 496, SubbufSize: 512, Clock: func(int) uint64 { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			now += steps.Draw(t, "step")
			length := rapid.OneOf(rapid.IntRange(0, 130), rapid.IntRange(0, b.MaxEventSize())).Draw(t, "length")
			e, err := b.Reserve(0, ringbuf.Normal, length)
			if err != nil {
				t.Fatal(err)
			}
			clear(e.Data)
			kind := rapid.IntRange(0, 5).Draw(t, "kind")
			if kind < 2 { // interrupted
				inner, err := b.Reserve(0, ringbuf.NMI, 9)
				if err != nil {
					t.Fatal(err)
				}
				clear(inner.Data)
				b.Commit(0, inner)
			}
			if kind%2 == 0 {
				b.Commit(0, e)
			} else {
				b.Discard(0, e)
			}
		}
		if err := ringbuf.Check(b, 0); err != nil {
			t.Fatal(err)
		}
		want := b.Ledger(0)
		var got ringbuf.Ledger
		image := make([]byte, 512)
		for b.ReadPage(0, image, false) {
			l, err := ringbuf.PageLedger(image)
			if err != nil {
				t.Fatal(err)
			}
			got.Add(l)
		}
		if want.Events == 0 {
			return // pages without events are not given out
		}
		got.Payload, want.Payload = got.Payload+got.Align, want.Payload+want.Align
		got.Tail, want.Tail = got.Tail+got.Unused, want.Tail+want.Unused
		got.Align, want.Align, got.Unused, want.Unused = 0, 0, 0, 0
		if got != want {
			t.Fatalf("decoder %+v\n writer %+v", got, want)
		}
	})
}
