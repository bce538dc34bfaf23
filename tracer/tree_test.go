package tracer_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/tracer/record"
)

// tree is the listing of a folder, a line for each entry: type, mode, path.
func (l *lab) tree(dir string) []string {
	l.t.Helper()
	var text strings.Builder
	if err := l.fs.List(&text, dir); err != nil {
		l.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(text.String(), " "+dir, " .")), "\n")
}

// Every file of the tree is one of the kernel's, with its type and mode. Only
// what no kernel of the captures has may be beside them.
func TestTreeIsTheKernels(t *testing.T) {
	t.Run("all", func(t *testing.T) {
		checkTree(t, oracle(t, "debian/static/tree_find.txt"), oracle(t, "debian/static/tree_instance.txt"), nil)
	})
	t.Run("golden", func(t *testing.T) {
		events := []string{"sched/sched_switch", "irq/irq_handler_entry", "syscalls/sys_enter_openat", "ftrace/function"}
		checkTree(t, golden(t, "tree_find.txt"), golden(t, "tree_instance.txt"), events)
	})
}

func checkTree(t *testing.T, top, instance string, events []string) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{Stackmap: record.V4(), NoLatencyTracers: true, NoExt4: true})
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	// The modes of stack_map and its kin are those of the patched kernels, and
	// stack_id and the unwind records have a folder as all records have.
	extra := []string{
		"f 640 ./stack_map", "f 440 ./stack_map_stat", "f 440 ./stack_map_bin", "f 640 ./options/stackmap",
	}
	for _, name := range []string{"stack_id", "user_unwind_cookie", "user_unwind_stack"} {
		dir := "./events/ftrace/" + name
		extra = append(extra, "d 755 "+dir, "f 440 "+dir+"/format", "f 440 "+dir+"/hist")
	}
	compareTree(t, l.tree("."), append(strings.Split(top, "\n"), extra...), events)
	// The listing of an instance was not made below the folders of single events.
	for line := range strings.Lines(top) {
		if strings.Count(line, "/") == 4 && strings.Contains(line, " ./events/") {
			extra = append(extra, strings.TrimSpace(line))
		}
	}
	compareTree(t, l.tree("instances/foo"), append(strings.Split(instance, "\n"), extra[4:]...), events)
}

// compareTree looks up each line of ours; with events, of the events only those.
func compareTree(t *testing.T, ours, theirs, events []string) {
	t.Helper()
	known := map[string]bool{}
	for _, line := range theirs {
		known[line] = true
	}
	seen := 0
	for _, line := range ours {
		path := line[strings.IndexByte(line, '.'):]
		if event, ok := strings.CutPrefix(path, "./events/"); ok && events != nil && strings.Count(event, "/") > 0 {
			parts := strings.Split(event, "/")
			if !slices.Contains(events, parts[0]+"/"+parts[1]) {
				continue
			}
		} else if strings.HasPrefix(path, "./events/") && events != nil && !strings.Contains(event, "_page") {
			continue
		}
		if strings.HasPrefix(path, "./instances/") {
			continue
		}
		seen++
		if !known[line] {
			t.Errorf("the kernel has no %q", line)
		}
	}
	if seen < 80 {
		t.Errorf("only %d files were compared", seen)
	}
}

// What comes with the latency tracers is the other kernel's.
func TestTreeOfLatencyTracers(t *testing.T) {
	debian, full := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoLatencyTracers: true, NoExt4: true}).tree("."), map[string]bool{}
	for line := range strings.Lines(oracle(t, "full/static/tree_find.txt")) {
		full[strings.TrimSpace(line)] = true
	}
	more := 0
	for _, line := range newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoExt4: true}).tree(".") {
		if !slices.Contains(debian, line) && !strings.Contains(line, "instances") {
			more++
			if !full[line] {
				t.Errorf("the kernel has no %q", line)
			}
		}
	}
	if more < 50 {
		t.Errorf("only %d files more", more)
	}
}

