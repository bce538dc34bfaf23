package tracer_test

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// A command acts at its function, as often as its count says, and only then.
func TestFunctionCommands(t *testing.T) {
	t.Run("traceoff", func(t *testing.T) {
		l := newLab(t, tracer.Config{})
		l.write("set_ftrace_filter", "schedule:traceoff:2")
		for left := 2; left > 0; left-- {
			l.want("set_ftrace_filter", "#### all functions enabled ####\nschedule:traceoff:count="+strconv.Itoa(left)+"\n")
			l.ft.Run(20 * machine.Millisecond)
			l.want("tracing_on", "0\n")
			l.write("tracing_on", "1")
		}
		l.ft.Run(20 * machine.Millisecond)
		l.want("tracing_on", "1\n")
		if err := l.errno("set_ftrace_filter", "!schedule:traceoff"); err != syscall.ENODEV {
			t.Errorf("taking away what was given with a count, without one: %v", err)
		}
		l.write("set_ftrace_filter", "!schedule:traceoff:0")
		l.want("set_ftrace_filter", "#### all functions enabled ####\n")
		l.want("enabled_functions", "")
	})
	t.Run("traceon", func(t *testing.T) {
		l := newLab(t, tracer.Config{})
		l.write("tracing_on", "0")
		l.write("set_ftrace_filter", "schedule:traceon:")
		l.ft.Run(20 * machine.Millisecond)
		l.want("tracing_on", "0\n") // an empty count is -1, and never fires
		l.write("set_ftrace_filter", "schedule:traceon")
		l.ft.Run(20 * machine.Millisecond)
		l.want("tracing_on", "1\n")
		l.want("set_ftrace_filter", "#### all functions enabled ####\nschedule:traceon:unlimited\nschedule:traceon:count=-1\n")
	})
	t.Run("stacktrace", func(t *testing.T) {
		l := newLab(t, tracer.Config{})
		l.write("set_ftrace_filter", "vfs_read:stacktrace:3")
		l.ft.Run(50 * machine.Millisecond)
		trace := l.read("trace")
		if strings.Count(trace, "<stack trace>") != 3 || strings.Count(trace, "<stack trace>\n => vfs_read\n") != 3 {
			t.Errorf("want three stacks of vfs_read:\n%s", trace)
		}
	})
	t.Run("snapshot", func(t *testing.T) {
		l := newLab(t, tracer.Config{})
		l.write("current_tracer", "function")
		l.write("set_ftrace_filter", "vfs_read:snapshot:1")
		l.ft.Run(50 * machine.Millisecond)
		if got := body(l.read("snapshot")); len(got) == 0 {
			t.Error("no snapshot was taken")
		}
		l.want("set_ftrace_filter", "#### all functions enabled ####\nvfs_read:snapshot:count=0\n")
	})
	t.Run("instances", func(t *testing.T) {
		l := newLab(t, tracer.Config{})
		if err := l.fs.Mkdir("instances/foo"); err != nil {
			t.Fatal(err)
		}
		l.write("instances/foo/set_ftrace_filter", "schedule:traceoff")
		l.ft.Run(20 * machine.Millisecond)
		l.want("tracing_on", "1\n")
		l.want("instances/foo/tracing_on", "0\n")
		l.want("set_ftrace_filter", "#### all functions enabled ####\n")
		if err := l.fs.Rmdir("instances/foo"); err != nil {
			t.Fatal(err)
		}
		l.want("enabled_functions", "")
	})
}

// The latest command is listed first; its functions are in the order of the
// kernel's table, all of them in the order of a captured listing.
func TestCommandOrder(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("set_ftrace_filter", "schedule:traceoff")
	l.append("set_ftrace_filter", "vfs_write:stacktrace:3")
	l.append("set_ftrace_filter", "vfs_read:snapshot:1")
	_, listing, ok := strings.Cut(oracle(t, "debian/function/fn_commands/state.txt"), "set_ftrace_filter:\n")
	listing, _, _ = strings.Cut(listing, "set_event:")
	if !ok {
		t.Fatal("the capture has no listing")
	}
	// Meanwhile the capture took its snapshot.
	if got := l.read("set_ftrace_filter"); strings.TrimSpace(strings.Replace(got, "snapshot:count=1", "snapshot:count=0", 1)) != strings.TrimSpace(listing) {
		t.Errorf("%q, want %q", got, listing)
	}
}

