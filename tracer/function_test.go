package tracer_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload"
)

var functionLine = regexp.MustCompile(`: (\S+)(?: \[\w+\])? <-(\S+)`)

// functions counts the functions of a trace of the function tracer.
func functions(trace string) map[string]int {
	seen := map[string]int{}
	for _, line := range body(trace) {
		if m := functionLine.FindStringSubmatch(line); m != nil {
			seen[m[1]]++
		}
	}
	return seen
}

func TestFunctionFilter(t *testing.T) {
	run := func(setup func(l *lab)) map[string]int {
		l := newLab(t, tracer.Config{BufferSizeKB: 8000})
		setup(l)
		l.write("current_tracer", "function")
		l.ft.Run(20 * machine.Millisecond)
		return functions(l.read("trace"))
	}
	all := run(func(*lab) {})
	if len(all) < 100 {
		t.Fatalf("only %d functions ran", len(all))
	}
	filtered := run(func(l *lab) {
		l.write("set_ftrace_filter", "*lock*")
		l.append("set_ftrace_filter", "schedule")
		l.append("set_ftrace_filter", "!*unlock*")
		l.write("set_ftrace_notrace", "_raw_spin_lock")
	})
	excluded := run(func(l *lab) { l.write("set_ftrace_notrace", "*lock*") })
	for name, count := range all {
		lock := strings.Contains(name, "lock")
		wanted := (lock && !strings.Contains(name, "unlock") || name == "schedule") && name != "_raw_spin_lock"
		if wanted && filtered[name] != count || !wanted && filtered[name] != 0 {
			t.Errorf("%s: %d of %d calls were recorded", name, filtered[name], count)
		}
		if lock && excluded[name] != 0 || !lock && excluded[name] != count {
			t.Errorf("%s, without locks: %d of %d calls were recorded", name, excluded[name], count)
		}
	}
}

// The words of set_ftrace_filter.
func TestFilterWords(t *testing.T) {
	const none = "#### all functions enabled ####\n"
	first, _, _ := strings.Cut(newLab(t, tracer.Config{}).read("available_filter_functions"), "\n")
	for _, c := range []struct {
		write string // with its newline a word is tried at once
		want  syscall.Errno
		shows string
	}{
		{"vfs_read", 0, "vfs_read\n"},
		{"vfs_rea[abd]", 0, "vfs_read\n"},
		{"vfs_r?ad", 0, "vfs_read\n"},
		{"vfs_read vfs_write", 0, "vfs_write\nvfs_read\n"},
		{"1", 0, first + "\n"},
		{"0x1", 0, first + "\n"},
		{"0", syscall.EINVAL, none},
		{"99999999", syscall.EINVAL, none},
		{"1x", syscall.EINVAL, none},
		{"no_such", syscall.EINVAL, none},
		{"vfs_read no_such vfs_write", syscall.EINVAL, "vfs_read\n"},
		{"vfs_read:mod:nosuch", 0, "vfs_read:mod:nosuch\n"},
		{"vfs_read:mod:!nosuch", 0, "vfs_read\n"},
		{"vfs_read:traceon", 0, none + "vfs_read:traceon:unlimited\n"},
		{"vfs_read:bogus", syscall.EINVAL, none},
		{"!vfs_read", 0, none},
		{strings.Repeat("x", 600), syscall.EINVAL, none},
	} {
		l := newLab(t, tracer.Config{})
		var err error = syscall.Errno(0)
		if e := l.errno("set_ftrace_filter", c.write); e != nil {
			err = e
		}
		shown := l.read("set_ftrace_filter")
		if err != c.want || shown != c.shows && !sameLines(shown, c.shows) {
			t.Errorf("%.40q: %v, shows %.80q, want %v, %q", c.write, err, shown, c.want, c.shows)
		}
	}
	l := newLab(t, tracer.Config{})
	l.write("set_ftrace_filter", ":mod:*")
	for line := range strings.Lines(l.read("set_ftrace_filter")) {
		if !strings.HasSuffix(line, "]\n") && line != none {
			t.Fatalf(":mod:* took %q", line)
		}
	}
}

func sameLines(a, b string) bool {
	return len(a) == len(b) && fmt.Sprint(lineSet(a)) == fmt.Sprint(lineSet(b))
}

func lineSet(s string) map[string]int {
	set := map[string]int{}
	for line := range strings.Lines(s) {
		set[line]++
	}
	return set
}

