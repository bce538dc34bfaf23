package tracer_test

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// A row is laid out as the kernel's are.
func TestProfileRows(t *testing.T) {
	row := regexp.MustCompile(`^  (.{30})  ( *\d+)    ([\d.]+ us +)    ([\d.]+ us +)    ([\d.]+ us +)$`)
	header := ""
	for n, line := range strings.Split(strings.TrimSuffix(oracle(t, "full/dynamic_hist_misc/func_profile/all.function0.head300"), "\n"), "\n") {
		if n < 2 {
			header += line + "\n"
		} else if !row.MatchString(line) {
			t.Fatalf("the kernel's %q is none", line)
		}
	}
	l := newLab(t, tracer.Config{FunctionProfiler: true})
	l.want("trace_stat/function0", header)
	l.write("function_profile_enabled", "1")
	l.ft.Run(20 * machine.Millisecond)
	l.write("function_profile_enabled", "0")
	text := l.read("trace_stat/function0")
	rows, ok := strings.CutPrefix(text, header)
	if !ok || strings.Count(rows, "\n") < 100 {
		t.Fatalf("%.400s", text)
	}
	last := 0.0
	for line := range strings.Lines(rows) {
		m := row.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("%q", line)
		}
		us, _ := strconv.ParseFloat(strings.Fields(m[3])[0], 64)
		if last > 0 && us > last {
			t.Errorf("%q comes after %f us", line, last)
		}
		last = us
	}
	l.ft.Run(20 * machine.Millisecond)
	l.want("trace_stat/function0", text) // it counts no more
}

// The profiler counts what function_graph records, on each CPU: as many returns
// and the same sum of their times.
func TestProfileIsTheGraphs(t *testing.T) {
	for _, graphTime := range []string{"1", "0"} {
		l := newLabOn(t, machine.Config{CPUs: 1}, tracer.Config{FunctionProfiler: true, BufferSizeKB: 8000})
		l.write("options/graph-time", graphTime)
		l.write("set_ftrace_filter", "vfs_read rw_verify_area")
		l.write("function_profile_enabled", "1")
		l.write("current_tracer", "function_graph")
		l.ft.Run(50 * machine.Millisecond)
		l.write("function_profile_enabled", "0")
		hits := map[string]string{}
		times := map[string]float64{}
		for _, line := range strings.Split(l.read("trace_stat/function0"), "\n")[2:] {
			if f := strings.Fields(line); len(f) > 3 {
				hits[f[0]] = f[1]
				times[f[0]], _ = strconv.ParseFloat(f[2], 64)
			}
		}
		calls := strings.Count(l.read("trace"), "vfs_read()")
		if n, _ := strconv.Atoi(hits["vfs_read"]); n == 0 || n != calls {
			t.Errorf("vfs_read: %q hits, %d calls", hits["vfs_read"], calls)
		}
		if within := times["vfs_read"] > times["rw_verify_area"]; graphTime == "1" && !within {
			t.Errorf("what vfs_read calls took longer: %v", times)
		}
	}
}

// stack_trace is a stack whose parts add up to stack_max_size.
func TestStackTracer(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.want("stack_trace", oracle(t, "debian/static/files/stack_trace"))
	l.want("stack_max_size", "0\n")
	l.sysctl("stack_tracer_enabled", "1")
	l.ft.Run(200 * machine.Millisecond) // long enough to meet a deep one
	deepest := l.stackSizes()
	l.write("stack_trace_filter", "*lock*")
	l.write("stack_max_size", "0")
	l.ft.Run(20 * machine.Millisecond)
	filtered := l.stackSizes()
	if top := strings.Fields(strings.Split(l.read("stack_trace"), "\n")[2]); !strings.Contains(top[3], "lock") {
		t.Errorf("the innermost function is %q", top[3])
	}
	if filtered > deepest {
		t.Errorf("of some functions %d bytes, of all %d", filtered, deepest)
	}
	l.sysctl("stack_tracer_enabled", "0")
	before := l.read("stack_trace")
	l.write("stack_trace_filter", "")
	l.ft.Run(20 * machine.Millisecond)
	l.want("stack_trace", before)
	if err := l.errno("stack_trace_filter", "schedule:traceoff"); err != syscall.ENODEV {
		t.Errorf("a command: %v", err)
	}
}

