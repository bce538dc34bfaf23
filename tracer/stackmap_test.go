package tracer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/stackmap"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/record"
)

func presets() map[string]record.MapConfig {
	return map[string]record.MapConfig{"v2": record.V2(), "v4": record.V4(), "documented": record.Documented()}
}

// stacks counts what trace shows of stacks.
func stacks(trace string) (ids, full int) {
	return strings.Count(trace, "<stack_id "), strings.Count(trace, "<stack trace>")
}

const emptyStat = "entries:      0 / 16384\ntable_size:   32768\nsuccesses:    0\ndrops:        0\n"

// recordIDs empties the trace and records some ids.
func (l *lab) recordIDs() {
	l.write("tracing_on", "0")
	l.write("trace", "")
	l.write("tracing_on", "1")
	l.ft.Run(10 * machine.Millisecond)
}

var resetSection = regexp.MustCompile(`(?m)^### \d+ tracing_on=(on|off) : write (.*)\n   before:\n   stat: .*\n   (open.*)\n   stat: entries: (\d+) .* trace events: (\d+) .*$`)

// Each string that a real kernel was given, with tracing off and on, gets the
// same answer and has the same effect on the map and the trace.
func TestResetIsTheKernels(t *testing.T) {
	for _, version := range []string{"v2", "v4"} {
		text := oracle(t, "stackmap/"+version+"/reset/reset.txt")
		sections := resetSection.FindAllStringSubmatch(text, -1)
		if len(sections) != 46 {
			t.Fatalf("%s: %d sections, want 46", version, len(sections))
		}
		l := newLab(t, tracer.Config{Stackmap: presets()[version]})
		l.write("options/stackmap", "1")
		l.write("options/stacktrace", "1")
		l.write("set_event", "sched:sched_switch")
		for _, s := range sections {
			l.recordIDs()
			if s[1] == "off" {
				l.write("tracing_on", "0")
			}
			statBefore, traceBefore := l.read("stack_map_stat"), l.read("trace")
			if got := l.do("-w", "stack_map", unquote(s[2])); got != s[3] {
				t.Errorf("%s: tracing %s, write %s: %s\nwant %s", version, s[1], s[2], got, s[3])
			}
			if s[4] == "0" {
				l.want("stack_map_stat", emptyStat)
			} else {
				l.want("stack_map_stat", statBefore)
			}
			if s[5] == "0" {
				traceBefore = ""
			}
			if got := strings.Join(body(l.read("trace")), "\n"); got != strings.Join(body(traceBefore), "\n") {
				t.Errorf("%s: tracing %s, write %s: the trace is not what a kernel leaves", version, s[1], s[2])
			}
		}
	}
}

// How the three files of the map open, read and write; the answers are the
// section "write to stat, bin" of the captures, which is one for v2 and v4.
func TestStackmapFilesOpen(t *testing.T) {
	var answers []string
	for version, cfg := range presets() {
		l := newLab(t, tracer.Config{Stackmap: cfg})
		l.write("tracing_on", "0")
		answers = []string{
			l.do("-w", "stack_map_stat", "0"), l.do("-w", "stack_map_bin", "0"),
			l.do("-r", "stack_map", ""), l.do("-r", "stack_map_stat", ""), l.do("-r", "stack_map_bin", ""),
			l.do("-R", "stack_map", "0"),
		}
		want := []string{
			"open(O_WRONLY): ok; write(1 bytes): -1 EINVAL; close: 0",
			"open(O_WRONLY): ok; write(1 bytes): -1 EINVAL; close: 0",
			"open(O_RDONLY): ok; read: 0",
			"open(O_RDONLY): ok; read: 76",
			"open(O_RDONLY): ok; read: 16",
			"open(O_RDWR): ok; write(1 bytes): 1; close: 0",
		}
		for n := range want {
			if answers[n] != want[n] {
				t.Errorf("%s: %s\nwant %s", version, answers[n], want[n])
			}
		}
	}
	for _, version := range []string{"v2", "v4"} {
		if text := oracle(t, "stackmap/"+version+"/reset/reset.txt"); !strings.Contains(text, "### write to stat, bin\n"+strings.Join(answers, "\n")+"\n") {
			t.Errorf("%s: the capture has other answers", version)
		}
	}
}

