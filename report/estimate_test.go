package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ftracelab/budget"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"

	"pgregory.net/rapid"
)

// records is a source of records that are there already.
type records struct {
	records []record.Record
	at      int
}

func (s *records) Next(r *record.Record) error {
	if s.at == len(s.records) {
		return io.EOF
	}
	*r = s.records[s.at]
	s.at++
	return nil
}

// add appends an event of size bytes, common fields included.
func (s *records) add(cpu int, time uint64, pid int32, size int) {
	c := event.Common{Type: 400, PID: pid}
	data := make([]byte, size)
	c.Put(data)
	s.records = append(s.records, record.Record{CPU: cpu, Time: time, Common: c, Data: data})
}

// stack appends a stack that belongs to the last event.
func (s *records) stack(kind record.Kind, ips ...uint64) {
	e := &s.records[len(s.records)-1]
	s.records = append(s.records, record.Record{Kind: kind, CPU: e.CPU, Time: e.Time, Common: e.Common, Stack: ips})
}

// frames is a stack of n addresses, another one for another seed.
func frames(seed, n int) []uint64 {
	ips := make([]uint64, n)
	for i := range ips {
		ips[i] = 0xffffffff81000000 + uint64(seed)<<8 + uint64(i)
	}
	return ips
}

// small is a trace whose bytes can be counted by hand: three events of 56 bytes
// with stacks of 10, 10 and 13 addresses.
func small() *records {
	s := new(records)
	s.add(0, 1000, 7, 56)
	s.stack(record.KernelStack, frames(1, 10)...)
	s.add(0, 2000, 7, 56)
	s.stack(record.KernelStack, frames(1, 10)...)
	s.add(0, 3000, 7, 56)
	s.stack(record.KernelStack, frames(2, 13)...)
	return s
}

