package report

import (
	"math"
	"testing"

	"ftracelab/tracer/record"
)

// TestPublishedClaims re-makes the two workloads the stackmap's first posting
// measured, as far as its numbers tell: so many stacks, so many of them unique.
// docs/calibration.md explains how the published bytes were counted; here that
// count and ours come from the same pages.
func TestPublishedClaims(t *testing.T) {
	const (
		depth   = 10 // 8 bytes of size and as many addresses are the claim's 88
		claimed = 8 + 8*depth
	)
	for _, c := range []struct {
		name           string
		stacks, unique int
		off, on        float64 // bytes claimed
	}{
		{"kmem_cache_alloc, 1 s", 774 + 8264, 774, 795e3, 176e3},
		{"function, 3 s", 3632 + 25466, 3632, 2.5 * (1 << 20), 653 * (1 << 10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := new(records)
			for i := range c.stacks {
				s.add(i%4, uint64(1000*(i+1)), 7, 56)
				s.stack(record.KernelStack, frames(i%c.unique, depth)...)
			}
			r, err := Estimate(t.Context(), s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if in := r.Input; in.KernelStacks != uint64(c.stacks) || in.UniqueKernelStacks != uint64(c.unique) {
				t.Fatalf("%d stacks, %d unique", in.KernelStacks, in.UniqueKernelStacks)
			}
			// The claim leaves out event headers and, of full stacks, the common
			// fields; and it adds the unique stacks themselves.
			full, mapped := &r.Designs[0], &r.Designs[1]
			off := float64(full.Breakdown.Stack)
			on := float64(mapped.Breakdown.StackRecordBytes) - 4*float64(mapped.Breakdown.StackRecords) + float64(c.unique*claimed)
			t.Logf("as claimed: %.0f -> %.0f bytes, published %.0f -> %.0f; on pages with headers: %d -> %d",
				off, on, c.off, c.on, full.Breakdown.StackRecordBytes, mapped.Breakdown.StackRecordBytes)
			if math.Abs(off/c.off-1) > 0.025 || math.Abs(on/c.on-1) > 0.01 {
				t.Errorf("%.0f -> %.0f, published %.0f -> %.0f", off, on, c.off, c.on)
			}
		})
	}
}
