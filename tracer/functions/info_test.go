package functions

import (
	"slices"
	"testing"
)

// The full kernel has fewer functions and the same way to keep their records: of 19589
// at boot, in four groups, 1412 were freed, and with them two groups.
func TestRecordGroups(t *testing.T) {
	var pages, records []int
	for _, g := range recordGroups(19589) {
		pages, records = append(pages, g.pages), append(records, g.records)
	}
	if want := []int{64, 8, 4, 1}; !slices.Equal(pages, want) {
		t.Errorf("pages %v, want %v", pages, want)
	}
	if freed := records[2] + records[3]; freed > 1412 || freed+records[1] <= 1412 {
		t.Errorf("records %v: 1412 are not the last two groups and some", records)
	}
}
