package main

import (
	"os"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// TestStays: the tables of stays in docs/calibration.md are what captures and machine give. The
// stays of mix have most of the functions that a real kernel has there, and memory is asked for
// and given back as often, within a factor of two.
func TestStays(t *testing.T) {
	made, ours, real, err := wholeText(testutil.Oracle(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/calibration.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), made) {
		t.Errorf("run go run ./internal/learn -stays docs/calibration.md; want\n%s", made)
	}
	if s := ours.share(real); s < 0.8 || s > 1.25 {
		t.Errorf("stays have %.0f %% of the functions", 100*s)
	}
	for _, event := range []string{
		"kmem/kmalloc", "kmem/kfree", "kmem/kmem_cache_alloc", "kmem/kmem_cache_free", "kmem/mm_page_alloc", "kmem/mm_page_free",
		"exceptions/page_fault_user",
	} {
		if a, b := ours.per1000(event), real.per1000(event); a < b/2 || a > 2*b {
			t.Errorf("%s: %.0f in 1,000 stays, captures have %.0f", event, a, b)
		}
	}
}
