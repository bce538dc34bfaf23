package tracer_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// A kernel built with CONFIG_FUNCTION_GRAPH_RETVAL has the other kernel's
// options and format; one built without has neither.
func TestRetvalFiles(t *testing.T) {
	l := newLab(t, tracer.Config{NoStackmap: true, FunctionProfiler: true, FunctionGraphRetval: true})
	captured := oracle(t, "full/static/tracer_headers.txt")
	ours := l.traceOptions("")
	_, theirs, _ := strings.Cut(captured, "== function_graph\n")
	for line := range strings.Lines(theirs) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "print-parent ") {
			if ours["function_graph"] != line {
				t.Errorf("trace_options\n%s\nwant\n%s", ours["function_graph"], line)
			}
			break
		}
	}
	_, format, _ := strings.Cut(oracle(t, "full/static/formats_all.txt.gz"), "==== events/ftrace/funcgraph_exit\n")
	format, _, _ = strings.Cut(format, "====")
	if got := l.read("events/ftrace/funcgraph_exit/format"); strings.TrimSpace(got) != strings.TrimSpace(format) {
		t.Errorf("format\n%s\nwant\n%s", got, format)
	}
	without := newLab(t, tracer.Config{})
	for _, name := range []string{"options/funcgraph-retval", "options/funcgraph-retval-hex"} {
		l.want(name, "0\n")
		if _, err := without.fs.ReadFile(name); err == nil {
			t.Errorf("a kernel built without has %s", name)
		}
	}
}

// What a system call returns is the value of each function that it is handed up
// through, and what the tracepoint at its end says.
func TestRetvalOfSystemCalls(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 1}, tracer.Config{BufferSizeKB: 8000, FunctionGraphRetval: true})
	l.write("set_ftrace_filter", "syscall_trace_enter x64_sys_call __x64_sys_read __x64_sys_write __x64_sys_newfstatat ksys_* vfs_read vfs_write pipe_read pipe_write vfs_statx kernel_clone")
	l.write("options/funcgraph-proc", "1")
	l.write("options/funcgraph-retval", "1")
	l.write("current_tracer", "function_graph")
	l.write("set_event", "raw_syscalls:sys_exit")
	l.ft.Run(2 * machine.Second)
	l.write("tracing_on", "0")
	line := regexp.MustCompile(`(\S+-\d+) +\|.*\|  +(?:(\w+)\(\);|\}) /\* (?:(\w+) )?= (\S+) \*/$`)
	exit := regexp.MustCompile(`(\S+-\d+) +\|.*/\* sys_exit: NR (\d+) = (\S+) \*/$`)
	of := map[string]map[string]bool{} // by task: the values since its last sys_exit
	entered := map[string]string{}
	seen := map[string]int{}
	values := map[string]bool{}
	for text := range strings.Lines(l.read("trace")) {
		text = strings.TrimSuffix(text, "\n")
		if m := exit.FindStringSubmatch(text); m != nil {
			for value := range of[m[1]] {
				if value != m[3] {
					t.Fatalf("the functions returned %v, the system call %q", of[m[1]], m[3])
				}
			}
			if nr := entered[m[1]]; nr != "" && nr != m[2] {
				t.Fatalf("system call %s was entered as %s", m[2], nr)
			}
			delete(of, m[1])
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		value, err := strconv.ParseInt(m[4], 0, 64)
		if err != nil || value < 0 == strings.HasPrefix(m[4], "0x") {
			t.Fatalf("%q", text)
		}
		seen[m[2]+m[3]]++
		if m[2]+m[3] == "syscall_trace_enter" {
			entered[m[1]] = fmt.Sprint(value)
			continue
		}
		if of[m[1]] == nil {
			of[m[1]] = map[string]bool{}
		}
		of[m[1]][fmt.Sprint(value)] = true
		values[m[4]] = true
	}
	for _, fn := range []string{"syscall_trace_enter", "x64_sys_call", "__x64_sys_read", "ksys_read", "vfs_read", "pipe_read", "pipe_write", "vfs_statx", "kernel_clone"} {
		if seen[fn] == 0 {
			t.Errorf("no return of %s was seen: %v", fn, seen)
		}
	}
	for _, value := range []string{"0x0", "0x1", "-10", "-25"} {
		if !values[value] {
			t.Errorf("nothing returned %s: %v", value, values)
		}
	}
}
