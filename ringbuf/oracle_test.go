package ringbuf_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
)

// readFile reads a file, unpacking it if its name ends in .gz.
func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		tb.Fatal(err)
	}
	return data
}

// pages cuts a raw capture into sub-buffers.
func pages(data []byte, size int) [][]byte {
	var list [][]byte
	for ; len(data) >= size; data = data[size:] {
		list = append(list, data[:size])
	}
	return list
}

// replay writes what a page says its writer did. Two things are not on the page
// as such: an event behind an absolute stamp followed one that was discarded
// and given back, and a discarded event that is still there was interrupted by
// the event behind it. A replay does both.
type replay struct {
	b    *ringbuf.Buffer
	now  uint64          // the clock
	open []ringbuf.Event // to be discarded after the next event

	discards int  // made
	lossless bool // nothing was lost, or it is known how much
}

// newReplay makes a buffer of just as many pages as there are images, and if
// events were lost before the first, lets it lose as many.
func newReplay(tb testing.TB, images [][]byte) *replay {
	tb.Helper()
	first, err := ringbuf.ReadPageImage(images[0])
	if err != nil {
		tb.Fatal(err)
	}
	item, _ := first.Next()
	r, size := new(replay), len(images[0])
	r.b, err = ringbuf.New(ringbuf.Config{
		CPUs: 1, Size: len(images) * (size - ringbuf.PageHeaderSize), SubbufSize: size,
		AbsoluteTime: item.TypeLen == ringbuf.TypeTimeStamp,
		Clock:        func(int) uint64 { return r.now },
	})
	if err != nil {
		tb.Fatal(err)
	}
	missed, n, known := first.Missed()
	r.lossless = !missed || known
	if missed {
		r.lose(tb, max(n, 1), size-ringbuf.PageHeaderSize)
	}
	return r
}

// lose fills pages with n events of 8 bytes, but the last goes to the end of
// its page.
func (r *replay) lose(tb testing.TB, n uint64, capacity int) {
	for off := 0; n > 0; n, off = n-1, (off+8)%capacity {
		length := 4
		if n == 1 {
			length = payload(capacity - off)
		}
		if err := r.write(make([]byte, length)); err != nil {
			tb.Fatal(err)
		}
	}
}

// payload is the length that makes an event of size bytes.
func payload(size int) int {
	if size-4 > 112 {
		return size - 8
	}
	return size - 4
}

func (r *replay) page(image []byte, last bool) error {
	p, err := ringbuf.ReadPageImage(image)
	if err != nil {
		return err
	}
	r.now = p.Time()
	for e, ok := p.Next(); ok; e, ok = p.Next() {
		switch {
		case e.TypeLen == ringbuf.TypeTimeStamp:
			r.now = e.Time
			if !r.b.AbsoluteTime() {
				err = r.discard()
			}
		case e.TypeLen == ringbuf.TypeTimeExtend:
			r.now += e.Delta
		case e.TypeLen == ringbuf.TypePadding:
			if e.Offset > ringbuf.PageHeaderSize && !e.Absolute && !e.Extended { // else 1 stands for 0
				r.now += e.Delta
			}
			if last && e.Offset+e.Size == len(image) && e.Delta == 1 {
				err = r.full()
			} else {
				err = r.interrupted(image[e.Offset+4 : e.Offset+e.Size])
			}
		default:
			r.now += e.Delta
			err = r.write(e.Data)
		}
		if err != nil {
			return fmt.Errorf("offset %d: %w", e.Offset, err)
		}
	}
	return p.Err()
}

// leave leaves the page for an event that did not fit and was discarded on the
// next one: of that nothing is to be seen but that this page ends early.
func (r *replay) leave() error {
	e, err := r.b.Reserve(0, ringbuf.Context(len(r.open)), r.b.MaxEventSize())
	if err == nil {
		r.b.Discard(0, e)
	}
	return err
}

// fits tells whether the first event of a page would fit on the page before.
func fits(before, page []byte) bool {
	b, err := ringbuf.ReadPageImage(before)
	if err != nil {
		return false
	}
	p, err := ringbuf.ReadPageImage(page)
	if err != nil {
		return false
	}
	e, _ := p.Next()
	return e.Size <= len(before)-ringbuf.PageHeaderSize-b.Commit()
}

// full drops two events: the first pads the page, and the second forgets that
// this is padding and no data, so that readers get to see it.
func (r *replay) full() error {
	r.b.SetOverwrite(false)
	for range 2 {
		if _, err := r.b.Reserve(0, ringbuf.Normal, r.b.MaxEventSize()); !errors.Is(err, ringbuf.ErrFull) {
			return fmt.Errorf("reserve on a full ring: %v", err)
		}
	}
	return nil
}

func (r *replay) discard() error {
	e, err := r.b.Reserve(0, ringbuf.Context(len(r.open)), 4)
	if err == nil {
		r.b.Discard(0, e)
		r.discards++
	}
	return err
}

func (r *replay) interrupted(body []byte) error {
	place, err := r.b.Reserve(0, ringbuf.Context(len(r.open)), payload(4+len(body)))
	if err != nil {
		return err
	}
	copy(place.Data, body[len(body)-len(place.Data):])
	r.open = append(r.open, place)
	return nil
}

