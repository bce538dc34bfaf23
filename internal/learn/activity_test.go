package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ftracelab/internal/testutil"
)

// TestActivitiesAreCurrent: the embedded activities and formats are what the captures give.
func TestActivitiesAreCurrent(t *testing.T) {
	captured := os.Getenv("FTRACELAB_ACTIVITIES")
	if captured == "" {
		t.Skip("FTRACELAB_ACTIVITIES is not set: it names the captures of activities")
	}
	dir := t.TempDir()
	activities, formats := filepath.Join(dir, "activities"), filepath.Join(dir, "formats")
	o := oracle(filepath.Join(testutil.Oracle(t), "debian"))
	if err := learnActivities(o, oracle(captured), activities, formats); err != nil {
		t.Fatal(err)
	}
	for made, have := range map[string]string{
		activities: "../../workload/activities.bin.gz", formats: "../../tracer/event/events/ext4.txt.gz",
	} {
		a, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(have)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s: run go generate ./workload", have)
		}
	}
}
