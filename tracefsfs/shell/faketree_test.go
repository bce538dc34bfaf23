package shell

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// fakeTree is as much of a tracefs as the kernel's selftest helpers touch.
type fakeTree struct {
	values    map[string]string
	instances []string
	piped     []string // what trace_pipe has yet to give
	slept     time.Duration
}

func newFakeTree() *fakeTree {
	return &fakeTree{values: map[string]string{
		"tracing_on": "1\n", "current_tracer": "nop\n", "trace": "# tracer: nop\n", "set_ftrace_filter": "#### all functions enabled ####\n",
		"dynamic_events": "p:kprobes/p1 vfs_read\n", "kprobe_events": "", "error_log": "", "set_event_pid": "", "snapshot": "",
		"options/pause-on-trace": "0\n", "options/stacktrace": "0\n", "options/stackmap": "0\n", "events/enable": "1\n",
		"events/sched/sched_switch/trigger": "traceoff:unlimited\n", "events/sched/sched_switch/filter": "pid == 1\n",
		"events/irq/irq_handler_entry/trigger": "# Available triggers:\n", "events/irq/irq_handler_entry/filter": "none\n",
		"set_graph_function": "", "set_graph_notrace": "", "available_tracers": "function_graph function nop\n", "README": "tracing mini-HOWTO:\n\ttrace_marker\n",
		"stack_map": "", "stack_map_stat": "entries: 0\nsuccesses: 0\ndrops: 0\n", "stack_map_bin": "",
	}}
}

func (f *fakeTree) get(name string) string { return f.values[name] }

// store is what the fake does with a write; most files keep what was written.
func (f *fakeTree) store(name, text string) error {
	word := strings.TrimSpace(text)
	switch name {
	case "current_tracer":
		if !slices.Contains(strings.Fields(f.get("available_tracers")), word) {
			return tracefile.Errorf(syscall.EINVAL, "tracer %q", word)
		}
		f.values[name] = word + "\n"
	case "tracing_on":
		n, err := tracefile.ParseUlong(text, 10)
		if err != nil {
			return err
		}
		f.values[name] = fmt.Sprintln(min(n, 1))
	case "events/sched/sched_switch/filter":
		f.values[name] = "none\n"
	case "events/sched/sched_switch/trigger":
		if !strings.HasPrefix(word, "!") {
			return syscall.EINVAL
		}
		f.values[name] = "# Available triggers:\n"
	case "dynamic_events":
		if word != "-:kprobes/p1" {
			return syscall.EINVAL
		}
		f.values[name] = ""
	case "kprobe_events":
		if word != "" {
			at := strings.LastIndex(word, " ") + 1
			f.values["error_log"] = "[   1.000000] trace_kprobe: error: Invalid probed address or symbol\n  Command: " + word + "\n" + strings.Repeat(" ", 11+at) + "^\n"
			return syscall.EINVAL
		}
	case "trace":
		f.values[name] = "# tracer: nop\n"
	case "set_ftrace_filter", "set_event_pid":
	case "stack_map":
		if f.get("tracing_on") == "1\n" {
			return syscall.EBUSY
		}
		f.values["stack_map_stat"] = "entries: 0\nsuccesses: 0\ndrops: 0\n"
	default:
		f.values[name] = text
	}
	return nil
}

// sleep is simulated time: with the function tracer on, stacks are recorded.
func (f *fakeTree) sleep(_ context.Context, d time.Duration) error {
	f.slept += d
	if f.get("tracing_on") == "1\n" && f.get("current_tracer") == "function\n" {
		f.values["trace"] = "# tracer: function\n <stack_id 7>\n"
		f.values["stack_map"] = "stack_id 7 [ref 3]\n"
		f.values["stack_map_stat"] = "entries: 1\nsuccesses: 3\ndrops: 0\n"
	}
	return nil
}

func (f *fakeTree) node(name, base string) tracefile.Node {
	mode := fs.FileMode(0o640)
	if name == "README" || name == "available_tracers" || name == "stack_map_stat" {
		return tracefile.Value(base, 0o440, func() string { return f.get(name) }, nil)
	}
	file := tracefile.Value(base, mode, func() string { return f.get(name) }, func(s string) error { return f.store(name, s) })
	switch name {
	case "trace", "error_log", "kprobe_events":
		file = file.OnTrunc(func() error {
			f.values[name] = ""
			return nil
		})
	}
	return file
}

// children are the nodes right below the folder prefix ("" or "events/").
func (f *fakeTree) children(prefix string) []tracefile.Node {
	var nodes []tracefile.Node
	seen := map[string]bool{}
	for _, name := range sortedKeys(f.values) {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		base, _, isDir := strings.Cut(rest, "/")
		switch {
		case seen[base]:
		case isDir:
			nodes = append(nodes, &tracefile.Dir{Name: base, Mode: 0o750, Children: func() []tracefile.Node { return f.children(prefix + base + "/") }})
		default:
			nodes = append(nodes, f.node(name, base))
		}
		seen[base] = true
	}
	return nodes
}

func (f *fakeTree) fs() *tracefsfs.FS {
	instances := &tracefile.Dir{
		Name: "instances", Mode: 0o750,
		Children: func() []tracefile.Node {
			var nodes []tracefile.Node
			for _, name := range f.instances {
				nodes = append(nodes, &tracefile.Dir{Name: name, Mode: 0o750})
			}
			return nodes
		},
		Mkdir: func(name string) error { f.instances = append(f.instances, name); return nil },
		Rmdir: func(name string) error {
			f.instances = slices.DeleteFunc(f.instances, func(s string) bool { return s == name })
			return nil
		},
	}
	pipe := tracefile.Pipe("trace_pipe", 0o440, func(int) ([]byte, error) {
		if len(f.piped) == 0 {
			return nil, nil
		}
		next := f.piped[0]
		f.piped = f.piped[1:]
		return []byte(next), nil
	}, func(ctx context.Context) error { <-ctx.Done(); return syscall.EINTR }, func() tracefile.Events { return tracefile.Readable(len(f.piped) > 0) })
	marker := tracefile.Marker("trace_marker", 0o220, func(_ context.Context, p []byte) (int, error) {
		f.values["trace"] += fmt.Sprintf("marker %q\n", p)
		return len(p), nil
	})
	return tracefsfs.New(&tracefile.Dir{Children: func() []tracefile.Node {
		return append(f.children(""), instances, pipe, marker)
	}})
}

// lab is a shell over a fake tree, and what a script printed.
type lab struct {
	tree     *fakeTree
	host     *recordingHost
	out, err bytes.Buffer
	sh       *Shell
}

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{tree: newFakeTree(), host: &recordingHost{}}
	var err error
	l.sh, err = New(Config{
		FS: l.tree.fs(), Stdout: &l.out, Stderr: &l.err, Sleep: l.tree.sleep, CPUs: 4, Host: l.host,
		Proc: map[string]func() string{"/proc/kallsyms": func() string { return "ffffffff81000000 T kernel_clone\n" }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs a script in a fresh lab and gives its outputs and status.
func run(t testing.TB, script string) (stdout, stderr string, status int) {
	t.Helper()
	l := newLab(t)
	status, err := l.sh.Run(context.Background(), strings.NewReader(script), "test")
	if err != nil {
		t.Fatalf("script %q: %v", script, err)
	}
	return l.out.String(), l.err.String(), status
}
