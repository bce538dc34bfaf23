package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"ftracelab/internal/plain"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// fuzzRecords makes records of any bytes: of each eight one record.
func fuzzRecords(data []byte) *records {
	s := new(records)
	now := uint64(1000)
	for b := range slices.Chunk(data, 8) {
		if len(b) < 8 {
			break
		}
		if b[2] < 250 {
			now += uint64(b[2]) << (b[3] % 64)
		} else {
			now -= uint64(b[3]) << 8 // a time that goes back
		}
		r := record.Record{
			Kind: record.Kind(b[0] % 6), CPU: int(b[1] % 5), Time: now, NewEntry: b[7]&1 != 0,
			Common: event.Common{Type: 400 + uint16(b[4]%3), Flags: b[6], PID: int32(b[5] % 4)},
		}
		switch r.Kind {
		case record.Event:
			if size := int(b[4]) << (b[5] % 6); size >= 8 { // up to two sub-buffers
				r.Data = make([]byte, size)
				r.Common.Put(r.Data)
			}
		case record.Lost:
			r.Count = uint64(b[4])
			if b[4] == 255 {
				r.Count = record.LostUnknown
			}
		default:
			r.Stack = frames(int(b[5]), int(b[4])<<(b[6]%4))
			r.Count = uint64(b[7] % 8) // of a cookie or what it found
		}
		s.records = append(s.records, r)
	}
	return s
}

// FuzzEstimate estimates any sequence of records with all designs: what the writers'
// ledgers say is what the reader finds (Estimate fails otherwise), the parts of each
// design add up, events are counted once, and the report can be written in all forms.
func FuzzEstimate(f *testing.F) {
	f.Add([]byte("\x00\x00\x10\x04\x38\x01\x00\x00\x01\x00\x00\x00\x0a\x01\x00\x00\x00\x00\x10\x04\x38\x01\x00\x00\x02\x00\x00\x00\x0a\x01\x00\x00"), uint8(0))
	f.Add(bytes.Repeat([]byte("\x00\x00\x10\x04\x38\x01\x00\x00\x01\x00\x00\x00\x0a\x01\x00\x00"), 500), uint8(216))
	f.Add(bytes.Repeat([]byte("\x00\x01\xff\x3f\xff\x05\x00\x01\x01\x01\x00\x00\xff\x07\x03\x00"), 40), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		src := fuzzRecords(data[:min(len(data), 8<<10)])
		opt := Options{BufferSizeKB: 1 + int(how%16)*20, NoOverwrite: how&16 != 0, Bits: 10 + int(how%3), SubbufSize: 4096 << (how >> 5 & 1)}
		if how&128 != 0 {
			opt.Plan = Plan{TargetSeconds: 1, BudgetKB: 1 << (how % 32), Instances: 1 + int(how%3), UniqueFactor: float64(1+how%8) / 2, Rate: float64(how >> 6 & 1)}
		}
		for _, name := range record.DesignNames() {
			d, err := record.NamedDesign(name, opt.Bits, 1)
			if err != nil {
				t.Fatal(err)
			}
			opt.Designs = append(opt.Designs, d)
		}
		r, err := Estimate(t.Context(), src, opt)
		if err != nil {
			t.Fatal(err)
		}
		events := uint64(0)
		for i := range src.records {
			if src.records[i].Kind == record.Event {
				events++
			}
		}
		if r.Input.Events != events {
			t.Errorf("%d events, %d in the input", r.Input.Events, events)
		}
		for i := range r.Designs {
			d := &r.Designs[i]
			b := &d.Breakdown
			if sum := b.PageHeaders + b.EventHeaders + b.CommonFields + b.Payload + b.Stack + b.TimeExtends + b.Padding + b.PageTails; sum != d.Bytes {
				t.Errorf("%s: parts of %d bytes in all, %d bytes", d.Name, sum, d.Bytes)
			}
			if d.Bytes != b.Pages*uint64(r.Settings.SubbufSize) {
				t.Errorf("%s: %d bytes on %d pages", d.Name, d.Bytes, b.Pages)
			}
			if d.RetainedBasis == Replayed && d.RetainedEvents > events {
				t.Errorf("%s: %d of %d events retained", d.Name, d.RetainedEvents, events)
			}
		}
		var text, js bytes.Buffer
		if err := WriteText(&text, TextOptions{Work: true}, r); err != nil {
			t.Error(err)
		}
		if err := WriteJSON(&js, r); err != nil || !json.Valid(js.Bytes()) {
			t.Errorf("JSON: %v", err)
		}
	})
}

// FuzzText writes a report with any strings, in which no line is longer than the page
// for another reason than a long word, and none of them acts on a terminal.
func FuzzText(f *testing.F) {
	f.Add("\x1b[31m\u202e", "a\nb", "\u009b \u2028 c")
	f.Fuzz(func(t *testing.T, path, caveat, frame string) {
		r, err := Estimate(t.Context(), small(), Options{Path: path, Format: caveat, Caveats: []string{caveat, frame}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.TopStacks {
			r.TopStacks[i].Frames = []string{frame, path, frame}
		}
		r.Designs[0].Name = frame
		var text, js bytes.Buffer
		if err := WriteText(&text, TextOptions{}, r); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text.Bytes()) {
			if line = bytes.TrimSuffix(line, []byte("\n")); plain.String(string(line)) != string(line) {
				t.Errorf("%q", line)
			}
		}
		if err := WriteJSON(&js, r); err != nil {
			t.Fatal(err)
		}
		back, err := ReadJSON(&js)
		if err != nil {
			t.Fatal(err)
		}
		if want := string([]rune(path)); back[0].Input.Path != want {
			t.Errorf("the path %q became %q", want, back[0].Input.Path)
		}
	})
}
