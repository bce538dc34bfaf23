package tracer_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// The headers and the forms of the lines of the tracers with threads of their own
// are those of the kernel.
func TestSamplerShapes(t *testing.T) {
	for _, name := range []string{"hwlat", "osnoise", "timerlat"} {
		l := newLab(t, tracer.Config{})
		l.m.SetSMI(100*machine.Millisecond, 100*machine.Microsecond)
		l.write("current_tracer", name)
		l.ft.Run(2500 * machine.Millisecond)
		got, want := l.read("trace"), oracle(t, "full/hwlat_osnoise_timerlat/"+name+"/"+map[bool]string{true: "trace.txt.gz", false: "trace.txt"}[name == "timerlat"])
		if g, w := strings.Join(header(got), ""), strings.Join(header(want), ""); g != w {
			t.Errorf("%s:\n%swant\n%s", name, g, w)
		}
		form := lineForm(body(want))
		if lines := body(got); len(lines) < 2 || len(body(want)) < 2 {
			t.Errorf("%s: %d lines, %d in the oracle", name, len(lines), len(body(want)))
		} else {
			for _, line := range lines {
				if !form.MatchString(line) {
					t.Errorf("%s: a line of no known form: %q, want %s", name, line, form)
					break
				}
			}
		}
	}
}

// lineForm is an expression for lines with the words of the given ones and any
// numbers, tasks and flags.
func lineForm(lines []string) *regexp.Regexp {
	forms := map[string]bool{}
	var list []string
	task := regexp.MustCompile(`^.{16}-\d+ +\[\d+\] .{5} +[\d.]+: `)
	for _, line := range lines {
		words := strings.Fields(task.ReplaceAllString(line, ""))
		for n, word := range words {
			words[n] = regexp.MustCompile(`\d+`).ReplaceAllString(regexp.QuoteMeta(word), `\d+`)
		}
		form := `^.{16}-\d+ +\[\d{3}\] [d.b][N.n][shH.][.\d][.\d] +[\d.]+: ` + strings.Join(words, ` +`) + `\s*$`
		form = strings.ReplaceAll(form, `outer\(us\): +`, `outer\(us\): *`)
		if !forms[form] {
			forms[form] = true
			list = append(list, "(?:"+form+")")
		}
	}
	return regexp.MustCompile(strings.Join(list, "|"))
}

// Without a firmware that takes time there is nothing for hwlat to find, and with
// one it finds what is missing. Threads go round the CPUs, or there is one on each.
func TestHwlat(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for file, value := range map[string]string{"width": "1000001", "window": "499999"} {
		if err := l.errno("hwlat_detector/"+file, value); err != syscall.EINVAL {
			t.Errorf("%s %s: %v, want EINVAL: the width lies within the window", file, value, err)
		}
	}
	l.write("hwlat_detector/width", "10000")
	l.write("hwlat_detector/window", "20000")
	l.write("current_tracer", "hwlat")
	l.want("tracing_thresh", "10\n")
	l.ft.Run(machine.Second)
	if lines := body(l.read("trace")); len(lines) > 0 {
		t.Errorf("good hardware: %q", lines[0])
	}
	l.m.SetSMI(10*machine.Millisecond, 100*machine.Microsecond)
	l.ft.Run(machine.Second)
	cpus := map[string]bool{}
	sample := regexp.MustCompile(`\[(\d+)\] d.* inner/outer\(us\): *(\d+)/(\d+) .*count:(\d+)`)
	for _, line := range body(l.read("trace")) {
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q", line)
		}
		cpus[m[1]] = true
		inner, _ := strconv.Atoi(m[2])
		outer, _ := strconv.Atoi(m[3])
		if longest := max(inner, outer); longest < 50 || longest > 160 {
			t.Errorf("%s: %d µs were missing, SMIs take 50 to 150", line, longest)
		}
	}
	if len(cpus) != 4 {
		t.Errorf("round-robin on the CPUs %v", cpus)
	}
	l.write("hwlat_detector/mode", "per-cpu")
	l.want("hwlat_detector/mode", "none round-robin [per-cpu]\n")
	l.write("tracing_on", "0")
	l.write("tracing_on", "1")
	threads := 0
	l.ft.Run(machine.Second) // until those that were stopped have exited
	for _, task := range l.m.Tasks() {
		if strings.HasPrefix(task.Comm, "hwlatd") {
			threads++
		}
	}
	if threads != 4 {
		t.Errorf("per-cpu: %d threads", threads)
	}
	l.write("current_tracer", "nop")
	l.want("tracing_thresh", "0\n")
	l.ft.Run(machine.Second)
	for _, task := range l.m.Tasks() {
		if strings.HasPrefix(task.Comm, "hwlatd") {
			t.Errorf("%s is left", task.Comm)
		}
	}
}