// Opening with > resets nothing, appending does, and so does a write while a raw
// pipe is open or the function tracer is selected.
func TestResetThroughOtherOpens(t *testing.T) {
	for version, cfg := range presets() {
		l := newLab(t, tracer.Config{Stackmap: cfg})
		l.write("options/stackmap", "1")
		l.write("options/stacktrace", "1")
		l.write("set_event", "sched:sched_switch")
		l.recordIDs()
		l.write("tracing_on", "0")
		before := l.read("stack_map_stat")
		l.open("stack_map", tracefile.Write|tracefile.Trunc).Close()
		l.want("stack_map_stat", before)
		l.append("stack_map", "0")
		l.want("stack_map_stat", emptyStat)

		l.recordIDs()
		l.write("tracing_on", "0")
		l.open("per_cpu/cpu0/trace_pipe_raw", tracefile.Read)
		l.write("stack_map", "reset")
		l.want("stack_map_stat", emptyStat)
		_, full := stacks(l.read("trace"))
		if ids, _ := stacks(l.read("trace")); (ids == 0) != cfg.ClearBufferOnReset || full != 0 {
			t.Errorf("%s: %d ids and %d full stacks are left after a reset", version, ids, full)
		}
	}
}

// On v4 a reset empties the snapshot as well, and leaves it allocated; on v2 the snapshot
// keeps ids whose stacks are gone.
func TestResetEmptiesSnapshot(t *testing.T) {
	after := oracle(t, "stackmap/v4/pairs/sm_snapshot/snapshot_after_reset.txt")
	for version, cfg := range presets() {
		l := newLab(t, tracer.Config{Stackmap: cfg})
		l.write("options/stackmap", "1")
		l.write("options/stacktrace", "1")
		l.write("set_event", "sched:sched_switch")
		l.recordIDs()
		l.write("snapshot", "1")
		if ids, _ := stacks(l.read("snapshot")); ids == 0 {
			t.Fatalf("%s: the snapshot has no ids", version)
		}
		l.write("tracing_on", "0")
		l.write("stack_map", "0")
		if text := l.read("snapshot"); cfg.ClearBufferOnReset && text != after {
			t.Errorf("%s: after the reset the snapshot is\n%swant\n%s", version, text, after)
		} else if ids, _ := stacks(text); !cfg.ClearBufferOnReset && ids == 0 {
			t.Errorf("%s: after the reset the snapshot has no ids", version)
		}
	}
}

// The same stacks get the same ids again after a reset, and every id of the
// trace is in the map.
func TestIDsAfterReset(t *testing.T) {
	l := newLab(t, tracer.Config{Stackmap: record.V4()})
	l.write("options/stackmap", "1")
	l.write("options/stacktrace", "1")
	l.write("set_event", "sched:sched_switch")
	id := regexp.MustCompile(`<stack_id (\d+)>`)
	texts := map[string]string{}
	for range 3 {
		l.recordIDs()
		l.write("tracing_on", "0")
		text := l.read("stack_map")
		for _, m := range id.FindAllStringSubmatch(l.read("trace"), -1) {
			_, after, ok := strings.Cut(text, "stack_id "+m[1]+" [")
			_, after, _ = strings.Cut(after, "\n")
			stack, _, _ := strings.Cut(after, "\n\n")
			if !ok {
				t.Fatalf("stack_map has no id %s", m[1])
			}
			if texts[m[1]] != "" && texts[m[1]] != stack {
				t.Errorf("id %s is now\n%s\nand was\n%s", m[1], stack, texts[m[1]])
			}
			texts[m[1]] = stack
		}
		l.write("stack_map", "0")
	}
	if len(texts) < 5 {
		t.Errorf("only %d ids were seen", len(texts))
	}
}

