package tracer_test

import (
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
)

func newSnapshotLab(t *testing.T) *lab {
	return newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoStackmap: true})
}

// A snapshot is what was recorded until then; the buffer goes on with what the
// snapshot held before.
func TestSnapshotExchangesBuffers(t *testing.T) {
	for _, dir := range []string{"", "instances/foo/"} {
		l := newSnapshotLab(t)
		if dir != "" {
			if err := l.fs.Mkdir("instances/foo"); err != nil {
				t.Fatal(err)
			}
		}
		l.write(dir+"trace_marker", "before")
		before := l.read(dir + "trace")
		l.write(dir+"snapshot", "1")
		l.want(dir+"snapshot", before)
		if got := body(l.read(dir + "trace")); len(got) != 0 {
			t.Errorf("%strace after a snapshot: %q", dir, got)
		}
		l.write(dir+"trace_marker", "after")
		l.want(dir+"snapshot", before)
		l.write(dir+"snapshot", "1")
		if got := body(l.read(dir + "snapshot")); len(got) != 1 || !strings.HasSuffix(got[0], "after") {
			t.Errorf("%ssnapshot holds %q, want the second marker", dir, got)
		}
		l.want(dir+"trace", before)
	}
}

// It is taken even while nothing is recorded, and what is not recorded stays so.
func TestSnapshotWhileOff(t *testing.T) {
	l := newSnapshotLab(t)
	l.write("trace_marker", "here")
	before := l.read("trace")
	l.write("tracing_on", "0")
	l.write("tracing_cpumask", "2")
	l.write("snapshot", "1")
	l.want("snapshot", before)
	l.want("tracing_on", "0\n")
	l.write("tracing_on", "1")
	if n, err := tracefsWrite(l, "trace_marker", "masked"); n != 0 || err == nil {
		t.Errorf("a marker on a CPU outside tracing_cpumask: %d, %v", n, err)
	}
}

func tracefsWrite(l *lab, name, text string) (int, error) {
	if err := tracefsfs.WriteFile(l.fs, name, text); err != nil {
		return 0, err
	}
	return len(text), nil
}

// What a snapshot is while there is nothing in it, as the kernel says.
func TestSnapshotHelp(t *testing.T) {
	l := newSnapshotLab(t)
	if got, want := l.read("snapshot"), oracle(t, "debian/static/files/snapshot"); got != want {
		t.Errorf("snapshot reads\n%swant\n%s", got, want)
	}
	l.write("snapshot", "1")
	if got := l.read("snapshot"); !strings.Contains(got, "* Snapshot is allocated *") {
		t.Errorf("after a snapshot of nothing:\n%s", got)
	}
	l.write("snapshot", "0")
	if got := l.read("snapshot"); !strings.Contains(got, "* Snapshot is freed *") {
		t.Errorf("after freeing it:\n%s", got)
	}
	dir := "debian"
	if strings.Contains(" "+strings.TrimSpace(l.read("available_tracers"))+" ", " irqsoff ") {
		dir = "full"
	}
	if got, want := l.read("per_cpu/cpu0/snapshot"), oracle(t, dir+"/static/percpu/per_cpu_cpu0_snapshot"); got != want {
		t.Errorf("per_cpu/cpu0/snapshot reads\n%swant\n%s", got, want)
	}
}

// The snapshot follows the buffer: its size, its overwriting, its clock.
func TestSnapshotFollowsBuffer(t *testing.T) {
	l := newSnapshotLab(t)
	l.write("snapshot", "1")
	l.write("buffer_size_kb", "64")
	l.write("per_cpu/cpu1/buffer_size_kb", "128")
	l.write("trace_marker", "one")
	l.write("snapshot", "1")
	l.want("buffer_size_kb", "X\n")
	l.want("per_cpu/cpu1/buffer_size_kb", "131\n")
	l.write("trace_clock", "counter")
	if got := l.read("snapshot"); !strings.Contains(got, "Snapshot is allocated") {
		t.Errorf("another clock leaves the snapshot\n%s", got)
	}
}

// snapshot_raw gives the snapshot's sub-buffers and ends.
func TestSnapshotRaw(t *testing.T) {
	l := newSnapshotLab(t)
	l.write("set_event", "sched:*")
	l.ft.Run(20 * machine.Millisecond)
	l.write("tracing_on", "0")
	l.write("snapshot", "1")
	var images [][]byte
	want := strings.Join(body(l.read("snapshot")), "\n") + "\n"
	for _, cpu := range []string{"cpu0", "cpu1"} {
		images = append(images, []byte(l.read("per_cpu/"+cpu+"/snapshot_raw")))
	}
	got, err := l.ft.Top().Render(images)
	if err != nil || got != want || len(want) < 1000 {
		t.Errorf("snapshot_raw renders %d bytes, snapshot has %d: %v", len(got), len(want), err)
	}
}

func TestSnapshotErrors(t *testing.T) {
	l := newSnapshotLab(t)
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"snapshot", "x", syscall.EINVAL},
		{"snapshot", "-1", syscall.EINVAL},
		{"per_cpu/cpu0/snapshot", "0", syscall.EINVAL},
		{"per_cpu/cpu0/snapshot", "2", nil},
		{"snapshot", "0", nil},
		{"snapshot", "2", nil},
	} {
		if got := l.errno(c.name, c.text); got != c.want {
			t.Errorf("%s > %s: %v, want %v", c.text, c.name, got, c.want)
		}
	}
}