// What waits for a module, and how it is taken back.
func TestPendingModules(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("set_ftrace_filter", "a*:mod:trace_printk")
	l.append("set_ftrace_filter", ":mod:other")
	l.want("set_ftrace_filter", ":mod:other\na*:mod:trace_printk\n")
	l.write("current_tracer", "function")
	l.ft.Run(5 * machine.Millisecond)
	if got := body(l.read("trace")); len(got) > 0 {
		t.Errorf("a filter that waits lets %d functions through", len(got))
	}
	if err := l.errno("set_ftrace_filter", "!b:mod:other"); err != syscall.EINVAL {
		t.Errorf("taking back what does not wait: %v", err)
	}
	l.write("set_ftrace_filter", "a*:mod:trace_printk")
	l.append("set_ftrace_filter", "!*:mod:trace_printk")
	l.want("set_ftrace_filter", "#### all functions enabled ####\n")
	l.write("set_ftrace_notrace", "x:mod:y")
	l.want("set_ftrace_notrace", "#### no functions disabled ####\nx:mod:y\n")
}

// Each instance has its own filter.
func TestFilterOfInstances(t *testing.T) {
	l := newLab(t, tracer.Config{})
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.write("set_ftrace_filter", "*lock*")
	l.write("instances/foo/set_ftrace_filter", "vfs_*")
	for _, name := range []string{"function", "function_graph"} {
		l.write("current_tracer", name)
		l.write("instances/foo/current_tracer", name)
		l.ft.Run(20 * machine.Millisecond)
		for dir, want := range map[string]string{"": "lock", "instances/foo/": "vfs_"} {
			lines := body(l.read(dir + "trace"))
			if len(lines) < 10 {
				t.Fatalf("%s%s: %d lines", dir, name, len(lines))
			}
			for _, line := range lines {
				if call, _, ok := strings.Cut(line, "()"); (ok || name == "function") && !strings.Contains(call, want) {
					t.Fatalf("%s%s: %q", dir, name, line)
				}
			}
		}
	}
	if got := l.read("enabled_functions"); !strings.Contains(got, "vfs_read (1)") || !strings.Contains(got, "_raw_spin_lock (1)") {
		t.Errorf("enabled_functions: %.300s", got)
	}
}

// set_graph_function shows what it names and what that calls; set_graph_notrace
// leaves out the same.
func TestGraphFilter(t *testing.T) {
	outermost := func(l *lab) map[string]bool {
		names := map[string]bool{}
		for _, line := range body(l.read("trace")) {
			_, call, ok := strings.Cut(line, "|  ")
			if ok && call != "" && call[0] != ' ' && call[0] != '}' && call[0] != '/' {
				name, _, _ := strings.Cut(call, "(")
				names[name] = true
			}
		}
		return names
	}
	l := newLabOn(t, machine.Config{CPUs: 1}, tracer.Config{BufferSizeKB: 8000})
	l.write("set_graph_function", "vfs_read vfs_write")
	l.write("options/funcgraph-irqs", "0")
	l.write("current_tracer", "function_graph")
	l.ft.Run(50 * machine.Millisecond)
	got := outermost(l)
	if len(got) != 2 || !got["vfs_read"] || !got["vfs_write"] {
		t.Errorf("outermost functions: %v", got)
	}
	inside := strings.Count(l.read("trace"), "rw_verify_area()")
	if inside == 0 {
		t.Error("nothing that vfs_read calls")
	}
	l.write("trace", "")
	l.write("set_graph_notrace", "rw_verify_area")
	l.ft.Run(50 * machine.Millisecond)
	if trace := l.read("trace"); strings.Contains(trace, "rw_verify_area") || strings.Contains(trace, "security_file_permission") {
		t.Error("set_graph_notrace shows what it names or what that calls")
	}
	if err := l.errno("set_graph_function", "1"); err != syscall.EINVAL {
		t.Errorf("a number: %v", err)
	}
}

// Calls of a function of set_graph_function while tracing is off are not recorded, but
// open the way for one other call of their task, as the captures of a real kernel show:
// graph_setfn begins with a mutex_unlock() outside of vfs_write.
func TestGraphFilterWhileOff(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 1}, tracer.Config{BufferSizeKB: 8000})
	l.write("tracing_on", "0")
	l.write("set_graph_function", "vfs_read")
	l.write("options/funcgraph-irqs", "0")
	l.write("options/funcgraph-proc", "1")
	l.write("current_tracer", "function_graph")
	l.ft.Run(50 * machine.Millisecond)
	l.write("tracing_on", "1")
	l.ft.Run(50 * machine.Millisecond)
	others, reads := map[string]int{}, 0
	for _, line := range body(l.read("trace")) {
		// " 0)   cat-123    |   1.234 us    |  vfs_read() {"
		columns := strings.SplitN(line, "|", 3)
		if len(columns) < 3 || len(columns[2]) < 3 || strings.ContainsAny(columns[2][2:3], " }/") {
			continue
		}
		if strings.HasPrefix(columns[2], "  vfs_read() {") {
			reads++
			continue
		}
		others[strings.Fields(columns[0])[1]]++
	}
	if len(others) == 0 || reads < 10 {
		t.Errorf("%d reads, others by task: %v", reads, others)
	}
	for task, n := range others {
		if n > 1 {
			t.Errorf("%s: %d other calls", task, n)
		}
	}
}