// A read of any size gives the same bytes.
func TestStackMapSmallReads(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("options/stackmap", "1")
	l.write("options/stacktrace", "1")
	l.write("set_event", "sched:sched_switch")
	l.recordIDs()
	l.write("tracing_on", "0")
	for _, name := range []string{"stack_map", "stack_map_bin"} {
		h, small := l.open(name, tracefile.Read), []byte(nil)
		for {
			b := make([]byte, 1)
			n, err := h.Read(context.Background(), b)
			small = append(small, b[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		l.want(name, string(small))
	}
}

// v2 asks the map before the buffer: with func_stack_trace it moves while tracing
// is off. v4 reserves first and leaves it alone.
func TestMapWhileTracingIsOff(t *testing.T) {
	for version, cfg := range presets() {
		l := newLab(t, tracer.Config{Stackmap: cfg})
		l.write("options/stackmap", "1")
		l.write("options/func_stack_trace", "1")
		l.write("tracing_on", "0")
		l.write("current_tracer", "function")
		l.ft.Run(5 * machine.Millisecond)
		moved := l.read("stack_map_stat") != emptyStat
		if moved != (version == "v2") {
			t.Errorf("%s: the map moved while tracing was off: %v", version, moved)
		}
		if lines := body(l.read("trace")); len(lines) > 0 {
			t.Errorf("%s: %d lines were recorded while tracing was off", version, len(lines))
		}
		// The stacktrace option is another thing: no event, no stack.
		l.write("current_tracer", "nop")
		l.write("stack_map", "0")
		l.write("options/stacktrace", "1")
		l.write("set_event", "sched:sched_switch")
		l.ft.Run(5 * machine.Millisecond)
		l.want("stack_map_stat", emptyStat)
	}
}

// The documented session: with options/stackmap on, options/stacktrace is enough
// for the function tracer, and a switch to nop keeps what was recorded. The real
// kernels do neither.
func TestDocumentedSession(t *testing.T) {
	for version, cfg := range presets() {
		l := newLab(t, tracer.Config{Stackmap: cfg})
		l.write("options/stackmap", "1")
		l.write("options/stacktrace", "1")
		l.write("set_ftrace_filter", "schedule")
		l.write("current_tracer", "function")
		l.ft.Run(20 * machine.Millisecond)
		ids, full := stacks(l.read("trace"))
		l.write("current_tracer", "nop")
		kept := len(body(l.read("trace"))) > 0
		documented := version == "documented"
		if ids > 0 != documented || full != 0 || kept != documented {
			t.Errorf("%s: %d ids, %d full stacks, kept %v", version, ids, full, kept)
		}
		if text := l.read("stack_map"); strings.Contains(text, "[FTRACE TRAMPOLINE]") != false {
			t.Errorf("%s: stack_map names a trampoline:\n%s", version, text)
		}
	}
}

// Option on, off and on again while tracing: full stacks between ids.
func TestToggleStackmap(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("options/stacktrace", "1")
	l.write("set_event", "sched:sched_switch")
	for _, on := range []string{"1", "0", "1"} {
		l.write("options/stackmap", on)
		l.write("trace", "")
		l.ft.Run(5 * machine.Millisecond)
		ids, full := stacks(l.read("trace"))
		if events := strings.Count(l.read("trace"), "sched_switch:"); events == 0 || ids+full != events || (ids > 0) != (on == "1") || ids*full != 0 {
			t.Errorf("stackmap %s: %d events, %d ids, %d full stacks", on, events, ids, full)
		}
	}
}

// The text of an id in the three forms a trace has.
func TestStackIDText(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("options/stackmap", "1")
	l.write("options/stacktrace", "1")
	l.write("set_event", "sched:sched_switch")
	l.write("current_tracer", "function_graph")
	l.ft.Run(10 * machine.Millisecond)
	l.write("tracing_on", "0")
	if !regexp.MustCompile(`(?m)^ \d\)               \| +/\* <stack_id \d+> \*/$`).MatchString(l.read("trace")) {
		t.Errorf("function_graph shows no id as a comment")
	}
	for option, form := range map[string]string{
		"":               `(?m)^ +\S+-\d+ +\[\d{3}\] d..2. +\d+\.\d{6}: <stack_id \d+>$`,
		"latency-format": `(?m)^ *\S+-\d+ +\dd..2. +\d+us.: <stack_id \d+>$`,
		"verbose":        `(?m)<stack_id \d+>$`,
		"raw":            `(?m)type: 20$`,
		"fields":         `(?m)UNKNOWN TYPE 20$`,
	} {
		l := newLab(t, tracer.Config{})
		l.write("options/stackmap", "1")
		l.write("options/stacktrace", "1")
		l.write("set_event", "sched:sched_switch")
		l.ft.Run(10 * machine.Millisecond)
		if option != "" {
			l.write("options/"+option, "1")
		}
		if text := l.read("trace"); !regexp.MustCompile(form).MatchString(text) {
			t.Errorf("option %q: no line like %s in\n%s", option, form, firstLines(text, 20))
		}
	}
}

// Instances: v2 has the option there and it does nothing, v4 refuses it.
func TestInstanceStackmap(t *testing.T) {
	for version, cfg := range presets() {
		l := newLab(t, tracer.Config{Stackmap: cfg})
		if err := l.fs.Mkdir("instances/foo"); err != nil {
			t.Fatal(err)
		}
		_, err := l.fs.Lookup("instances/foo/options/stackmap")
		if hidden := tracefile.Errno(err) == syscall.ENOENT; hidden != cfg.TopLevelOnly {
			t.Errorf("%s: the option's file is hidden: %v", version, hidden)
		}
		for _, name := range []string{"stack_map", "stack_map_stat", "stack_map_bin"} {
			if _, err := l.fs.Lookup("instances/foo/" + name); err == nil {
				t.Errorf("%s: an instance has %s", version, name)
			}
		}
		l.write("instances/foo/trace_options", "nostackmap")
		if err := l.errno("instances/foo/trace_options", "stackmap"); (err == syscall.EINVAL) != cfg.TopLevelOnly {
			t.Errorf("%s: stackmap written to an instance's trace_options: %v", version, err)
		}
		l.write("instances/foo/options/stacktrace", "1")
		l.write("instances/foo/set_event", "sched:sched_switch")
		l.ft.Run(10 * machine.Millisecond)
		if ids, full := stacks(l.read("instances/foo/trace")); ids != 0 || full == 0 {
			t.Errorf("%s: an instance recorded %d ids and %d full stacks", version, ids, full)
		}
		l.want("stack_map_stat", emptyStat)
	}
}

// A full map: what finds no room is recorded in full, and every such stack is a
// drop.
func TestFullMap(t *testing.T) {
	for version, cfg := range presets() {
		cfg.Bits = stackmap.MinBits
		l := newLab(t, tracer.Config{Stackmap: cfg, BufferSizeKB: 40000})
		l.write("options/stackmap", "1")
		l.write("options/func_stack_trace", "1")
		l.write("current_tracer", "function")
		l.ft.Run(30 * machine.Millisecond)
		l.write("tracing_on", "0")
		ids, full := stacks(l.read("trace"))
		var entries, size, table, successes, drops int
		if _, err := fmt.Sscanf(l.read("stack_map_stat"), "entries: %d / %d\ntable_size: %d\nsuccesses: %d\ndrops: %d", &entries, &size, &table, &successes, &drops); err != nil {
			t.Fatal(err)
		}
		if size != 1024 || table != 2048 || entries != 1024 || successes != ids || drops != full || full == 0 {
			t.Errorf("%s: %d ids, %d full stacks and the stat\n%s", version, ids, full, l.read("stack_map_stat"))
		}
	}
}

// A kernel without the map has nothing of it.
func TestNoStackmap(t *testing.T) {
	l := newLab(t, tracer.Config{NoStackmap: true})
	if text := strings.Join(l.tree("."), "\n"); strings.Contains(text, "stack_map") || strings.Contains(text, "options/stackmap") {
		t.Error("a kernel without the map has its files")
	}
	if err := l.errno("trace_options", "stackmap"); err != syscall.EINVAL {
		t.Errorf("stackmap written to trace_options: %v", err)
	}
}

// What was written to the option's file and to trace_options, as captured.
func TestStackmapOptionWrites(t *testing.T) {
	for _, version := range []string{"v2", "v4"} {
		l := newLab(t, tracer.Config{Stackmap: presets()[version]})
		got := l.do("-t", "options/stackmap", "1") + "\n" + l.read("options/stackmap") +
			l.do("-t", "options/stackmap", "2") + "\n" + l.do("-t", "options/stackmap", "abc") + "\n" +
			l.do("-t", "trace_options", "stackmap") + "\n" + l.do("-t", "trace_options", "nostackmap") + "\n" + l.read("options/stackmap")
		if want := oracle(t, "stackmap/"+version+"/static/option_writes.txt"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", version, got, want)
		}
	}
}
