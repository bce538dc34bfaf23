package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/tracer/record"

	"pgregory.net/rapid"
)

// recorded writes a trace of one CPU into a buffer as its kernel would and gives the
// pages that a reader takes: when says at which records it comes.
func recorded(t interface{ Fatal(...any) }, s *records, size int, when func(i int) bool) []byte {
	var now uint64
	buf, err := ringbuf.New(ringbuf.Config{
		CPUs: 1, Size: 64 * size, SubbufSize: size, NoOverwrite: true, Clock: func(int) uint64 { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := record.NewStacks(record.Design{Name: "full", Kernel: record.FullStack, User: record.FullStack}, record.RecordIDs(namedIDs(nil)))
	if err != nil {
		t.Fatal(err)
	}
	recorder := record.NewRecorder(buf, stacks)
	var pages []byte
	page := make([]byte, size)
	read := func() {
		for buf.ReadPage(0, page, false) {
			pages = append(pages, page...)
		}
	}
	for i := range s.records {
		r := &s.records[i]
		now = r.Time
		switch stack := stackOf(r); r.Kind {
		case record.Event:
			err = recorder.Event(0, ringbuf.Normal, r.Data)
		case record.KernelStack:
			_, err = recorder.WriteKernelStack(0, ringbuf.Normal, &stack)
		}
		if err != nil {
			t.Fatal(err)
		}
		if when(i) {
			read()
		}
	}
	read()
	return pages
}

// TestCutPages: whenever the reader comes, and whatever the size of the sub-buffers and
// the designs, the pages it took are re-created.
func TestCutPages(t *testing.T) {
	cut := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		s := new(records)
		now := uint64(1000)
		for range rapid.IntRange(1, 600).Draw(t, "events") {
			now += rapid.SampledFrom([]uint64{0, 1, 5000, 1 << 27}).Draw(t, "delta")
			s.add(0, now, 7, 4*rapid.IntRange(2, 60).Draw(t, "words"))
			if rapid.Bool().Draw(t, "stack") {
				s.stack(record.KernelStack, frames(1, rapid.IntRange(1, 40).Draw(t, "depth"))...)
			}
		}
		size := 4096 << rapid.IntRange(0, 3).Draw(t, "order")
		every := rapid.IntRange(1, 500).Draw(t, "every")
		pages := recorded(t, s, size, func(i int) bool { return i%every == every-1 })
		first, _ := record.NamedDesign(rapid.SampledFrom([]string{"full-stacks", "stackmap"}).Draw(t, "first"), 14, 0)
		r, err := Estimate(t.Context(), s, Options{
			Designs: []record.Design{first}, SubbufSize: 4096 << rapid.IntRange(0, 2).Draw(t, "other"),
			Pages: func(int) io.Reader { return bytes.NewReader(pages) }, PagesSize: size,
		})
		if err != nil {
			t.Fatal(err)
		}
		v := &r.Verification
		if v.PagesIdentical == 0 || v.PagesIdentical != v.PagesCompared || v.PagesUnmatched != 0 ||
			v.RecordsIdentical != uint64(len(s.records)) || v.CaptureBytes != v.RecreatedBytes || v.PagesSize != size {
			t.Fatalf("%+v", v)
		}
		cut += v.PagesCut
	})
	if cut == 0 && !testing.Short() { // which leaves a few tries
		t.Error("no page was cut")
	}
}

// TestOtherPages: what a capture's pages have beyond its records is found out, counted,
// and stays on its page.
func TestOtherPages(t *testing.T) {
	s := new(records)
	for i := range 600 {
		s.add(0, uint64(1000*(i+1)), 7, 60)
	}
	whole := recorded(t, s, 4096, func(int) bool { return false })
	one := func(change func(pages []byte) []byte) Verification {
		s.at = 0
		pages := change(bytes.Clone(whole))
		r, err := Estimate(t.Context(), s, Options{Pages: func(int) io.Reader { return bytes.NewReader(pages) }})
		if err != nil {
			t.Fatal(err)
		}
		if caveats := strings.Join(r.Caveats, "\n"); !strings.Contains(caveats, "not re-created") && !strings.Contains(caveats, "no counterpart") {
			t.Errorf("no caveat: %s", caveats)
		}
		return r.Verification
	}
	const pages = 10 // of 63 records, which leave 48 bytes
	v := one(func(p []byte) []byte { p[4096+16+4+20]++; return p })
	if v.PagesCompared != pages || v.PagesIdentical != pages-1 || v.PagesOfOtherRecords != 1 || v.RecordsIdentical != 599 ||
		!strings.HasPrefix(v.FirstDifference, "cpu 0, page 1: byte 40 is 0x01") {
		t.Errorf("another byte: %+v", v)
	}
	v = one(func(p []byte) []byte { return append(p[:4096:4096], p[8192:]...) })
	if v.PagesIdentical >= v.PagesCompared || v.PagesUnmatched == 0 {
		t.Errorf("a page less: %+v", v)
	}
	v = one(func(p []byte) []byte { return append(p, p[:4096]...) })
	if v.PagesIdentical != pages || v.PagesUnmatched != 1 {
		t.Errorf("a page more: %+v", v)
	}
	// A time extend of 0 in front of the first record of page 3.
	v = one(func(p []byte) []byte {
		page := p[3*4096:][:4096]
		copy(page[24:], page[16:4096-8])
		copy(page[16:], []byte{30, 0, 0, 0, 0, 0, 0, 0})
		page[8] += 8
		return p
	})
	if v.PagesIdentical != pages-1 || v.RecordsIdentical != 600 || v.PagesOfOtherRecords != 0 || v.CaptureBytes != v.RecreatedBytes+8 {
		t.Errorf("a time extend more: %+v", v)
	}
}
