package tracer_test

import (
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/workload"
)

func (l *lab) modprobe(name string) {
	l.t.Helper()
	if err := workload.Modprobe(l.ft, name, nil); err != nil {
		l.t.Fatal(err)
	}
}

// printkLine is a line of trace from the CPU on, without what a run makes of it.
var printkLine = regexp.MustCompile(`\[\d+\] (\S+) +\d+\.\d+: (\S+): (.*)`)

func printkLines(t *testing.T, text string) []string {
	t.Helper()
	var lines []string
	for _, line := range body(text) {
		m := printkLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is no line of a trace_printk", line)
		}
		if strings.HasPrefix(m[2], "0x") {
			m[2] = "an address without a symbol"
		}
		lines = append(lines, m[1]+" "+m[2]+": "+m[3])
	}
	return lines
}

// A module's trace_printk in all its ways shows as it did on a real kernel, from
// its init and from an interrupt; printk_formats lists its strings in the same order.
func TestTracePrintk(t *testing.T) {
	want := printkLines(t, oracle(t, "full/extra/trace_printk_loaded/trace.txt"))
	l := newTriggerLab(t)
	l.modprobe("trace-printk")
	if got := printkLines(t, l.read("trace")); !slices.Equal(got, want) || len(got) != 8 {
		t.Errorf("trace has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	theirs := oracle(t, "full/extra/trace_printk_loaded/printk_formats")
	text, ok := strings.CutPrefix(l.read("printk_formats"), oracle(t, "debian/static/files/printk_formats"))
	ours := strings.Split(strings.TrimSpace(text), "\n")
	var said []string
	for _, line := range ours {
		_, text, _ := strings.Cut(line, " : ")
		said = append(said, text)
	}
	if !ok || len(said) != 4 {
		t.Errorf("printk_formats ends with %d lines of the module", len(said))
	}
	if order := regexp.MustCompile("0x[0-9a-f]+ : ").ReplaceAllString(theirs, ""); !strings.HasSuffix(order, strings.Join(said, "\n")+"\n") {
		t.Errorf("printk_formats ends with %q, the kernel's with others or in another order", said)
	}
}

// The formats outlive the module, and what was recorded is still text.
func TestTracePrintkAfterRmmod(t *testing.T) {
	l := newTriggerLab(t)
	l.modprobe("trace_printk")
	formats := l.read("printk_formats")
	if err := workload.Rmmod(l.ft, "trace_printk"); err != nil {
		t.Fatal(err)
	}
	l.want("printk_formats", formats)
	if text := l.read("trace"); !strings.Contains(text, ": (irq) This is a static string that will use trace_bprintk()\n") {
		t.Errorf("trace reads\n%s", text)
	}
	l.modprobe("trace_printk")
	l.want("printk_formats", formats)
}

// options/trace_printk forbids them, options/trace_printk_dest moves them to an
// instance and back when that goes.
func TestTracePrintkOptions(t *testing.T) {
	l := newTriggerLab(t)
	l.write("options/trace_printk", "0")
	l.modprobe("trace_printk")
	if n := len(body(l.read("trace"))); n != 0 {
		t.Errorf("%d lines with options/trace_printk off", n)
	}
	again := func() {
		t.Helper()
		if err := workload.Rmmod(l.ft, "trace_printk"); err != nil {
			t.Fatal(err)
		}
		l.modprobe("trace_printk")
	}
	l.write("options/trace_printk", "1")
	l.write("options/stacktrace", "1")
	again()
	if n := strings.Count(l.read("trace"), "<stack trace>"); n != 8 {
		t.Errorf("%d stacks of 8 calls", n)
	}
	l.write("options/stacktrace", "0")
	if err := l.errno("options/trace_printk_dest", "0"); err != syscall.EINVAL {
		t.Errorf("the top instance gives trace_printk away: %v", err)
	}
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.write("trace", "")
	l.write("instances/foo/options/trace_printk_dest", "1")
	l.want("options/trace_printk_dest", "0\n")
	again()
	if top, foo := len(body(l.read("trace"))), len(body(l.read("instances/foo/trace"))); top != 0 || foo != 8 {
		t.Errorf("%d lines in the top buffer, %d in the instance's", top, foo)
	}
	if err := l.fs.Rmdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.want("options/trace_printk_dest", "1\n")
}

// A module's strings are listed as soon as it is loaded, said or not, and nothing it
// says later adds one.
func TestFormatsOfModules(t *testing.T) {
	for _, mod := range []string{"ftrace_direct", "ftrace_direct_too", "trace_printk"} {
		l := newTriggerLab(t)
		before := l.read("printk_formats")
		l.modprobe(mod)
		formats := l.read("printk_formats")
		if formats == before {
			t.Errorf("%s: no format is listed", mod)
		}
		l.ft.Run(50 * machine.Millisecond)
		if !regexp.MustCompile("waking up|handle mm fault|bputs").MatchString(l.read("trace")) {
			t.Errorf("%s says nothing", mod)
		}
		l.want("printk_formats", formats)
	}
}
