package tracer_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/ringbuf"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/record"
)

// pages reads trace_pipe_raw of each CPU until there is nothing more.
func (l *lab) pages() [][]byte {
	l.t.Helper()
	images := make([][]byte, len(l.m.CPUs()))
	for cpu := range images {
		text, _ := l.drain(l.open(fmt.Sprintf("per_cpu/cpu%d/trace_pipe_raw", cpu), tracefile.Read|tracefile.NonBlock))
		images[cpu] = []byte(text)
	}
	return images
}

// countEvents decodes sub-buffers and counts their records.
func countEvents(t testing.TB, image []byte, size int) (n uint64) {
	t.Helper()
	for at := 0; at < len(image); at += size {
		r, err := ringbuf.ReadPageImage(image[at : at+size])
		if err != nil {
			t.Fatal(err)
		}
		for e, ok := r.Next(); ok; e, ok = r.Next() {
			if e.IsData() {
				n++
			}
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	return n
}

// What raw pages say, rendered, is what trace says, whatever the tracer and the
// options are; and the pages hold as many records as the stats count.
func TestRawIsTrace(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(l *lab)
	}{
		{"function", func(l *lab) { l.write("current_tracer", "function") }},
		{"function stacks", func(l *lab) {
			l.write("set_ftrace_filter", "vfs_* schedule")
			l.write("options/func_stack_trace", "1")
			l.write("current_tracer", "function")
		}},
		{"function ids", func(l *lab) {
			l.write("options/stackmap", "1")
			l.write("options/stacktrace", "1")
			l.write("current_tracer", "function")
		}},
		{"no repeats", func(l *lab) {
			l.write("options/func-no-repeats", "1")
			l.write("current_tracer", "function")
		}},
		{"graph", func(l *lab) { l.write("current_tracer", "function_graph") }},
		{"graph with events and ids", func(l *lab) {
			l.write("options/stackmap", "1")
			l.write("options/stacktrace", "1")
			l.write("set_event", "sched:*")
			l.write("current_tracer", "function_graph")
			l.write("options/funcgraph-proc", "1")
			l.write("options/funcgraph-tail", "1")
		}},
		{"events", func(l *lab) { l.write("events/enable", "1") }},
		{"events verbose", func(l *lab) {
			l.write("events/enable", "1")
			l.write("options/verbose", "1")
			l.write("options/sym-addr", "1")
		}},
		{"events fields", func(l *lab) { l.write("events/enable", "1"); l.write("options/fields", "1") }},
		{"events raw", func(l *lab) { l.write("events/enable", "1"); l.write("options/raw", "1") }},
		{"events hex", func(l *lab) { l.write("events/enable", "1"); l.write("options/hex", "1") }},
		{"user stacks", func(l *lab) {
			l.write("set_event", "raw_syscalls:* sched:sched_switch")
			l.write("options/userstacktrace", "1")
		}},
		{"deferred user stacks", func(l *lab) {
			l.write("set_event", "raw_syscalls:*")
			l.write("options/userstacktrace_delay", "1")
		}},
		{"counter", func(l *lab) { l.write("trace_clock", "counter"); l.write("events/sched/enable", "1") }},
		{"x86-tsc", func(l *lab) { l.write("trace_clock", "x86-tsc"); l.write("events/sched/enable", "1") }},
		{"uptime", func(l *lab) { l.write("trace_clock", "uptime"); l.write("events/sched/enable", "1") }},
		{"tai", func(l *lab) { l.write("trace_clock", "tai"); l.write("events/sched/enable", "1") }},
	} {
		for _, cpus := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%s/%d", c.name, cpus), func(t *testing.T) {
				l := newLabOn(t, machine.Config{CPUs: cpus}, tracer.Config{BufferSizeKB: 8000, DeferredUnwind: true, Stackmap: record.Documented()})
				c.setup(l)
				l.ft.Run(12 * machine.Millisecond)
				l.write("tracing_on", "0")
				checkRaw(t, l)
			})
		}
	}
}

func checkRaw(t *testing.T, l *lab) {
	t.Helper()
	trace := l.read("trace")
	entries := make([]uint64, len(l.m.CPUs()))
	for cpu := range entries {
		if _, err := fmt.Sscanf(l.read(fmt.Sprintf("per_cpu/cpu%d/stats", cpu)), "entries: %d\noverrun: 0\n", &entries[cpu]); err != nil {
			t.Fatalf("CPU %d: stats: %v", cpu, err)
		}
	}
	images := l.pages()
	for cpu, image := range images {
		if n := countEvents(t, image, l.ft.Top().Buffer().SubbufSize()); n != entries[cpu] {
			t.Errorf("CPU %d: %d records in the pages, %d in the stats", cpu, n, entries[cpu])
		}
	}
	text, err := l.ft.Top().Render(images)
	if err != nil {
		t.Fatal(err)
	}
	header, ok := strings.CutSuffix(trace, text)
	if !ok || len(text) < 200 {
		t.Fatalf("raw pages render to\n%s\nand trace is\n%s", firstLines(text, 20), firstLines(trace, 40))
	}
	for line := range strings.Lines(header) {
		if !strings.HasPrefix(line, "#") {
			t.Fatalf("only trace has the line %q", line)
		}
	}
}

func firstLines(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

// rawRecord is one record of a buffer.
type rawRecord struct {
	cpu  int
	time uint64
	data []byte
}

// records takes the records of all CPUs, in the order of time.
func (l *lab) records() []rawRecord {
	l.t.Helper()
	var all []rawRecord
	size := l.ft.Top().Buffer().SubbufSize()
	for cpu := range l.m.CPUs() {
		image := l.ft.Top().TakePages(cpu)
		for at := 0; at < len(image); at += size {
			r, err := ringbuf.ReadPageImage(image[at : at+size])
			if err != nil {
				l.t.Fatal(err)
			}
			for e, ok := r.Next(); ok; e, ok = r.Next() {
				if e.IsData() {
					all = append(all, rawRecord{cpu, e.Time, e.Data})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b rawRecord) int { return cmp.Compare(a.time, b.time) })
	return all
}