// stackSizes checks the sums in stack_trace and returns the depth.
func (l *lab) stackSizes() (depth int) {
	l.t.Helper()
	lines := strings.Split(strings.TrimSpace(l.read("stack_trace")), "\n")[2:]
	sum := 0
	for n, line := range lines {
		f := strings.Fields(line)
		if len(f) == 5 && strings.HasPrefix(f[4], "[") { // the module
			f = f[:4]
		}
		if len(f) != 4 || f[0] != strconv.Itoa(n)+")" {
			l.t.Fatalf("%q", line)
		}
		size, _ := strconv.Atoi(f[2])
		sum += size
	}
	depth, _ = strconv.Atoi(strings.TrimSpace(l.read("stack_max_size")))
	if depth == 0 || sum != depth || len(lines) < 3 {
		l.t.Errorf("%d frames add up to %d of %d bytes", len(lines), sum, depth)
	}
	return depth
}

// sysctls are the files of /proc/sys/kernel by their paths.
func (l *lab) sysctls() map[string]*tracefile.File {
	files := map[string]*tracefile.File{}
	for _, f := range l.ft.Sysctls() {
		files["/proc/sys/kernel/"+f.Name] = f
	}
	return files
}

// sysctl writes a file of /proc/sys/kernel.
func (l *lab) sysctl(name, text string) {
	l.t.Helper()
	h, err := l.sysctls()["/proc/sys/kernel/"+name].Open(l.t.Context(), tracefile.Write)
	if err != nil {
		l.t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Write(l.t.Context(), []byte(text+"\n")); err != nil {
		l.t.Fatalf("%s: %v", name, err)
	}
}

// The sysctls show the number that was written; what is no int is refused.
func TestSysctlNumbers(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for name, f := range l.sysctls() {
		if f.Name == "ftrace_dump_on_oops" || f.Name == "tracepoint_printk" || f.Name == "printk" {
			continue // see TestSysctlsWithoutUse and TestPrintkSysctl
		}
		for _, write := range []struct {
			text, after string
			err         error
		}{
			{"5", "5\n", nil},
			{"-2147483648", "-2147483648\n", nil},
			{"0x10\n", "16\n", nil},
			{"2147483648", "16\n", syscall.EINVAL},
			{"1x", "16\n", syscall.EINVAL},
			{"0", "0\n", nil},
			{"1", "1\n", nil},
		} {
			h, err := f.Open(t.Context(), tracefile.Write)
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Write(t.Context(), []byte(write.text))
			if after, _ := l.readAny(name); string(after) != write.after || !errors.Is(err, write.err) {
				t.Errorf("%s: %q: %v, and reads %q", name, write.text, err, after)
			}
			h.Close()
		}
	}
}

// ftrace_dump_on_oops takes any text, cut to what a kernel keeps; tracepoint_printk takes a
// number and stays 0.
func TestSysctlsWithoutUse(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for _, w := range []struct{ name, text, after string }{
		{"ftrace_dump_on_oops", "2", "2\n"},
		{"ftrace_dump_on_oops", "1,foo\nbar", "1,foo\n"},
		{"ftrace_dump_on_oops", "2\x00bar", "2\n"},
		{"ftrace_dump_on_oops", strings.Repeat("i", 200), strings.Repeat("i", 99) + "\n"},
		{"tracepoint_printk", "1", "0\n"},
	} {
		l.sysctl(w.name, w.text)
		if after, _ := l.readAny("/proc/sys/kernel/" + w.name); string(after) != w.after {
			t.Errorf("%s: after %q it reads %q", w.name, w.text, after)
		}
	}
}

// With kernel.ftrace_enabled off no function is seen, by no tracer.
func TestFunctionsOff(t *testing.T) {
	for _, name := range []string{"function", "function_graph"} {
		l := newLab(t, tracer.Config{})
		l.sysctl("ftrace_enabled", "0")
		l.write("current_tracer", name)
		l.ft.Run(5 * machine.Millisecond)
		if got := body(l.read("trace")); len(got) > 0 {
			t.Errorf("%s: %d lines", name, len(got))
		}
		l.want("enabled_functions", "")
		l.sysctl("ftrace_enabled", "1")
		l.ft.Run(5 * machine.Millisecond)
		if got := body(l.read("trace")); len(got) == 0 {
			t.Errorf("%s: nothing after it was switched on again", name)
		}
	}
}