// What is written takes effect when the file is closed, as a kernel does it.
func TestFilterTakesEffectAtClose(t *testing.T) {
	l := newLab(t, tracer.Config{})
	h := l.open("set_ftrace_filter", tracefile.Write|tracefile.Trunc)
	for _, part := range []string{"vfs_", "read sched", "ule"} {
		if _, err := h.Write(t.Context(), []byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	l.want("set_ftrace_filter", "#### all functions enabled ####\n")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	l.want("set_ftrace_filter", "vfs_read\n")
}

// A stack of the function tracer begins with the trampoline and the function.
func TestFuncStackTrace(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("set_ftrace_filter", "schedule")
	l.write("options/func_stack_trace", "1")
	l.write("current_tracer", "function")
	l.ft.Run(20 * machine.Millisecond)
	lines := body(l.read("trace"))
	checked := 0
	for n, line := range lines {
		if !strings.Contains(line, "<stack trace>") {
			continue
		}
		checked++
		if m := functionLine.FindStringSubmatch(lines[n-1]); m == nil || lines[n+1] != " => 0x7fffffff" && lines[n+1] != " => [FTRACE TRAMPOLINE]" || lines[n+2] != " => "+m[1] || lines[n+3] != " => "+m[2] {
			t.Fatalf("a stack is not its function's:\n%s", strings.Join(lines[n-1:n+4], "\n"))
		}
	}
	if checked == 0 {
		t.Error("no stack was recorded")
	}
}

// func-no-repeats leaves out calls that repeat the one before on their CPU, and
// counts them.
func TestNoRepeats(t *testing.T) {
	run := func(option string) (calls []events.FunctionRecord, repeats int) {
		l := newLabOn(t, machine.Config{CPUs: 1}, tracer.Config{BufferSizeKB: 8000})
		l.write("options/func-no-repeats", option)
		l.write("set_ftrace_filter", "*list* *free* *lock*")
		l.write("current_tracer", "function")
		l.ft.Run(40 * machine.Millisecond)
		for _, r := range l.records() {
			switch int(event.ParseCommon(r.data).Type) {
			case events.Function.ID:
				var f events.FunctionRecord
				if err := events.Function.Decode(r.data, &f); err != nil {
					t.Fatal(err)
				}
				calls = append(calls, f)
			case events.FuncRepeats.ID:
				var f events.FuncRepeatsRecord
				if err := events.FuncRepeats.Decode(r.data, &f); err != nil {
					t.Fatal(err)
				}
				last := calls[len(calls)-1]
				if last.IP != f.IP || last.ParentIP != f.ParentIP {
					t.Fatal("a func_repeats does not follow its call")
				}
				repeats++
				for range f.Count {
					calls = append(calls, last)
				}
			}
		}
		return calls, repeats
	}
	all, _ := run("0")
	again, repeats := run("1")
	if repeats == 0 {
		t.Fatal("nothing repeated")
	}
	// The last repetitions may not have been told yet.
	for n := range again {
		if again[n] != all[n] {
			t.Fatalf("call %d: %v, want %v", n, again[n], all[n])
		}
	}
	if len(all)-len(again) > 100 {
		t.Errorf("%d calls, of which %d came back", len(all), len(again))
	}
}

// Switching tracing on again empties the buffer of the function tracer, and only
// its.
func TestStartEmptiesFunctionTrace(t *testing.T) {
	for tracerName, kept := range map[string]bool{"function": false, "function_graph": true} {
		l := newLab(t, tracer.Config{})
		l.write("current_tracer", tracerName)
		l.ft.Run(2 * machine.Millisecond)
		l.write("tracing_on", "1")
		if len(body(l.read("trace"))) == 0 {
			t.Fatalf("%s: writing 1 to a tracing_on of 1 emptied the buffer", tracerName)
		}
		l.write("tracing_on", "0")
		l.write("tracing_on", "1")
		if got := len(body(l.read("trace"))) > 0; got != kept {
			t.Errorf("%s: kept %v", tracerName, got)
		}
	}
}

// In each task's graph every return belongs to the latest entry that has none,
// at the depth it was entered; max_graph_depth bounds it.
func TestGraphBalance(t *testing.T) {
	for _, depth := range []int{0, 3} {
		l := newLab(t, tracer.Config{BufferSizeKB: 20000})
		l.write("max_graph_depth", fmt.Sprint(depth))
		l.write("current_tracer", "function_graph")
		l.ft.Run(20 * machine.Millisecond)
		l.write("tracing_on", "0")
		entries, returns, deepest := 0, 0, 0
		preemptible := false // at some return
		type frame struct {
			fn    uint64
			depth int32
		}
		open := map[int][]frame{} // by task; each CPU has an idle task
		for _, r := range l.records() {
			rec, common := r.data, event.ParseCommon(r.data)
			task := int(common.PID)
			if task == 0 {
				task = -1 - r.cpu
			}
			stack := open[task]
			switch int(common.Type) {
			case events.FuncgraphEntry.ID:
				var e events.FuncgraphEntryRecord
				if err := events.FuncgraphEntry.Decode(rec, &e); err != nil {
					t.Fatal(err)
				}
				entries++
				if common.PreemptCount&0xf == 0 {
					t.Fatal("an entry was recorded with preemption enabled")
				}
				deepest = max(deepest, int(e.Depth))
				open[task] = append(stack, frame{e.Func, e.Depth})
			case events.FuncgraphExit.ID:
				var e events.FuncgraphExitRecord
				if err := events.FuncgraphExit.Decode(rec, &e); err != nil {
					t.Fatal(err)
				}
				returns++
				preemptible = preemptible || common.PreemptCount&0xf == 0
				if len(stack) == 0 || stack[len(stack)-1] != (frame{e.Func, e.Depth}) || e.Rettime < e.Calltime {
					t.Fatalf("depth %d: task %d returns from %#x at depth %d, entered %v", depth, common.PID, e.Func, e.Depth, stack)
				}
				open[task] = stack[:len(stack)-1]
			}
		}
		unreturned := 0
		for _, stack := range open {
			unreturned += len(stack)
		}
		if !preemptible || entries == 0 || entries != returns+unreturned || depth > 0 && deepest != depth-1 || depth == 0 && deepest < 5 {
			t.Errorf("depth %d: %d entries, %d returns, %d open, deepest %d", depth, entries, returns, unreturned, deepest)
		}
	}
}

// The text of the graph is nested as the records are: every closing brace ends
// the function whose name it has a comment with.
func TestGraphText(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 1}, tracer.Config{BufferSizeKB: 8000})
	l.write("options/funcgraph-tail", "1")
	l.write("options/funcgraph-irqs", "0")
	l.write("current_tracer", "function_graph")
	l.ft.Run(10 * machine.Millisecond)
	l.write("tracing_on", "0")
	opened := regexp.MustCompile(`\|( +)(\S+)(?: \[\w+\])?\(\) \{$`)
	closed := regexp.MustCompile(`\|( +)\} /\* (\S+)(?: \[\w+\])? \*/$`)
	pairs := 0
	open := map[string]string{} // by indentation
	for _, line := range body(l.read("trace")) {
		if m := opened.FindStringSubmatch(line); m != nil {
			open[m[1]] = m[2]
		} else if m := closed.FindStringSubmatch(line); m != nil && open[m[1]] == m[2] {
			pairs++
		}
	}
	if pairs < 100 {
		t.Errorf("only %d functions open and close at the same column", pairs)
	}
}

// touched_functions does not take a module's functions for traced because all were
// before it came.
func TestTouchedModule(t *testing.T) {
	l := newLab(t, tracer.Config{})
	const fn = "trace_printk_irq_work "
	expect := func(want bool, when string) {
		t.Helper()
		text := l.read("touched_functions")
		if got := strings.Contains(text, "\n"+fn); got != want || !strings.Contains(text, "vfs_read (") {
			t.Errorf("%s: touched %v", when, got)
		}
	}
	l.write("current_tracer", "function")
	l.write("current_tracer", "nop")
	l.modprobe("trace_printk")
	expect(false, "loaded")
	l.write("set_ftrace_filter", "vfs_read")
	l.write("current_tracer", "function")
	expect(false, "another is traced")
	l.write("set_ftrace_filter", "")
	expect(true, "all are traced")
	l.write("current_tracer", "nop")
	expect(true, "they were")
	if err := workload.Rmmod(l.ft, "trace_printk"); err != nil {
		t.Fatal(err)
	}
	l.modprobe("trace_printk")
	expect(false, "loaded again")
	l.write("set_ftrace_filter", "trace_printk_irq_work")
	l.write("current_tracer", "function")
	expect(true, "it alone is traced")
}
