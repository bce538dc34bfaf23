package tracer_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/tracer"
)

var latencyTracers = []string{"irqsoff", "preemptoff", "preemptirqsoff", "wakeup", "wakeup_rt"}

// shapeOf makes what differs between two runs the same: numbers, names, columns
// of blanks.
func shapeOf(line string) string {
	line = regexp.MustCompile(`task: [^ ]+-\d+`).ReplaceAllString(line, "task: T-0")
	line = regexp.MustCompile(`(started at:|ended at:  ) .*`).ReplaceAllString(line, "$1 F")
	line = regexp.MustCompile(`on 6\.12\.\S+|M:\w+`).ReplaceAllString(line, "K")
	return regexp.MustCompile(`-?\d+`).ReplaceAllString(line, "0")
}

// header is what stands above the entries, as shapes.
func header(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		lines = append(lines, shapeOf(line))
	}
	return lines
}

// The header of each latency tracer has the lines, the columns and the legend of
// the kernel's, as a list of functions and as a graph.
func TestLatencyHeaders(t *testing.T) {
	for _, name := range latencyTracers {
		for _, graph := range []string{"0", "1"} {
			l := newLab(t, tracer.Config{})
			l.write("options/display-graph", graph)
			l.write("current_tracer", name)
			l.ft.Run(machine.Second)
			got := header(l.read("trace"))
			captures, err := filepath.Glob(filepath.Join(testutil.Oracle(t), "full/latency/lat_"+name+"_fn?_graph"+graph))
			if err != nil || len(captures) == 0 {
				t.Fatalf("%s: captures %v, %v", name, captures, err)
			}
			for _, dir := range captures {
				want := header(oracle(t, strings.TrimPrefix(dir, testutil.Oracle(t)+"/")+"/trace.txt"))
				if strings.Join(got, "") != strings.Join(want, "") {
					t.Errorf("%s display-graph %s:\n%s\nwant, as in %s:\n%s", name, graph, strings.Join(got, ""), dir, strings.Join(want, ""))
				}
			}
		}
	}
}

// entryShapes are the forms that a line of a latency trace can have.
var entryShapes = regexp.MustCompile(`^(` + strings.Join([]string{
	`.{8}-\d+ +\d+[d.b][N.n][shH.][.\d][.\d] +\d+us[ +!#*@$]: \S+( <-\S+)?`,                  // a function
	`.{8}-\d+ +\d+[d.b][N.n][shH.][.\d][.\d] +\d+us[ +!#*@$]: <stack trace>`,                 // a stack
	`.{8}-\d+ +\d+.{5} +\d+us[ +!#*@$]: +\d+: *\d+:\S (  \+|==>) \[\d{3}\] +\d+: *\d+:\S .*`, // a wake-up, a switch
	` => \S+`,
}, "|") + `)$`)

// With nothing but the section in it a trace has its begin, its end and the
// stack there; the header says where, and the latency is their distance.
func TestIrqsoffSection(t *testing.T) {
	for _, name := range []string{"irqsoff", "preemptoff", "preemptirqsoff"} {
		l := newLab(t, tracer.Config{})
		l.write("options/function-trace", "0")
		l.write("current_tracer", name)
		l.ft.Run(machine.Second)
		text := l.read("trace")
		lines := body(text)
		for _, line := range lines {
			if !entryShapes.MatchString(line) {
				t.Errorf("%s: a line of no known form: %q", name, line)
			}
		}
		// On the way out to user space, the stack has no function that calls hooks.
		least := 5
		if strings.Contains(text, "ended at:   irqentry_exit_to_user_mode\n") {
			least = 4
		}
		if len(lines) < least || !strings.Contains(text, "#4/4,") {
			t.Fatalf("%s: want four entries:\n%s", name, text)
		}
		field := func(pattern string) string {
			m := regexp.MustCompile(pattern).FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("%s: no %s in\n%s", name, pattern, text)
			}
			return m[1]
		}
		at := func(line string) string { return strings.Fields(line[strings.Index(line, "us")+4:])[0] }
		if started, ended := field("started at: (.*)"), field("ended at:   (.*)"); at(lines[0]) != started || at(lines[1]) != ended {
			t.Errorf("%s: from %s to %s, entries\n%s\n%s", name, started, ended, lines[0], lines[1])
		}
		by := map[string]string{"irqsoff": "tracer_hardirqs_on", "preemptoff": "tracer_preempt_on"}[name]
		if !strings.Contains(lines[2], by) || !strings.HasSuffix(lines[3], ": <stack trace>") {
			t.Errorf("%s: %q, %q", name, lines[2], lines[3])
		}
		us := field(`latency: (\d+) us`)
		l.want("tracing_max_latency", us+"\n")
		end, err := strconv.Atoi(regexp.MustCompile(` (\d+)us`).FindStringSubmatch(lines[1])[1])
		if max, _ := strconv.Atoi(us); err != nil || max == 0 || max-end > 1 || end-max > 1 {
			t.Errorf("%s: latency %s us, the section ends at %d", name, us, end)
		}
	}
}

