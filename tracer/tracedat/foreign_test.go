package tracedat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"ftracelab/ringbuf"
)

// Files of machines of both byte orders and sizes give the same events.
func TestForeignMachines(t *testing.T) {
	for _, m := range []machine{native, {binary.LittleEndian, 4}, {binary.BigEndian, 8}, {binary.BigEndian, 4}} {
		for _, target := range sampleTargets() {
			t.Run(fmt.Sprintf("%v-%d/%d-%s", m.order, 8*m.long, target.Version, target.Compression), func(t *testing.T) {
				data := m.sample(target)
				f, err := New(bytes.NewReader(data), int64(len(data)), nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(f.Buffers) != 2 || f.Buffers[1].Name != "inst" || f.LongSize != m.long || f.CPUs != 2 {
					t.Fatalf("buffers %+v, long %d, %d CPUs", f.Buffers, f.LongSize, f.CPUs)
				}
				if got := string(f.CanonicalHeaderPage()); (got == string(f.HeaderPage)) != (m.long == 8) {
					t.Errorf("header_page\n%s", got)
				}
				want := [][]uint64{{1_000_000_000, 2_000_000_000}, {1_500_000_000}}
				for cpu, stamps := range want {
					checkPages(t, f, &f.Buffers[0], cpu, stamps, m.long)
				}
				checkPages(t, f, &f.Buffers[1], 0, nil, m.long)
				checkPages(t, f, &f.Buffers[1], 1, []uint64{1_700_000_000}, m.long)
			})
		}
	}
}

func checkPages(t *testing.T, f *File, b *Buffer, cpu int, stamps []uint64, long int) {
	t.Helper()
	data, err := io.ReadAll(f.CanonicalPages(b, cpu))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != len(stamps)*f.CanonicalSize() {
		t.Fatalf("buffer %q, CPU %d: %d bytes, want %d pages of %d", b.Name, cpu, len(data), len(stamps), f.CanonicalSize())
	}
	for i, stamp := range stamps {
		page, err := ringbuf.ReadPageImage(data[i*f.CanonicalSize() : (i+1)*f.CanonicalSize()])
		if err != nil {
			t.Fatal(err)
		}
		missed, count, known := page.Missed()
		if want := cpu == 1 && b.Name == ""; missed != want || known != want || want && count != 3 {
			t.Errorf("buffer %q, CPU %d: missed %v %d %v", b.Name, cpu, missed, count, known)
		}
		checkEvents(t, page, stamp, long)
	}
}

// checkEvents compares with what machine.page wrote.
func checkEvents(t *testing.T, page *ringbuf.PageReader, stamp uint64, long int) {
	t.Helper()
	le := binary.LittleEndian
	var got []string
	for {
		e, ok := page.Next()
		if !ok {
			break
		}
		if !e.IsData() {
			continue
		}
		id, pid := le.Uint16(e.Data), le.Uint32(e.Data[4:])
		var values []uint64
		switch id {
		case 1:
			for off := 8; off < 8+2*long; off += long {
				if long == 4 {
					values = append(values, uint64(le.Uint32(e.Data[off:])))
				} else {
					values = append(values, le.Uint64(e.Data[off:]))
				}
			}
		case 300:
			values = append(values, uint64(le.Uint32(e.Data[8:])))
			for off := 12; off < 18; off += 2 {
				values = append(values, uint64(le.Uint16(e.Data[off:])))
			}
		case 301:
			values = append(values, uint64(le.Uint32(e.Data[8+4*39:])))
		}
		got = append(got, fmt.Sprintf("%d %d %d %x", e.Time-stamp, id, pid, values))
	}
	if err := page.Err(); err != nil {
		t.Error(err)
	}
	want := []string{
		"0 1 42 [c1000010 c1000020]", "7 300 42 [6000c 102 304 506]", "1007 301 42 [2700]",
	}
	want = append(want, fmt.Sprintf("%d 1 42 [c1000010 c1000020]", 1007+5+(1<<27)+3))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events\n%q, want\n%q", got, want)
	}
}
