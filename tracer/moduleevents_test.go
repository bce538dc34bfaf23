package tracer

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/workload"
)

// TestSampleModuleText compares what the threads of the module record with the text of a
// real 6.12 with two CPUs, on which the module was built and loaded.
func TestSampleModuleText(t *testing.T) {
	l := newProbeLab(t)
	l.modprobe()
	text, err := os.ReadFile("testdata/sample-module.txt")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`iter=(\d+)|, (\d+),| (\d+)$`)
	c := l.ft.machine.CPUs()[0]
	points := map[string]machine.Event{}
	for e := machine.EvSampleFooBar; e <= machine.EvSampleTemplateFn; e++ {
		_, name, _ := strings.Cut(e.TracepointName(), ":")
		points[name] = e
	}
	l.must("events/sample-trace/enable", "1\n")
	var kernels []string
	seen := map[string]bool{}
	for want := range strings.Lines(string(text)) {
		want = strings.TrimSuffix(want, "\n")
		name, _, _ := strings.Cut(want, ":")
		count := -1
		for _, digits := range number.FindStringSubmatch(want)[1:] {
			if n, err := strconv.Atoi(digits); err == nil {
				count = n
			}
		}
		l.ft.mu.Lock()
		l.ft.tracepoint(c, &machine.Sample{ID: points[name], Count: int32(count)})
		l.ft.mu.Unlock()
		kernels, seen[name] = append(kernels, want), true
	}
	ours := l.lines(": foo_")
	for n := range ours {
		ours[n] = ours[n][strings.Index(ours[n], ": foo_")+2:]
	}
	if diff := cmp.Diff(kernels, ours); diff != "" {
		t.Errorf("-kernel +ours:\n%s", diff)
	}
	if len(seen) != 8 {
		t.Errorf("the capture has events %v, want all 8", seen)
	}
}

func (l *dynLab) modprobe() {
	l.t.Helper()
	if err := workload.Modprobe(l.ft, "trace-events-sample", nil); err != nil {
		l.t.Fatal(err)
	}
}

// TestSampleModuleFormats compares the format files with those of a real 6.12. Only the ids
// differ: the captured kernel had another module less.
func TestSampleModuleFormats(t *testing.T) {
	l := newProbeLab(t)
	for range 2 { // the ids are given back and given again
		l.modprobe()
		text, err := os.ReadFile("testdata/sample-formats.txt")
		if err != nil {
			t.Fatal(err)
		}
		files, err := event.SplitFormats(text)
		if err != nil || len(files) != 8 {
			t.Fatalf("%d formats, %v", len(files), err)
		}
		id := regexp.MustCompile(`(?m)^ID: (\d+)$`)
		shift := map[int]bool{}
		for _, f := range files {
			got := l.read("events/sample-trace/" + f.Name + "/format")
			ours, _ := strconv.Atoi(id.FindStringSubmatch(got)[1])
			kernels, _ := strconv.Atoi(string(id.FindSubmatch(f.Text)[1]))
			shift[ours-kernels] = true
			if diff := cmp.Diff(id.ReplaceAllString(string(f.Text), "ID"), id.ReplaceAllString(got, "ID")); diff != "" {
				t.Errorf("%s (-kernel +ours):\n%s", f.Name, diff)
			}
		}
		if len(shift) != 1 {
			t.Errorf("the ids are not in the kernel's order: differences %v", shift)
		}
		if got := strings.Join(strings.SplitAfter(l.read("available_events"), "\n")[:9], ""); got != sampleAvailable {
			t.Errorf("available_events begins with\n%s", got)
		}
		if err := workload.Rmmod(l.ft, "trace-events-sample"); err != nil {
			t.Fatal(err)
		}
	}
}

// sampleAvailable is how available_events begins on the captured kernel, and the event of
// ours that is next.
const sampleAvailable = `sample-trace:foo_bar
sample-trace:foo_bar_with_cond
sample-trace:foo_bar_with_fn
sample-trace:foo_with_template_simple
sample-trace:foo_with_template_cond
sample-trace:foo_with_template_fn
sample-trace:foo_with_template_print
sample-trace:foo_rel_loc
jbd2:jbd2_write_superblock
`

