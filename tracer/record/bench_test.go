package record_test

import (
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
	"ftracelab/tracer/record/stackcode"
)

// recorderFor is a recorder with a buffer that overwrites itself.
func recorderFor(t testing.TB, d record.Design) *record.Recorder {
	t.Helper()
	stacks, err := record.NewStacks(d, record.CatalogueIDs())
	if err != nil {
		t.Fatal(err)
	}
	now := uint64(0)
	buf, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 64 << 10, Clock: func(int) uint64 { now += 100; return now }})
	if err != nil {
		t.Fatal(err)
	}
	return record.NewRecorder(buf, stacks)
}

// designs are the ways to write stacks, with both kinds of stack.
func designs() []record.Design {
	return []record.Design{
		{Name: "full", Kernel: record.FullStack, User: record.FullStack},
		{Name: "stack ids", Kernel: record.StackID, KernelMap: record.V4(), User: record.StackID, UserMap: record.V4()},
		{Name: "ids of v2", Kernel: record.StackID, KernelMap: record.V2(), User: record.FullStack},
		{Name: "coded", Kernel: record.CodedStack, Code: stackcode.Delta},
		{Name: "deferred", Kernel: record.FullStack, User: record.DeferredStack},
	}
}

// recording writes one event with both stacks.
func recording(r *record.Recorder) func() {
	stack := record.Stack{Common: event.Common{PID: 5}, IPs: []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, TGID: 5}
	data := events.Function.Append(nil, stack.Common, &events.FunctionRecord{IP: 1, ParentIP: 2})
	return func() {
		_ = r.Event(0, ringbuf.Normal, data)
		_, _ = r.WriteKernelStack(0, ringbuf.Normal, &stack)
		_, _ = r.WriteUserStack(0, ringbuf.Normal, &stack)
	}
}

// The waist allocates nothing once its pages and map entries are there.
func TestRecorderAllocatesNothing(t *testing.T) {
	for _, d := range designs() {
		write := recording(recorderFor(t, d))
		for range 5000 {
			write()
		}
		if n := testing.AllocsPerRun(1000, write); n != 0 {
			t.Errorf("%s: %v allocations for one event with its stacks", d.Name, n)
		}
	}
}

func BenchmarkRecorder(b *testing.B) {
	for _, d := range designs() {
		b.Run(d.Name, func(b *testing.B) {
			write := recording(recorderFor(b, d))
			for range 5000 {
				write()
			}
			b.ReportAllocs()
			for b.Loop() {
				write()
			}
		})
	}
}
