package ringbuf_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/ringbuf"
)

// mapReader reads a mapping as libtracefs does: it goes on in the sub-buffer that it reads,
// and starts from the beginning of another one.
type mapReader struct {
	t   *rapid.T
	m   *ringbuf.Mapping
	id  int
	off int // bytes of data that were read
	got []uint32
}

func (r *mapReader) read() (n int) {
	page, err := ringbuf.ReadPageImage(r.m.Reader())
	if err != nil {
		r.t.Fatal(err)
	}
	for e, ok := page.Next(); ok; e, ok = page.Next() {
		if e.IsData() && e.Offset-ringbuf.PageHeaderSize >= r.off {
			r.got = append(r.got, binary.LittleEndian.Uint32(e.Data))
			n++
		}
	}
	if page.Err() != nil {
		r.t.Fatal(page.Err())
	}
	r.off = page.Commit()
	return n
}

// counted is how much of the sub-buffer counts as read.
func (r *mapReader) counted() int { return int(binary.LittleEndian.Uint32(r.m.Meta()[28:])) }

// all reads until there is nothing left. As libtracefs, it has what it reads counted as read,
// and asks for another sub-buffer when there is nothing new in the one it has.
func (r *mapReader) all() {
	for {
		r.m.Refresh()
		if r.read() > 0 {
			if r.off > r.counted() {
				r.m.GetReader()
			}
			continue
		}
		counted := r.counted()
		r.m.GetReader()
		switch {
		case r.m.ReaderID() != r.id:
			r.id, r.off = r.m.ReaderID(), 0
		case r.counted() == counted: // else padding was left at the end
			return
		}
	}
}

// What was taken from the ring, and given back unread, is read from the mapping: once, in
// order, and before what came after it.
func TestUnread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := uint64(0)
		b, err := ringbuf.New(ringbuf.Config{
			CPUs: 1, Size: 6 * 112, SubbufSize: 128, NoOverwrite: true, Clock: func(int) uint64 { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		written := uint32(0)
		write := func(most int) {
			for range rapid.IntRange(0, most).Draw(t, "events") {
				now += rapid.SampledFrom([]uint64{1, 5, 1 << 30}).Draw(t, "later")
				e, err := b.Reserve(0, ringbuf.Normal, 4)
				if err != nil {
					continue // it is full
				}
				binary.LittleEndian.PutUint32(e.Data, written)
				written++
				b.Commit(0, e)
			}
		}
		var pipe []byte
		consumed := uint32(0)
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			write(12)
			page := make([]byte, b.SubbufSize())
			for range rapid.IntRange(0, 3).Draw(t, "taken") {
				if b.ReadPage(0, page, false) {
					pipe = append(pipe, page...)
				}
			}
			if len(pipe) > 0 && rapid.Bool().Draw(t, "read") {
				image, err := ringbuf.ReadPageImage(pipe[:b.SubbufSize()])
				if err != nil {
					t.Fatal(err)
				}
				for _, _, ok := image.NextData(); ok; _, _, ok = image.NextData() {
					consumed++
				}
				pipe = pipe[b.SubbufSize():]
			}
		}
		m, err := b.Map(0)
		if err != nil {
			t.Fatal(err)
		}
		m.Unread(pipe)
		r := &mapReader{t: t, m: m, id: m.ReaderID()}
		r.off = r.counted()
		var want []uint32
		for n := consumed; n < written; n++ {
			want = append(want, n)
		}
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			r.all()
			if !slices.Equal(r.got, want) {
				t.Fatalf("got %v, want %v", r.got, want)
			}
			n := written
			write(20)
			for ; n < written; n++ {
				want = append(want, n)
			}
		}
		if m.Pending() {
			t.Error("something from Unread is left")
		}
		m.Close()
	})
}

// Take reads what was given back as read(2) does, and a reset voids it.
func TestUnreadTake(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 4 * 112, SubbufSize: 128, Clock: ticking()})
	var pipe []byte
	taken := func() {
		numbered(t, b, 0, 3*14)
		page := make([]byte, 128)
		for pipe = nil; b.ReadPage(0, page, true); {
			pipe = append(pipe, page...)
		}
	}
	taken()
	m, err := b.Map(0)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Unread(pipe)
	page := make([]byte, 128)
	for n := range 2 {
		if got, ok := m.Take(page); !ok || got != 128 || string(page) != string(pipe[128*n:128*(n+1)]) {
			t.Errorf("page %d: %d bytes, %v", n, got, ok)
		}
	}
	if n, ok := m.Take(page); ok {
		t.Errorf("%d bytes after the last", n)
	}
	taken()
	m.Unread(pipe)
	b.Reset(0)
	if m.Pending() {
		t.Error("emptied, it shows what was taken before")
	}
	m.Unread([]byte("this is no sub-buffer, and of a length that is none"))
	m.Unread(slices.Repeat([]byte{0xff}, 256))
	if m.Pending() {
		t.Error("it takes anything for a sub-buffer")
	}
}