// TestEntriesBeyondTheCensus: the census has no memory for all stacks, the map of the
// design has.
func TestEntriesBeyondTheCensus(t *testing.T) {
	s := new(records)
	for i := range 40_000 {
		s.add(0, uint64(i)*1000, 7, 56)
		s.stack(record.KernelStack, frames(i, 20)...)
	}
	r, err := Estimate(t.Context(), s, Options{Memory: budget.New(32 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Input.KernelAtLeast {
		t.Fatal("the census knew all stacks")
	}
	if m := r.Designs[1].Maps[0]; m.Entries != 40_000 || m.Successes != 40_000 || m.Drops != 0 {
		t.Errorf("%d entries, %d successes, %d drops", m.Entries, m.Successes, m.Drops)
	}
}

func TestBytesByHand(t *testing.T) {
	r, err := Estimate(t.Context(), small(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// An event: 4 header + 56. A stack of 10: 4 + 16 + 80; of 13: 16 + 104 is more
	// than 112, so 4 + 4 + 120. An id: 4 + 12.
	const full, mapped, none = 3*60 + 100 + 100 + 128, 3*60 + 3*16, 3 * 60
	for i, want := range []struct {
		name    string
		records uint64
		b       Breakdown
	}{
		{"full-stacks", full, Breakdown{
			EventHeaders: 6*4 + 4, CommonFields: 6 * 8, Payload: 3 * 48, Stack: 88 + 88 + 112,
			StackRecords: 3, StackRecordBytes: 328,
		}},
		{"stackmap", mapped, Breakdown{
			EventHeaders: 6 * 4, CommonFields: 6 * 8, Payload: 3 * 48, Stack: 3 * 4,
			StackRecords: 3, StackRecordBytes: 48,
		}},
		{"no-stacks", none, Breakdown{EventHeaders: 3 * 4, CommonFields: 3 * 8, Payload: 3 * 48}},
	} {
		want.b.PageHeaders, want.b.Pages, want.b.PageTails = 16, 1, 4080-want.records
		d := r.Designs[i]
		if d.Name != want.name || d.Breakdown != want.b {
			t.Errorf("%s:\n got %+v\nwant %s %+v", d.Name, d.Breakdown, want.name, want.b)
		}
		if d.Bytes != 4096 || d.Events != 3 || d.BytesPerEvent != ratio(want.records, 3) {
			t.Errorf("%s: %d bytes, %d events, %g each", d.Name, d.Bytes, d.Events, d.BytesPerEvent)
		}
	}
	d := r.Designs[1]
	if d.HitRate != ratio(1, 3) || d.Drops != 0 || d.Fallbacks != 0 || d.Maps[0].Entries != 2 || d.Maps[0].Successes != 3 {
		t.Errorf("stackmap: %+v", d)
	}
	if want := savingPct(full, mapped); d.SavingPct != want {
		t.Errorf("saving %g %%, want %g", d.SavingPct, want)
	}
	if r.Input.UniqueStacks != 2 || r.Input.Stacks != 3 || r.Input.KernelMeanDepth != 11 {
		t.Errorf("input: %+v", r.Input)
	}
	if len(r.Depths) != 2 || r.Depths[0].FullBytes != 100 || r.Depths[1].FullBytes != 128 || r.Depths[1].MappedBytes != 16 {
		t.Errorf("depths: %+v", r.Depths)
	}
}

// TestUserDesigns counts user stacks written in each way.
func TestUserDesigns(t *testing.T) {
	s := new(records)
	for i, user := range [][]uint64{{1, 2}, {1, 2}, {3}, frames(9, 12)} {
		s.add(0, uint64(1000*(i+1)), 7, 28)
		s.records[len(s.records)-1].NewEntry = i == 0
		s.stack(record.UserStack, user...)
	}
	r, err := Estimate(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Result{}
	for _, d := range r.Designs {
		got[d.Name] = d
	}
	for name, want := range map[string]uint64{
		"full-stacks":   4 * (32 + 84),
		"stackmap":      4 * (32 + 84),
		"stackmap+user": 4 * (32 + 16),
		// Cookies of 20 bytes, and for three stays a stack of 32 + 20 for each address.
		"deferred":  4*(32+20) + (4 + 72) + (4 + 52) + (4 + 4 + 272),
		"no-stacks": 4 * 32,
	} {
		d, ok := got[name]
		if !ok || d.BytesPerEvent != ratio(want, 4) {
			t.Errorf("%s: %g bytes per event, want %g", name, d.BytesPerEvent, ratio(want, 4))
		}
	}
	if d := got["deferred"].Deferred; d == nil || d.Stays != 3 || d.Inferred != 2 {
		t.Errorf("deferred: %+v", d)
	}
	if got["full-stacks"].CutUserStacks != 1 || got["deferred"].CutUserStacks != 0 {
		t.Errorf("cut user stacks: %d, %d", got["full-stacks"].CutUserStacks, got["deferred"].CutUserStacks)
	}
}

// TestFullMap holds the sweep, which asks each map once for each stack, against
// designs that ask for every event, in maps that are too small.
func TestFullMap(t *testing.T) {
	for _, name := range []string{"stackmap", "stackmap-v2", "stackmap-v4"} {
		for _, bits := range []int{10, 11} {
			t.Run(fmt.Sprint(name, bits), func(t *testing.T) {
				s := new(records)
				for i := range 9000 {
					s.add(i%2, uint64(1000*(i+1)), 7, 40)
					s.stack(record.KernelStack, frames(i%2800, 3+i%2800%70)...)
				}
				full, _ := record.NamedDesign("full-stacks", bits, 5)
				mapped, _ := record.NamedDesign(name, bits, 5)
				r, err := Estimate(t.Context(), s, Options{Bits: bits, Seed: 5, Designs: []record.Design{full, mapped}})
				if err != nil {
					t.Fatal(err)
				}
				d, p := r.Designs[1], r.Sweep[bits-10]
				if d.Drops == 0 || d.Drops != p.Drops || d.Fallbacks != p.Fallbacks || d.HitRate != p.HitRate || d.Maps[0].Entries != p.Entries {
					t.Errorf("design: %d drops, %d fallbacks, %g hits, %d entries; sweep: %d, %d, %g, %d",
						d.Drops, d.Fallbacks, d.HitRate, d.Maps[0].Entries, p.Drops, p.Fallbacks, p.HitRate, p.Entries)
				}
				near(t, "bytes per event of the sweep", p.BytesPerEvent, d.BytesPerEvent, 0.005)
			})
		}
	}
}

// TestRetention holds what is counted from the pages of a whole trace against a
// buffer of the size asked for that overwrites.
func TestRetention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomTrace(t, 1)
		kb := rapid.IntRange(1, 40).Draw(t, "kb")
		noOverwrite := rapid.Bool().Draw(t, "no overwrite")
		full, _ := record.NamedDesign("full-stacks", 14, 0)
		r, err := Estimate(t.Context(), &records{records: s.records}, Options{BufferSizeKB: kb, NoOverwrite: noOverwrite, Designs: []record.Design{full}})
		if err != nil {
			t.Fatal(err)
		}
		d := r.Designs[0]
		if d.RetainedBasis != Replayed || d.Events == 0 {
			return
		}
		var now uint64
		buf, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: kb * 1024, NoOverwrite: noOverwrite, Clock: func(int) uint64 { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.records {
			rec := &s.records[i]
			n := len(rec.Data)
			switch rec.Kind {
			case record.KernelStack:
				n = 16 + 8*len(rec.Stack)
			case record.UserStack:
				n = 80
			}
			now = max(now, rec.Time)
			e, err := buf.Reserve(0, ringbuf.Normal, n)
			if err != nil {
				if errors.Is(err, ringbuf.ErrFull) {
					break
				}
				t.Fatal(err)
			}
			clear(e.Data)
			if rec.Kind == record.Event {
				e.Data[0] = 1
			}
			buf.Commit(0, e)
		}
		var events uint64
		for e, ok := buf.Consume(0); ok; e, ok = buf.Consume(0) {
			if e.Data[0] == 1 {
				events++
			}
		}
		if events != d.RetainedEvents {
			t.Fatalf("a buffer of %d KB holds %d events at the end, the report says %d", kb, events, d.RetainedEvents)
		}
	})
}

// randomTrace draws a trace of events and stacks in any order and of any size.
func randomTrace(t *rapid.T, cpus int) *records {
	s := new(records)
	s.add(0, 1, 1, 8)
	var now uint64 = 1
	for range rapid.IntRange(0, 400).Draw(t, "records") {
		now += rapid.OneOf(rapid.Uint64Range(0, 5000), rapid.Uint64Range(0, 1<<40)).Draw(t, "time")
		cpu := rapid.IntRange(0, cpus-1).Draw(t, "cpu")
		size := rapid.OneOf(rapid.IntRange(8, 120), rapid.IntRange(8, 3000)).Draw(t, "size")
		s.add(cpu, now, int32(rapid.IntRange(1, 3).Draw(t, "pid")), size)
		s.records[len(s.records)-1].NewEntry = rapid.Bool().Draw(t, "entry")
		if rapid.Bool().Draw(t, "kernel stack") {
			s.stack(record.KernelStack, frames(rapid.IntRange(0, 5).Draw(t, "stack"), rapid.IntRange(0, 90).Draw(t, "depth"))...)
		}
		if rapid.Bool().Draw(t, "user stack") {
			s.stack(record.UserStack, frames(rapid.IntRange(0, 5).Draw(t, "ustack"), rapid.IntRange(1, 300).Draw(t, "udepth"))...)
		}
	}
	return s
}

// TestLedger writes random traces in all designs: Estimate itself compares the
// ledger with the pages; what it reports has to add up.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomTrace(t, 3)
		var designs []record.Design
		for _, n := range record.DesignNames() {
			d, err := record.NamedDesign(n, 10, 1)
			if err != nil {
				t.Fatal(err)
			}
			designs = append(designs, d)
		}
		opt := Options{Bits: 10, Designs: designs}
		r, err := Estimate(t.Context(), &records{records: s.records}, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Designs {
			b := d.Breakdown
			sum := b.PageHeaders + b.EventHeaders + b.CommonFields + b.Payload + b.Stack + b.TimeExtends + b.Padding + b.PageTails
			if sum != d.Bytes || d.Bytes != b.Pages*4096 {
				t.Fatalf("%s: parts add up to %d, pages to %d, bytes are %d", d.Name, sum, b.Pages*4096, d.Bytes)
			}
			if d.Events != r.Input.Events {
				t.Fatalf("%s: %d events of %d", d.Name, d.Events, r.Input.Events)
			}
		}
		again, err := Estimate(t.Context(), &records{records: s.records}, opt)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r, again) {
			t.Fatal("the same trace twice gives two reports")
		}
	})
}

// TestDiscard: a stack that v4's full map refuses has reserved a stack_id first.
func TestDiscard(t *testing.T) {
	s := new(records)
	for i := range 1500 {
		s.add(0, uint64(1000*(i+1)), 7, 40)
		s.stack(record.KernelStack, frames(i, 5)...)
	}
	full, _ := record.NamedDesign("full-stacks", 10, 0)
	v4, _ := record.NamedDesign("stackmap-v4", 10, 0)
	v2, _ := record.NamedDesign("stackmap-v2", 10, 0)
	r, err := Estimate(t.Context(), s, Options{Bits: 10, Designs: []record.Design{full, v2, v4}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := r.Designs[1], r.Designs[2]
	if a.Drops != b.Drops || a.Drops != 1500-1024 {
		t.Errorf("drops: v2 %d, v4 %d, want %d", a.Drops, b.Drops, 1500-1024)
	}
	extra := b.Breakdown.TimeExtends + b.Breakdown.Padding - a.Breakdown.TimeExtends - a.Breakdown.Padding
	if per := float64(extra) / float64(b.Drops); per < 7.5 || per > 9 {
		t.Errorf("v4 spends %.2f bytes more on a refusal, measured are 8", per)
	}
}

func TestRefusals(t *testing.T) {
	late := errors.New("the file ends in the middle")
	for _, c := range []struct {
		name string
		src  record.Source
		opt  Options
		want error
	}{
		{"buffer", small(), Options{BufferSizeKB: -1}, errRange},
		{"subbuf", small(), Options{SubbufSize: 5000}, errRange},
		{"bits", small(), Options{Bits: 9}, errRange},
		{"cpu", &records{records: []record.Record{{CPU: -1}}}, Options{}, errRange},
		{"source", failing{late}, Options{}, late},
	} {
		if _, err := Estimate(t.Context(), c.src, c.opt); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := Estimate(t.Context(), small(), Options{Designs: []record.Design{{Name: "x", Kernel: record.DeferredStack}}}); err == nil {
		t.Error("deferred kernel stacks were accepted")
	}
	if _, err := record.NamedDesign("half-stacks", 14, 0); err == nil {
		t.Error("half-stacks were accepted")
	}
}

type failing struct{ err error }

func (f failing) Next(*record.Record) error { return f.err }

// TestEmpty: a trace of nothing gives a report that says so.
func TestEmpty(t *testing.T) {
	r, err := Estimate(t.Context(), new(records), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Input.Events != 0 || r.Designs[0].Bytes != 0 || len(r.Caveats) == 0 || r.Recommendation.Bits != 0 {
		t.Errorf("%+v", r)
	}
	var b bytes.Buffer
	if err := WriteText(&b, TextOptions{}, r); err != nil {
		t.Fatal(err)
	}
}

var update = flag.Bool("update", false, "write the golden files of this package's own formats")

// TestFormats compares JSON and text with what a person has read.
func TestFormats(t *testing.T) {
	s := new(records)
	for i := range 2000 {
		s.add(i%2, uint64(5000*(i+1)), int32(7+i%3), 56)
		s.stack(record.KernelStack, frames(i%37, 4+i%37%20)...)
		s.stack(record.UserStack, frames(i%5, 3+i%5)...)
	}
	r, err := Estimate(t.Context(), s, Options{Path: "slab.dat", Format: "trace.dat v6", BufferSizeKB: 64, TopStacks: 2, Caveats: []string{"the capture was stopped by hand"}})
	if err != nil {
		t.Fatal(err)
	}
	var js, text, narrow bytes.Buffer
	if err := errors.Join(WriteJSON(&js, r), WriteText(&text, TextOptions{}, r), WriteText(&narrow, TextOptions{Width: 60}, r)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", js.Bytes())
	golden(t, "report.txt", text.Bytes())
	for line := range strings.Lines(narrow.String()) {
		if n := len(strings.TrimRight(line, "\n")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if back, err := ReadJSON(&js); err != nil || !reflect.DeepEqual(back, []*Report{r}) {
		t.Errorf("JSON does not read back: %v", err)
	}
	js.Reset()
	if err := WriteJSON(&js, r, r); err != nil {
		t.Fatal(err)
	}
	if back, err := ReadJSON(&js); err != nil || !reflect.DeepEqual(back, []*Report{r, r}) {
		t.Errorf("JSON of two does not read back: %v", err)
	}
	if _, err := ReadJSON(strings.NewReader(`{"schema":"ftracelab/estimate/2"}`)); err == nil {
		t.Error("another schema is read")
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

// TestUniqueSet passes its limits.
func TestUniqueSet(t *testing.T) {
	u := newUniqueSet(2000, 100, budget.New(budget.Default))
	for range 2 {
		for i := range 2500 {
			u.see(frames(i, 3))
		}
	}
	if n, least := u.len(); n != 2000 || !least || u.forgotten != 1000 {
		t.Errorf("%d unique, at least: %v, %d forgotten", n, least, u.forgotten)
	}
	for i := range u.stacks {
		s := &u.stacks[i]
		if s.count != 2 || s.kept != (i < 33) || s.kept && !reflect.DeepEqual(u.addresses(s), frames(i, 3)) {
			t.Fatalf("stack %d: %+v", i, s)
		}
	}
	c := newCensus(nil, budget.New(budget.Default))
	c.kernel, c.kernelStacks, c.events = u, 5000, 5000
	opt := Options{}
	if err := opt.complete(); err != nil {
		t.Fatal(err)
	}
	full, _ := record.NamedDesign("full-stacks", 0, 0)
	opt.Designs = []record.Design{full}
	r, err := newRun(t.Context(), &opt, budget.New(budget.Default))
	if err != nil {
		t.Fatal(err)
	}
	r.census = c
	points, _, _, err := r.sweep(record.Documented(), kernelKind)
	if err != nil {
		t.Fatal(err)
	}
	// The map refuses what the census forgot; a stack whose addresses were not kept
	// takes its room all the same.
	for i, want := range []struct{ drops, entries uint64 }{{5000 - 2*1024, 1024}, {1000, 2000}} {
		if p := points[i]; p.Drops != want.drops || p.Entries != want.entries {
			t.Errorf("bits=%d: %d drops, %d entries; want %+v", p.Bits, p.Drops, p.Entries, want)
		}
	}
}
