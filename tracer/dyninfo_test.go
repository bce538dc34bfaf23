package tracer_test

import (
	"slices"
	"testing"

	"ftracelab/tracer"
	"ftracelab/workload"
)

// dyn_ftrace_total_info is what Debian's kernel shows with the same functions; a module
// has its own memory there, which it gives back.
func TestDynInfo(t *testing.T) {
	l := newLab(t, tracer.Config{})
	booted := oracle(t, "debian/static/files/dyn_ftrace_total_info")
	l.want("dyn_ftrace_total_info", booted)
	l.modprobe("preemptirq_delay_test")
	l.want("dyn_ftrace_total_info", "43293 pages:181 groups: 8\n")
	if err := workload.Rmmod(l.ft, "preemptirq_delay_test"); err != nil {
		t.Fatal(err)
	}
	l.want("dyn_ftrace_total_info", booted)
	if err := l.errno("dyn_ftrace_total_info", "0"); err == nil {
		t.Error("it can be written")
	}
}

// The full kernel has fewer functions and the same way to keep their records: of 19589
// at boot, in four groups, 1412 were freed, and with them two groups.
func TestRecordGroups(t *testing.T) {
	pages, records := tracer.RecordGroups(19589)
	if want := []int{64, 8, 4, 1}; !slices.Equal(pages, want) {
		t.Errorf("pages %v, want %v", pages, want)
	}
	if freed := records[2] + records[3]; freed > 1412 || freed+records[1] <= 1412 {
		t.Errorf("records %v: 1412 are not the last two groups and some", records)
	}
}
