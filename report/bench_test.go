package report

import (
	"testing"

	"ftracelab/budget"
	"ftracelab/tracer/record"
)

// steady returns a batch of ordinary records and a source that repeats it.
func steady() *batch {
	s := new(records)
	for i := range 1000 {
		s.add(0, uint64(1000*(i+1)), 7, 56)
		s.stack(record.KernelStack, frames(i%100, 5+i%100%20)...)
	}
	b := newBatch()
	rd := &reader{src: s}
	if err := rd.fill(b); err != nil {
		panic(err)
	}
	return b
}

// TestNoAllocation: once its maps know the stacks, nothing is allocated for a record.
func TestNoAllocation(t *testing.T) {
	b := steady()
	opt := Options{}
	if err := opt.complete(); err != nil {
		t.Fatal(err)
	}
	for _, name := range record.DesignNames() {
		d, _ := record.NamedDesign(name, 14, 0)
		w, err := newWriter(d, &opt)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if err := w.consume(b); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(20, func() { _ = w.consume(b) }); n > 1 {
			t.Errorf("%s: %g allocations for %d records", name, n, len(b.records))
		}
	}
	c := newCensus(nil, budget.New(budget.Default))
	if n := testing.AllocsPerRun(20, func() { _ = c.consume(b) }); n > 0 {
		t.Errorf("census: %g allocations", n)
	}
}

// BenchmarkEstimate is the cost of a record in the default designs together.
func BenchmarkEstimate(b *testing.B) {
	s := new(records)
	for i := range 200_000 {
		s.add(i%2, uint64(1000*(i+1)), 7, 56)
		s.stack(record.KernelStack, frames(i%300, 5+i%300%20)...)
	}
	for b.Loop() {
		if _, err := Estimate(b.Context(), &records{records: s.records}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(s.records)), "ns/record")
}

// BenchmarkDesigns is the cost of a record in each of the parts alone.
func BenchmarkDesigns(b *testing.B) {
	in := steady()
	opt := Options{}
	if err := opt.complete(); err != nil {
		b.Fatal(err)
	}
	parts := map[string]consumer{"census": newCensus(nil, budget.New(budget.Default))}
	names := []string{"census"}
	for _, name := range []string{"full-stacks", "stackmap", "no-stacks"} {
		d, _ := record.NamedDesign(name, 14, 0)
		w, err := newWriter(d, &opt)
		if err != nil {
			b.Fatal(err)
		}
		parts[name] = w
		names = append(names, name)
	}
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := parts[name].consume(in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(in.records)), "ns/record")
		})
	}
}