// The second thread lives while somebody listens to one of its two tracepoints, in any
// instance.
func TestSampleModuleFn(t *testing.T) {
	l := newProbeLab(t)
	l.modprobe()
	threads := func(want int) {
		t.Helper()
		l.ft.Run(10 * machine.Millisecond)
		have := 0
		for _, task := range l.ft.machine.Tasks() {
			if task.Comm == "event-sample-fn" {
				have++
			}
		}
		if have != want {
			t.Errorf("%d threads, want %d", have, want)
		}
	}
	if err := l.fs.Mkdir("instances/i"); err != nil {
		t.Fatal(err)
	}
	threads(0)
	l.must("events/sample-trace/foo_bar_with_fn/enable", "1\n")
	threads(1)
	l.must("instances/i/events/sample-trace/foo_with_template_fn/enable", "1\n")
	l.must("events/sample-trace/foo_bar_with_fn/enable", "0\n")
	threads(1)
	l.ft.Run(2100 * machine.Millisecond)
	if got := strings.Count(l.read("instances/i/trace"), ": foo_with_template_fn: foo Look at me too "); got != 2 {
		t.Errorf("%d events in 2.1 s, want 2", got)
	}
	l.must("instances/i/events/sample-trace/foo_with_template_fn/enable", "0\n")
	threads(0)
	// What listens when the module goes does not keep it, and does not come back with it.
	l.must("events/sample-trace/enable", "1\n")
	threads(1)
	if err := workload.Rmmod(l.ft, "trace-events-sample"); err != nil {
		t.Fatal(err)
	}
	threads(0)
	l.modprobe()
	l.want("events/sample-trace/enable", "0\n")
	threads(0)
}

// An event goes with its module: buffers that may have records of it are emptied, its hists
// and filters go. A trigger or an eprobe that needs it keeps the module. (Seen on a real
// 6.12.)
func TestSampleModuleGoes(t *testing.T) {
	l := newProbeLab(t)
	rmmod := func() error { return workload.Rmmod(l.ft, "trace-events-sample") }
	l.modprobe()
	if err := l.fs.Mkdir("instances/i"); err != nil {
		t.Fatal(err)
	}
	l.must("trace_marker", "stays\n")
	l.must("instances/i/trace_marker", "goes\n")
	l.must("instances/i/events/sample-trace/foo_bar/enable", "1\n")
	l.must("events/sample-trace/foo_bar/trigger", "hist:keys=bar\n")
	l.must("events/sample-trace/foo_bar/filter", "bar == 1 && cpum & CPUS{0}\n")
	l.must("events/sample-trace/foo_bar/trigger", "!hist:keys=bar\n")
	held, err := l.fs.Open("events/sample-trace/foo_bar/format")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	l.must("events/sched/sched_process_fork/trigger", "enable_event:sample-trace:foo_bar\n")
	if err := rmmod(); tracefile.Errno(err) != syscall.EBUSY || l.ft.machine.ModuleRefs("trace_events_sample") != 1 {
		t.Errorf("rmmod below a trigger that switches its event: %v", err)
	}
	l.must("events/sched/sched_process_fork/trigger", "!enable_event:sample-trace:foo_bar\n")
	l.must("dynamic_events", "e:ep sample-trace/foo_bar bar=$bar:s32\n")
	if err := rmmod(); tracefile.Errno(err) != syscall.EBUSY {
		t.Errorf("rmmod below an eprobe: %v", err)
	}
	l.must("dynamic_events", "-:eprobes/ep\n")
	if err := rmmod(); err != nil {
		t.Fatal(err)
	}

	if _, err := held.Read(make([]byte, 1)); tracefile.Errno(err) != syscall.ENODEV {
		t.Errorf("reading the format of an event that is gone: %v", err)
	}
	if got := l.read("instances/i/trace"); strings.Contains(got, "goes") {
		t.Error("the buffer of an instance that had the event enabled is not empty")
	}
	if l.ft.types.ByName("sample-trace", "foo_bar") != nil || slices.Contains(strings.Split(l.read("available_events"), "\n"), "sample-trace:foo_bar") {
		t.Error("the event is still there")
	}
	l.ft.Run(1100 * machine.Millisecond) // nothing listens any more
}