// Format files are the kernel's, byte for byte.
func TestFormats(t *testing.T) {
	l := newLab(t, tracer.Config{Stackmap: record.V4(), NoLatencyTracers: true, NoExt4: true})
	theirs := map[string]string{}
	for _, section := range strings.Split(oracle(t, "debian/static/formats_all.txt.gz"), "==== ")[1:] {
		dir, text, _ := strings.Cut(section, "\n")
		theirs[dir] = text
	}
	theirs["events/ftrace/stack_id"] = oracle(t, "stackmap/v4/static/stack_id.format")
	finish := "events/initcall/initcall_finish"
	theirs[finish] = strings.Replace(theirs[finish], "\nID: 20\n", "\nID: 1529\n", 1) // stack_id has 20
	compared := 0
	for _, typ := range l.ft.Types().All() {
		dir := "events/" + typ.System + "/" + typ.Name
		want, ok := theirs[dir]
		if !ok {
			t.Errorf("%s: no kernel has it", dir)
			continue
		}
		compared++
		if got := l.read(dir + "/format"); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s/format:\n%s\nwant:\n%s", dir, got, want)
		}
		if typ.System != "ftrace" {
			l.want(dir+"/id", fmt.Sprintln(typ.ID))
		}
	}
	t.Logf("%d formats", compared)
}

// available_events is the kernel's, line by line.
func TestAvailableEvents(t *testing.T) {
	l := newLab(t, tracer.Config{NoStackmap: true, NoLatencyTracers: true, NoExt4: true})
	l.want("available_events", oracle(t, "debian/static/files/available_events"))
}

func TestHeaderFiles(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.want("events/header_page", oracle(t, "debian/static/header_page.txt"))
	l.want("events/header_event", oracle(t, "debian/static/header_event.txt"))
}

// traceOptions is the text of trace_options for each tracer, on one line as the
// captures have it.
func (l *lab) traceOptions(dir string) map[string]string {
	options := map[string]string{}
	for _, name := range []string{"function", "function_graph", "nop"} {
		l.write(dir+"current_tracer", name)
		options[name] = strings.Join(strings.Fields(l.read(dir+"trace_options")), " ")
	}
	return options
}

// trace_options of a kernel without the map is Debian's, with it the patched
// kernels', which are built with what Debian's is not.
func TestTraceOptions(t *testing.T) {
	plain := newLab(t, tracer.Config{NoStackmap: true}).traceOptions("")
	name, compared := "", 0
	for line := range strings.Lines(oracle(t, "debian/static/tracer_headers.txt")) {
		line = strings.TrimSpace(line)
		if next, ok := strings.CutPrefix(line, "== "); ok {
			name = next
		}
		if want, ok := plain[name]; ok && strings.HasPrefix(line, "print-parent ") {
			compared++
			if line != want {
				t.Errorf("%s: trace_options\n%s\nwant\n%s", name, want, line)
			}
		}
	}
	for version, cfg := range map[string]record.MapConfig{"v2": record.V2(), "v4": record.V4()} {
		l := newLab(t, tracer.Config{Stackmap: cfg, FunctionProfiler: true, FunctionGraphRetval: true})
		l.want("trace_options", oracle(t, "stackmap/"+version+"/static/trace_options.txt"))
		ours := l.traceOptions("")
		for line := range strings.Lines(oracle(t, "stackmap/"+version+"/static/trace_options_per_tracer.txt")) {
			name, options, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if got, ok := ours[name]; ok {
				compared++
				if got != strings.TrimSpace(options) {
					t.Errorf("%s: %s: trace_options\n%s\nwant\n%s", version, name, got, options)
				}
			}
		}
		if err := l.fs.Mkdir("instances/foo"); err != nil {
			t.Fatal(err)
		}
		l.want("instances/foo/trace_options", oracle(t, "stackmap/"+version+"/static/instance_trace_options.txt"))
		if err := l.fs.Rmdir("instances/foo"); err != nil {
			t.Fatal(err)
		}
		l.write("options/stackmap", "1")
		if err := l.fs.Mkdir("instances/foo"); err != nil {
			t.Fatal(err)
		}
		inherited := strings.TrimSpace(oracle(t, "stackmap/"+version+"/static/instance_created_while_set.txt"))
		if !slices.Contains(strings.Fields(l.read("instances/foo/trace_options")), inherited) {
			t.Errorf("%s: a new instance has not %s", version, inherited)
		}
	}
	if compared != 9 {
		t.Errorf("%d texts were compared, want 9", compared)
	}
}