// The interferences that osnoise counts are those that its events tell of, and
// noise that the events explain is not the hardware's.
func TestOsnoise(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("buffer_size_kb", "20000")
	l.write("osnoise/cpus", "1")
	l.write("osnoise/runtime_us", "100000")
	l.write("osnoise/period_us", "100000")
	l.write("events/osnoise/enable", "1")
	l.write("current_tracer", "osnoise")
	l.ft.Run(120 * machine.Millisecond)
	counts, sum := map[string]int{}, 0
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	for _, line := range body(l.read("trace")) {
		f := strings.Fields(line)
		if name := strings.TrimSuffix(f[4], ":"); name == "sample_threshold" {
			sum += number(f[8])
		} else if strings.HasSuffix(name, "_noise") {
			counts[name]++
		} else {
			// runtime, noise, %, max, hw, nmi, irq, softirq, thread
			want := fmt.Sprintf("%d %d %d", counts["irq_noise"], counts["softirq_noise"], counts["thread_noise"])
			if got := strings.Join(f[len(f)-3:], " "); got != want || f[len(f)-5] != "0" {
				t.Errorf("interferences %s, events %s: %s", got, want, line)
			}
			if noise := number(f[5]); noise != sum/1000 || noise == 0 {
				t.Errorf("noise of %d µs, the samples' is %d ns: %s", noise, sum, line)
			}
			return
		}
	}
	t.Errorf("no report\n%s", l.read("trace"))
}

// A timer's interrupt comes before its thread, which is later than it.
func TestTimerlat(t *testing.T) {
	l := newLab(t, tracer.Config{})
	if err := l.errno("osnoise/timerlat_period_us", "99"); err != syscall.EINVAL {
		t.Errorf("a period of 99 µs: %v, want EINVAL", err)
	}
	l.write("osnoise/print_stack", "1")
	l.write("current_tracer", "timerlat")
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	if err := l.errno("instances/foo/current_tracer", "osnoise"); err != syscall.EBUSY {
		t.Errorf("osnoise beside it: %v, want EBUSY", err)
	}
	l.write("instances/foo/current_tracer", "timerlat")
	l.ft.Run(100 * machine.Millisecond)
	if len(body(l.read("instances/foo/trace"))) == 0 {
		t.Error("the instance has nothing")
	}
	line := regexp.MustCompile(`\[(\d+)\].*#(\d+) +context +(irq|thread) timer_latency +(\d+) ns`)
	irq, pairs := map[string]int{}, 0
	for _, text := range body(l.read("trace")) {
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		late, _ := strconv.Atoi(m[4])
		key := m[1] + "#" + m[2]
		if m[3] == "irq" {
			irq[key] = late
		} else if before, ok := irq[key]; !ok || late <= before {
			t.Errorf("%s: the interrupt was %d ns late", text, before)
		} else {
			pairs++
		}
	}
	if pairs < 200 {
		t.Errorf("%d pairs in 100 ms on four CPUs", pairs)
	}
	if !strings.Contains(l.read("trace"), " => timerlat_irq\n") {
		t.Error("no stack of an interrupt")
	}
	l.write("tracing_on", "1")
	l.write("osnoise/stop_tracing_total_us", "1")
	l.ft.Run(10 * machine.Millisecond)
	l.want("tracing_on", "0\n")
	if !strings.Contains(l.read("trace"), "timerlat_main: stop tracing hit on cpu ") {
		t.Error("it does not say why it stopped")
	}
}

func TestOsnoiseFiles(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for _, c := range []struct {
		file, write, read string
		want              error
	}{
		{"osnoise/cpus", "0,2-3", "0,2-3\n", nil},
		{"osnoise/cpus", "all", "0-3\n", nil},
		{"osnoise/cpus", "0-N:1/2", "0,2\n", nil},
		{"osnoise/cpus", "all", "0-3\n", nil},
		{"osnoise/cpus", "7", "0-3\n", syscall.ERANGE},
		{"osnoise/cpus", "4294967296", "0-3\n", syscall.EOVERFLOW},
		{"osnoise/cpus", "2-1", "0-3\n", syscall.EINVAL},
		{"osnoise/cpus", "x", "0-3\n", syscall.EINVAL},
		{"osnoise/options", "OSNOISE_IRQ_DISABLE", "NO_DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE OSNOISE_IRQ_DISABLE \n", nil},
		{"osnoise/options", "NO_DEFAULTS", "NO_DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE OSNOISE_IRQ_DISABLE \n", syscall.EINVAL},
		{"osnoise/options", "DEFAULTS", "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE NO_OSNOISE_IRQ_DISABLE \n", nil},
		{"osnoise/period_us", "999999", "1000000\n", syscall.EINVAL},
		{"osnoise/runtime_us", "1000001", "1000000\n", syscall.EINVAL},
	} {
		if err := l.errno(c.file, c.write); err != c.want {
			t.Errorf("%s %q: %v, want %v", c.file, c.write, err, c.want)
		}
		l.want(c.file, c.read)
	}
}

// The preemptirq events come in pairs on each CPU, and their addresses are in the
// kernel's text.
func TestPreemptIRQEvents(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000})
	l.write("events/preemptirq/enable", "1")
	l.ft.Run(20 * machine.Millisecond)
	off := map[string]bool{}
	line := regexp.MustCompile(`\[(\d+)\] .* (irq|preempt)_(disable|enable): caller=(?:\w[.\w]*\+0x\w+/0x\w+|0x0) parent=(\w+)`)
	lines := body(l.read("trace"))
	for _, text := range lines {
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q", text)
		}
		key := m[1] + m[2]
		if off[key] == (m[3] == "disable") && (off[key] || m[2] == "preempt") {
			t.Errorf("%s: twice the same", text)
		}
		off[key] = m[3] == "disable"
	}
	if len(lines) < 500 {
		t.Errorf("%d events in 20 ms", len(lines))
	}
}