// With a tracing_thresh only returns that took so long are recorded. An instance whose
// tracer was chosen before the file was written goes on to record each return, and no
// entry any more.
func TestGraphThresh(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000})
	if err := l.fs.Mkdir("instances/before"); err != nil {
		t.Fatal(err)
	}
	l.write("instances/before/current_tracer", "function_graph")
	l.write("tracing_thresh", "100")
	l.want("tracing_thresh", "100\n")
	l.write("current_tracer", "function_graph")
	l.ft.Run(50 * machine.Millisecond)
	if short, long := durations(t, l.read("trace"), 100); short > 0 || long == 0 {
		t.Errorf("%d calls took less than the threshold, %d longer", short, long)
	}
	before := l.read("instances/before/trace")
	if short, long := durations(t, before, 100); short == 0 || long == 0 || strings.Contains(before, "{") {
		t.Errorf("in the other instance %d calls took less than the threshold, %d longer", short, long)
	}
	l.write("tracing_thresh", "0")
}

// durations counts the calls of a graph that took less than some microseconds, and those
// that did not.
func durations(t *testing.T, text string, us float64) (short, long int) {
	t.Helper()
	for _, line := range body(text) {
		if !strings.Contains(line, " us ") {
			continue
		}
		fields := strings.Fields(line[strings.Index(line, ")")+1:])
		took, err := strconv.ParseFloat(fields[slices.Index(fields, "us")-1], 64)
		switch {
		case err != nil:
			t.Fatalf("%q: %v", line, err)
		case took < us:
			short++
		default:
			long++
		}
	}
	return short, long
}

// set_ftrace_pid and set_ftrace_notrace_pid; with function-fork children follow
// their parents.
func TestFunctionPIDs(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000})
	l.write("current_tracer", "function")
	l.ft.Run(20 * machine.Millisecond)
	pid := "" // a kernel thread, as it lives on
	for p := range pids(l.read("trace")) {
		if p != "0" && (pid == "" || len(p) < len(pid) || len(p) == len(pid) && p < pid) {
			pid = p
		}
	}
	for _, tracerName := range []string{"function", "function_graph"} {
		l.write("options/funcgraph-proc", "1")
		l.write("current_tracer", "nop")
		l.write("set_ftrace_pid", pid)
		l.want("set_ftrace_pid", pid+"\n")
		l.write("current_tracer", tracerName)
		l.ft.Run(100 * machine.Millisecond)
		if got := pids(l.read("trace")); len(got) != 1 || got[pid] == 0 {
			t.Errorf("%s of %s: tasks %v", tracerName, pid, got)
		}
		l.write("set_ftrace_pid", "")
		l.want("set_ftrace_pid", "no pid\n")
		l.write("set_ftrace_notrace_pid", pid)
		l.write("current_tracer", "nop") // forgets calls that have not returned
		l.write("current_tracer", tracerName)
		l.ft.Run(100 * machine.Millisecond)
		if got := pids(l.read("trace")); len(got) < 2 || got[pid] != 0 {
			t.Errorf("%s of all but %s: tasks %v", tracerName, pid, got)
		}
		l.write("set_ftrace_notrace_pid", "")
	}
}

// pids counts the lines of a trace by task.
func pids(trace string) map[string]int {
	counts := map[string]int{}
	for _, line := range body(trace) {
		for _, word := range strings.Fields(line) {
			at := strings.LastIndexByte(word, '-')
			if at < 1 {
				continue
			}
			if _, err := strconv.ParseUint(word[at+1:], 10, 31); err == nil {
				counts[word[at+1:]]++
				break
			}
		}
	}
	return counts
}

// Children of a task that is listed are listed while function-fork is on.
func TestFunctionFork(t *testing.T) {
	l := newLab(t, tracer.Config{})
	listed := func() []string { return strings.Fields(l.read("set_ftrace_pid")) }
	forks := func(option string) (children int) {
		l.write("options/function-fork", option)
		l.write("events/sched/sched_process_fork/enable", "1")
		l.write("trace", "")
		l.write("set_ftrace_pid", "")
		for _, task := range l.m.Tasks() {
			l.append("set_ftrace_pid", strconv.Itoa(task.PID))
		}
		before := listed()
		for range 60 { // a child may soon be gone
			l.ft.Run(5 * machine.Millisecond)
			for _, pid := range listed() {
				if !slices.Contains(before, pid) {
					children++
				}
			}
		}
		if !strings.Contains(l.read("trace"), "sched_process_fork") {
			t.Fatal("no task forked")
		}
		return children
	}
	if n := forks("0"); n != 0 {
		t.Errorf("%d children without function-fork", n)
	}
	if n := forks("1"); n == 0 {
		t.Error("no child was listed")
	}
}