// The values of options, of a fresh instance too.
func TestOptionDefaults(t *testing.T) {
	l := newLab(t, tracer.Config{NoStackmap: true})
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"":               oracle(t, "debian/static/options.txt"),
		"instances/foo/": oracle(t, "debian/static/instance_options.txt"),
	} {
		values := map[string]string{}
		for _, row := range strings.Fields(want) {
			name, value, _ := strings.Cut(row, "=")
			values[strings.TrimPrefix(name, "options/")] = value
		}
		entries, err := l.fs.ReadDir(dir + "options")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if got := strings.TrimSpace(l.read(dir + "options/" + e.Name())); got != values[e.Name()] {
				t.Errorf("%soptions/%s is %s, want %q", dir, e.Name(), got, values[e.Name()])
			}
			delete(values, e.Name())
		}
		for name := range values {
			t.Errorf("%soptions has no %s", dir, name)
		}
	}
}

// A fresh tree shows what a fresh kernel shows.
func TestDefaults(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	for _, name := range []string{
		"buffer_size_kb", "buffer_total_size_kb", "current_tracer", "error_log", "max_graph_depth", "set_event",
		"set_ftrace_filter", "set_ftrace_notrace", "trace", "trace_clock", "tracing_cpumask", "tracing_on",
	} {
		l.want(name, oracle(t, "debian/static/files/"+name))
	}
	l.want("per_cpu/cpu0/buffer_size_kb", oracle(t, "debian/static/percpu/per_cpu_cpu0_buffer_size_kb"))
	stats := oracle(t, "debian/static/percpu/per_cpu_cpu0_stats")
	if got := l.read("per_cpu/cpu0/stats"); withoutNow(got) != withoutNow(stats) {
		t.Errorf("stats\n%s\nwant\n%s", got, stats)
	}
}

// withoutNow is a stats file without its line of the present time.
func withoutNow(stats string) string {
	before, after, _ := strings.Cut(stats, "now ts:")
	_, after, _ = strings.Cut(after, "\n")
	return before + after
}

// buffer_size_kb reads back whole sub-buffers.
func TestBufferSizes(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	compared := 0
	for line := range strings.Lines(oracle(t, "debian/static/buffer_size.txt")) {
		var written, size, total int
		if _, err := fmt.Sscanf(line, "w %d -> %d total %d", &written, &size, &total); err != nil {
			continue
		}
		compared++
		l.write("buffer_size_kb", fmt.Sprint(written))
		l.want("buffer_size_kb", fmt.Sprintln(size))
		l.want("buffer_total_size_kb", fmt.Sprintln(total))
	}
	l.write("per_cpu/cpu1/buffer_size_kb", "64")
	l.want("buffer_size_kb", "X\n")
	l.want("per_cpu/cpu0/buffer_size_kb", "5000\n")
	l.want("per_cpu/cpu1/buffer_size_kb", "67\n")
	l.want("buffer_total_size_kb", "5067\n")
	if compared != 8 {
		t.Errorf("%d sizes were compared, want 8", compared)
	}
}

// Every file that can be read gives something or nothing, and fails at nothing.
func TestEveryFileReads(t *testing.T) {
	l := newLab(t, tracer.Config{DeferredUnwind: true})
	err := fs.WalkDir(l.fs, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(name, "trace_pipe") || d.Name() == "free_buffer" || strings.HasPrefix(d.Name(), "trace_marker") || d.Name() == "timerlat_fd" {
			return err
		}
		l.read(name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
