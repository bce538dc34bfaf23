package ringbuf_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"ftracelab/ringbuf"
)

// image makes a page of 64 bytes of the given words after the page header.
func image(stamp, commit uint64, words ...uint32) []byte {
	page := make([]byte, 64)
	binary.LittleEndian.PutUint64(page, stamp)
	binary.LittleEndian.PutUint64(page[8:], commit)
	for i, w := range words {
		binary.LittleEndian.PutUint32(page[16+4*i:], w)
	}
	return page
}

func TestPageReaderFaults(t *testing.T) {
	for _, c := range []struct {
		want string
		page []byte
	}{
		{"page of 10 bytes is shorter than its header", make([]byte, 10)},
		{"offset 8: commit word 0x34 has 52 bytes on a page of 48", image(0, 52)},
		{"offset 8: commit word 0x100000000 has 4294967296 bytes on a page of 48", image(0, 1<<32)},
		{"offset 8: commit word 0xe is no multiple of 4", image(0, 14)},
		{"offset 8: commit word 0x40000000 has a count of missed events but none missed", image(0, 1<<30)},
		{"offset 8: commit word 0xc000002c leaves no room for the count of missed events", image(0, 3<<30|44)},
		{"page offset 16: no room for the word after an event header", image(0, 4, 1)},
		{"page offset 16: an event that runs past the committed data", image(0, 8, 2)},
		{"page offset 24: an event that runs past the committed data", image(0, 16, 1, 0, 0, 1000)},
		{"page offset 16: an event that runs past the committed data", image(0, 16, 29|1<<5, 0xfffffffc)},
		{"page offset 16: a length word that leaves no data", image(0, 16, 0, 4)},
		{"page offset 16: a length that is no multiple of 4", image(0, 16, 0, 9)},
		{"page offset 16: an event shorter than 8 bytes", image(0, 16, 29|1<<5, 0)},
		{"page offset 16: a time extend or stamp without an event", image(0, 8, 30, 0)},
		{"page offset 24: two time extends or stamps for one event", image(0, 24, 30, 0, 31, 0, 1, 0)},
		{"page offset 16: an absolute stamp before the time so far", image(9, 16, 31|8<<5, 0, 1, 0)},
	} {
		r, err := ringbuf.ReadPageImage(c.page)
		if err == nil {
			for _, ok := r.Next(); ok; _, ok = r.Next() {
			}
			err = r.Err()
		}
		if err == nil || err.Error() != "ringbuf: "+c.want {
			t.Errorf("got  %v\nwant ringbuf: %s", err, c.want)
		}
		if dump := ringbuf.DumpPage(c.page); !strings.Contains(dump, c.want) {
			t.Errorf("dump does not tell of %s:\n%s", c.want, dump)
		}
	}
}

// The upper five bits of an absolute time are those of the time before it, with
// a carry.
func TestAbsoluteStampUpperBits(t *testing.T) {
	page := image(3<<59|1<<58, 32, 31|7<<5, 1<<31, 1, 0, 31|5<<5, 0, 1, 0)
	want := []uint64{3<<59 | 1<<58 | 7, 4<<59 | 5}
	r, err := ringbuf.ReadPageImage(page)
	if err != nil {
		t.Fatal(err)
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if !e.IsData() {
			continue
		}
		if e.Time != want[0] || !e.Absolute {
			t.Errorf("%#x, want %#x", e.Time, want[0])
		}
		want = want[1:]
	}
	if len(want) != 0 || r.Err() != nil {
		t.Errorf("%d events missing: %v", len(want), r.Err())
	}
}

func FuzzPageReader(f *testing.F) {
	f.Add(image(1000, 24, 1, 42, 2|100<<5, 1, 2))
	f.Fuzz(func(t *testing.T, page []byte) {
		keep := string(page)
		r, err := ringbuf.ReadPageImage(page)
		if err != nil {
			return
		}
		other, _ := ringbuf.ReadPageImage(page)
		third, _ := ringbuf.ReadPageImage(page)
		data := third.AppendData(nil, 3)
		off := ringbuf.PageHeaderSize
		for e, ok := r.Next(); ok; e, ok = r.Next() {
			if e.Offset != off || e.Size < 4 || off+e.Size > ringbuf.PageHeaderSize+r.Commit() {
				t.Fatalf("item of %d bytes at %d, expected one at %d of %d", e.Size, e.Offset, off, r.Commit())
			}
			off += e.Size
			if e.IsData() {
				if at, data, ok := other.NextData(); !ok || at != e.Time || !bytes.Equal(data, e.Data) {
					t.Fatalf("NextData: %d, %d bytes, %v; Next: %+v", at, len(data), ok, e)
				}
				if len(data) == 0 || data[0].CPU != 3 || data[0].Time != e.Time || !bytes.Equal(data[0].Data, e.Data) {
					t.Fatalf("AppendData: %d left, Next: %+v", len(data), e)
				}
				data = data[1:]
			}
			if e.IsData() != (e.Data != nil) || len(e.Data) > e.Size-4 {
				t.Fatalf("type %d with %d bytes of data of %d", e.TypeLen, len(e.Data), e.Size)
			}
		}
		if _, _, ok := other.NextData(); ok || (other.Err() == nil) != (r.Err() == nil) {
			t.Fatalf("NextData at the end: %v, %v; Next: %v", ok, other.Err(), r.Err())
		}
		if len(data) > 0 || len(third.AppendData(nil, 0)) > 0 || (third.Err() == nil) != (r.Err() == nil) {
			t.Fatalf("AppendData at the end: %d left, %v; Next: %v", len(data), third.Err(), r.Err())
		}
		if r.Err() == nil {
			if off != ringbuf.PageHeaderSize+r.Commit() {
				t.Fatalf("stopped at %d of %d", off, r.Commit())
			}
			if l, err := ringbuf.PageLedger(page); err != nil || checkSum(l) != uint64(len(page)) {
				t.Fatalf("%+v of a page of %d bytes, %v", l, len(page), err)
			}
		}
		r.Missed()
		ringbuf.DumpPage(page)
		if string(page) != keep {
			t.Fatal("the page was changed")
		}
	})
}

func checkSum(l ringbuf.Ledger) uint64 {
	return l.PageHeader + l.EventHeader + l.LengthWord + l.Payload + l.Extend + l.Discarded + l.Tail
}