// A wake-up is followed until the task runs, and only tasks that come before
// the running one are.
func TestWakeup(t *testing.T) {
	for _, name := range []string{"wakeup", "wakeup_rt"} {
		l := newLab(t, tracer.Config{})
		l.write("options/function-trace", "0")
		l.write("current_tracer", name)
		l.ft.Run(machine.Second)
		lines := body(l.read("trace"))
		for _, line := range lines {
			if !entryShapes.MatchString(line) {
				t.Errorf("%s: a line of no known form: %q", name, line)
			}
		}
		text := strings.Join(lines, "\n")
		woken := regexp.MustCompile(`(\d+):R   \+ \[(\d+)\] +(\d+): *(\d+):R (.*)`).FindStringSubmatch(text)
		ran := regexp.MustCompile(`:\S ==> \[(\d+)\] +(\d+): *(\d+):R (.*)`).FindStringSubmatch(text)
		if woken == nil || ran == nil || woken[3] != ran[2] || woken[2] != ran[1] {
			t.Fatalf("%s: %q, %q\n%s", name, woken, ran, text)
		}
		waker, _ := strconv.Atoi(woken[1])
		prio, _ := strconv.Atoi(woken[4])
		if prio >= waker || prio >= 100 {
			t.Errorf("%s: a task of priority %d, woken while one of %d runs", name, prio, waker)
		}
	}
	l := newLab(t, tracer.Config{})
	l.write("current_tracer", "wakeup_dl")
	l.ft.Run(machine.Second)
	if lines := body(l.read("trace")); len(lines) > 0 {
		t.Errorf("wakeup_dl without a deadline task: %q", lines[0])
	}
}

// tracing_thresh keeps every latency that is not shorter, and nothing else.
func TestLatencyThresh(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("tracing_thresh", "1000000")
	l.write("current_tracer", "irqsoff")
	l.ft.Run(200 * machine.Millisecond)
	l.want("tracing_max_latency", "0\n")
	l.write("tracing_thresh", "2")
	l.ft.Run(200 * machine.Millisecond)
	if got := l.read("tracing_max_latency"); got == "0\n" {
		t.Error("no latency of 2 us was kept")
	}
}

// The tracer's options are set while it is current and given back afterwards.
func TestLatencyOptions(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("options/overwrite", "0")
	l.write("current_tracer", "irqsoff")
	for _, o := range []string{"overwrite", "latency-format", "pause-on-trace"} {
		l.want("options/"+o, "1\n")
	}
	if err := l.errno("options/overwrite", "0"); err != syscall.EINVAL {
		t.Errorf("overwrite off: %v, want EINVAL", err)
	}
	if err := l.errno("snapshot", "1"); err != syscall.EBUSY {
		t.Errorf("snapshot: %v, want EBUSY", err)
	}
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	if err := l.errno("instances/foo/current_tracer", "preemptoff"); err != syscall.EBUSY {
		t.Errorf("a second one: %v, want EBUSY", err)
	}
	l.write("instances/foo/current_tracer", "wakeup")
	l.write("current_tracer", "nop")
	for o, want := range map[string]string{"overwrite": "0\n", "latency-format": "0\n", "pause-on-trace": "0\n"} {
		l.want("options/"+o, want)
	}
	l.write("current_tracer", "preemptoff")
}