// enable_event and disable_event switch an event that is enabled softly.
func TestEventCommands(t *testing.T) {
	l := newLab(t, tracer.Config{})
	const enable = "events/sched/sched_switch/enable"
	l.write("set_ftrace_filter", "schedule:enable_event:sched:sched_switch:1")
	l.want(enable, "0*\n")
	l.ft.Run(20 * machine.Millisecond)
	l.want(enable, "1*\n")
	l.want("set_ftrace_filter", "#### all functions enabled ####\nschedule:enable_event:sched:sched_switch:count=0\n")
	l.append("set_ftrace_filter", "do_idle schedule:disable_event:sched:sched_switch")
	l.ft.Run(20 * machine.Millisecond)
	l.want(enable, "0*\n")
	l.want("set_ftrace_filter", "do_idle\nschedule:disable_event:sched:sched_switch:unlimited\nschedule:enable_event:sched:sched_switch:count=0\n")
	l.append("set_ftrace_filter", "!schedule:disable_event:sched:sched_switch")
	l.append("set_ftrace_filter", "!schedule:enable_event:sched:sched_switch:0")
	l.want(enable, "0\n")
	for _, word := range []string{"schedule:enable_event", "schedule:enable_event:sched", "schedule:enable_event:sched:nosuch", "schedule:enable_event:sched:sched_switch:", "nosuch:enable_event:sched:sched_switch"} {
		if err := l.errno("set_ftrace_filter", word); err != syscall.EINVAL {
			t.Errorf("%s: %v", word, err)
		}
		l.want(enable, "0\n")
	}
}

// dump writes the buffer to the console once and leaves it empty.
func TestDumpCommand(t *testing.T) {
	for command, listed := range map[string]string{"dump": "count=0", "cpudump": "unlimited"} {
		var console strings.Builder
		l := newLab(t, tracer.Config{})
		l.m.Log().Console = &console
		l.write("current_tracer", "function")
		l.write("set_ftrace_filter", "*lock*")
		l.ft.Run(machine.Millisecond)
		lines := body(l.read("trace"))
		l.append("set_ftrace_filter", "schedule:"+command)
		l.ft.Run(40 * machine.Millisecond)
		l.want("tracing_on", "0\n")
		text := console.String()
		if command == "dump" && (len(body(l.read("trace"))) > 0 || strings.Count(text, "Dumping ftrace buffer:\n") != 1 || strings.Count(text, "\n") < len(lines)+3) {
			t.Errorf("%d lines in trace, on the console %.500s", len(body(l.read("trace"))), text)
		}
		if first := strings.Split(text, "\n")[0]; !strings.HasPrefix(text, "[    0.0") || !strings.HasSuffix(first, "] Dumping ftrace buffer:") {
			t.Errorf("%s: %q", command, first)
		}
		if got := l.read("set_ftrace_filter"); !strings.Contains(got, "schedule:"+command+":"+listed+"\n") {
			t.Errorf("%q", got)
		}
	}
}

// A command of a function whose module went can still be taken away, and the
// event it keeps is given free.
func TestCommandsOfModuleThatWent(t *testing.T) {
	l := newLab(t, tracer.Config{})
	load := func(m *machine.Machine) error {
		return m.LoadModule(machine.Module{Name: "mod", Functions: []string{"zz_one", "zz_two"}})
	}
	if err := l.ft.Do(load); err != nil {
		t.Fatal(err)
	}
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.write("set_ftrace_filter", "zz_*:enable_event:sched:sched_switch")
	l.write("instances/foo/set_ftrace_filter", "zz_*:traceoff")
	l.want("events/sched/sched_switch/enable", "0*\n")
	if got := l.read("set_ftrace_filter"); strings.Count(got, " [mod]:enable_event:sched:sched_switch:unlimited\n") != 2 {
		t.Errorf("%q", got)
	}
	if err := l.ft.Do(func(m *machine.Machine) error { return m.UnloadModule("mod") }); err != nil {
		t.Fatal(err)
	}
	l.want("set_ftrace_filter", "#### all functions enabled ####\n")
	if got := l.read("instances/foo/set_ftrace_filter"); !strings.Contains(got, "\n0x0:traceoff:unlimited\n") {
		t.Errorf("%q", got)
	}
	l.write("set_ftrace_filter", "!*:enable_event:sched:sched_switch")
	l.want("events/sched/sched_switch/enable", "0\n")
	l.want("set_ftrace_filter", "#### all functions enabled ####\n")
	if err := l.fs.Rmdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
}
