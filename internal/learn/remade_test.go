package main

import (
	"bytes"
	"encoding/gob"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/workload"
)

// TestActivitiesAreCurrent: the embedded activities and formats are what the captures give.
// The activities are compared after decoding: gob numbers types by what the process has
// encoded before.
func TestActivitiesAreCurrent(t *testing.T) {
	shipped := decoded(t, "../../workload/activities.bin.gz")
	captured := testutil.FromEnv(t, "FTRACELAB_ACTIVITIES", "the folder with the captures of activities")
	if captured == "unavailable" {
		t.Log("there are no captures: the activities were not learned again")
		return
	}
	dir := t.TempDir()
	activities, formats := filepath.Join(dir, "activities"), filepath.Join(dir, "formats")
	o := oracle(filepath.Join(testutil.Oracle(t), "debian"))
	if err := learnActivities(o, oracle(captured), kernel(t), activities, formats); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(decoded(t, activities), shipped) {
		t.Error("activities.bin.gz: run go generate ./workload")
	}
	if !bytes.Equal(testutil.Gunzip(t, formats), testutil.Gunzip(t, "../../tracer/event/events/ext4.txt.gz")) {
		t.Error("ext4.txt.gz: run go generate ./workload")
	}
}

func decoded(t *testing.T, name string) *workload.Activities {
	t.Helper()
	var offers []workload.ActivityEvents
	var modules []workload.ActivityModule
	a, d := new(workload.Activities), gob.NewDecoder(bytes.NewReader(testutil.Gunzip(t, name)))
	if err := errors.Join(d.Decode(&offers), d.Decode(&modules), d.Decode(a)); err != nil {
		t.Fatal(err)
	}
	a.Modules = modules
	if !reflect.DeepEqual(offers, a.Offers()) {
		t.Errorf("%s begins with the events of other activities", name)
	}
	return a
}
