package tracer_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"syscall"
	"testing"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// A ring that is mapped and a snapshot keep each other away, and the mapping shows what
// GetReader took.
func TestMappedRing(t *testing.T) {
	l := newLab(t, tracer.Config{})
	node, err := l.fs.Lookup("per_cpu/cpu0/trace_pipe_raw")
	if err != nil {
		t.Fatal(err)
	}
	file := node.(*tracefile.File)
	l.write("events/sched/sched_switch/trigger", "snapshot")
	if _, err := file.Ring.Map(); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("mapped while a trigger may take a snapshot: %v", err)
	}
	l.write("events/sched/sched_switch/trigger", "!snapshot")
	m, err := file.Ring.Map()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.errno("snapshot", "1"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a snapshot of a mapped ring: %v", err)
	}
	l.write("trace_marker", "marked")
	subbuf, all := m.Size()
	page := make([]byte, all)
	m.ReadAt(page, 0)
	if bytes.Contains(page, []byte("marked")) {
		t.Error("it shows what GetReader has not")
	}
	if err := m.GetReader(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	m.ReadAt(page, 0)
	at := bytes.Index(page, []byte("marked"))
	id := int(binary.LittleEndian.Uint32(page[24:]))
	if at/subbuf != 1+id {
		t.Errorf("the marker is at %d, the reader is sub-buffer %d of %d bytes", at, id, subbuf)
	}
	// Another process maps the same ring.
	other, err := file.Ring.Map()
	if err != nil {
		t.Fatal(err)
	}
	other.Refresh()
	if m.Refresh() || other.Refresh() {
		t.Error("something has changed, and nothing has happened")
	}
	l.write("trace_marker", "again")
	if !m.Refresh() || !other.Refresh() || m.Refresh() || other.Refresh() {
		t.Error("each of the two is not told once of a new event")
	}
	if err := other.GetReader(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if !m.Refresh() || other.Refresh() {
		t.Error("GetReader of one process is not told the other one, and only it")
	}
	other.Close()
	part := make([]byte, 16)
	if m.ReadAt(part, int64(at)-3); !bytes.Contains(part, []byte("marked")) {
		t.Errorf("a part of it: %q", part)
	}
	m.Close()
	if err := l.errno("snapshot", "1"); err != nil {
		t.Errorf("no longer mapped: %v", err)
	}
}
