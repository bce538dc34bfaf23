package report

import (
	"strings"
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// codedDesigns are full stacks, and coded ones in both ways.
func codedDesigns(t *testing.T) []record.Design {
	t.Helper()
	ds, err := record.ParseDesigns("full-stacks,coded:code=prefix,coded:code=delta", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// TestCodedBytesByHand: a trace whose coded records can be counted by hand.
func TestCodedBytesByHand(t *testing.T) {
	r, err := Estimate(t.Context(), small(), Options{Designs: codedDesigns(t)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{
		100 + 100 + 128,
		// 4 + 12 + 8·10, the same stack again, and 4 + 4 + 12 + 8·13.
		96 + 16 + 124,
		// An address of 5 bytes and 9 of 1 byte; nothing; one of 2 bytes and 12 of 1 byte.
		32 + 16 + 32,
	} {
		d := &r.Designs[i]
		if d.Breakdown.StackRecordBytes != want || d.Breakdown.StackRecords != 3 || d.Fidelity.WholePct != 100 || d.MapBytes != 0 {
			t.Errorf("%s: %d bytes in %d records, want %d; %+v, %d bytes of maps", d.Name, d.Breakdown.StackRecordBytes, d.Breakdown.StackRecords, want, d.Fidelity, d.MapBytes)
		}
		if i > 0 && (d.Exists || d.Basis != Assumed || !strings.Contains(d.Needs, "coded")) {
			t.Errorf("%s: exists %v, %s, needs %q", d.Name, d.Exists, d.Basis, d.Needs)
		}
	}
	if r.Answer.Design != "full-stacks" {
		t.Errorf("the answer names a design that no kernel has: %+v", r.Answer)
	}
}

// forging is a ring whose pages have other coded stacks than were written.
type forging struct {
	*ringbuf.Buffer
	forge func(coded []byte)
}

func (f forging) ReadPage(cpu int, page []byte, full bool) bool {
	if !f.Buffer.ReadPage(cpu, page, full) {
		return false
	}
	p, err := ringbuf.ReadPageImage(page)
	if err != nil {
		return true
	}
	for e, ok := p.Next(); ok; e, ok = p.Next() {
		if e.IsData() && event.ParseCommon(e.Data).Type > firstFreeID {
			f.forge(e.Data)
			break
		}
	}
	return true
}

// TestForgedStacks: the estimate sees stacks on the pages that nobody wrote, and records
// that are no stacks.
func TestForgedStacks(t *testing.T) {
	for want, forge := range map[string]func([]byte){
		"the coded stacks on the pages are others than were written": func(data []byte) { data[12]++ },
		"it shares 9 addresses with a stack of 0":                    func(data []byte) { data[10] = 9 },
	} {
		for _, d := range codedDesigns(t)[1:] {
			d.Ring = func(c ringbuf.Config) (record.Ring, error) {
				b, err := ringbuf.New(c)
				return forging{b, forge}, err
			}
			full := codedDesigns(t)[0]
			if _, err := Estimate(t.Context(), small(), Options{Designs: []record.Design{full, d}}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want …%s…", d.Name, err, want)
			}
		}
	}
}