func (r *replay) write(data []byte) error {
	place, err := r.b.Reserve(0, ringbuf.Context(len(r.open)), len(data))
	if err != nil {
		return err
	}
	copy(place.Data, data)
	r.b.Commit(0, place)
	for n := len(r.open) - 1; n >= 0; n-- {
		r.b.Discard(0, r.open[n])
	}
	r.open = r.open[:0]
	return nil
}

// clearEnd clears the body of the padding that may be the last on a page: it is
// what the page held before.
func clearEnd(image []byte) {
	r, err := ringbuf.ReadPageImage(image)
	if err != nil {
		return
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if e.TypeLen == ringbuf.TypePadding && e.Offset+e.Size == len(image) {
			clear(image[e.Offset+8:])
		}
	}
}

// recreate writes what the captured pages hold through a Buffer, and compares
// every page that comes out. The counters are those before reading.
func recreate(tb testing.TB, images [][]byte) (*replay, ringbuf.Stats, error) {
	tb.Helper()
	r, last := newReplay(tb, images), len(images)-1
	for i, image := range images {
		if i > 0 && fits(images[i-1], image) {
			if err := r.leave(); err != nil {
				return r, ringbuf.Stats{}, fmt.Errorf("page %d of %d: %w", i, len(images), err)
			}
		}
		if err := r.page(image, i == last); err != nil {
			return r, ringbuf.Stats{}, fmt.Errorf("page %d of %d: %w", i, len(images), err)
		}
	}
	stats := r.b.Stats(0)
	got := make([]byte, len(images[0]))
	for i, want := range images {
		if !r.b.ReadPage(0, got, false) {
			return r, stats, fmt.Errorf("page %d of %d: nothing to read", i, len(images))
		}
		if i == last {
			clearEnd(got)
			clearEnd(want)
		}
		if !bytes.Equal(got, want) {
			return r, stats, fmt.Errorf("page %d of %d differs at byte %#x", i, len(images), firstDifference(got, want))
		}
	}
	if r.b.ReadPage(0, got, false) {
		return r, stats, errors.New("a page more than the kernel had")
	}
	return r, stats, nil
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// statsFile reads a per_cpu/cpuN/stats file.
func statsFile(t *testing.T, name string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for line := range strings.Lines(string(readFile(t, name))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		values[key] = strings.TrimSpace(value)
	}
	return values
}

// checkStats compares what the buffer counted with what the kernel did, as far
// as pages tell: events dropped because the ring was full leave no trace, and of
// discarded ones the size is not known, part of which the kernel never gives
// back to the byte counter.
func checkStats(t *testing.T, name string, r *replay, stats ringbuf.Stats, want map[string]string) {
	t.Helper()
	check := func(key string, got uint64) {
		if value := fmt.Sprint(got); value != want[key] {
			t.Errorf("%s: %s: %s, the kernel has %s", name, key, value, want[key])
		}
	}
	check("entries", stats.Entries)
	check("commit overrun", stats.CommitOverrun)
	check("read events", stats.Read)
	if r.lossless {
		check("overrun", stats.Overrun)
	}
	if kernel, _ := strconv.ParseUint(want["bytes"], 10, 64); r.discards == 0 || stats.Bytes > kernel {
		check("bytes", stats.Bytes)
	}
	if us := (stats.OldestTS + 500) / 1000; strings.Contains(want["oldest event ts"], ".") { // not clock counter
		if got := fmt.Sprintf("%d.%06d", us/1e6, us%1e6); got != want["oldest event ts"] {
			t.Errorf("%s: oldest event ts: %s, the kernel has %s", name, got, want["oldest event ts"])
		}
	}
}

var rawName = regexp.MustCompile(`(cpu\d+)\.raw(\.gz)?$`)

// subbufSize finds the sub-buffer size of a capture.
func subbufSize(name string) int {
	if m := regexp.MustCompile(`/subbuf_(\d+)/`).FindStringSubmatch(filepath.ToSlash(name)); m != nil {
		kb, _ := strconv.Atoi(m[1])
		return kb * 1024
	}
	return 4096
}

// Every page of every capture decodes, and written again comes out byte for byte.
func TestRecreateCaptures(t *testing.T) {
	var files, images, lost int
	err := filepath.WalkDir(testutil.Oracle(t), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !rawName.MatchString(name) {
			return err
		}
		data, size := readFile(t, name), subbufSize(name)
		if len(data)%size != 0 {
			t.Errorf("%s: %d bytes are no multiple of %d", name, len(data), size)
		}
		if len(data) == 0 {
			return nil
		}
		files++
		list := pages(data, size)
		images += len(list)
		r, stats, err := recreate(t, list)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		lost += int(stats.Overrun)
		want := filepath.Join(filepath.Dir(name), "stats."+rawName.FindStringSubmatch(name)[1])
		if _, err := os.Stat(want); err == nil && !strings.Contains(name, "snapshot_cpu") {
			checkStats(t, name, r, stats, statsFile(t, want))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d captures, %d pages, %d lost events", files, images, lost)
}

// The same for the few captures that are at hand everywhere: plain ones with
// stacks, and ones with lost, dropped and discarded events and time extends.
func TestRecreateSelection(t *testing.T) {
	files, err := filepath.Glob("testdata/pages/*.raw.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no captures in testdata/pages", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".raw.gz"), func(t *testing.T) {
			if _, _, err := recreate(t, pages(readFile(t, name), 4096)); err != nil {
				t.Error(err)
			}
		})
	}
}
