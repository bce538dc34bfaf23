package tracer_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// times are those in the text of mmiotrace.
var times = regexp.MustCompile(`\b\d+\.\d{6}\b`)

// mmioLines are the lines of a trace of mmiotrace with S.US for times.
func mmioLines(trace string) (lines []string) {
	for line := range strings.Lines(times.ReplaceAllString(trace, "S.US")) {
		if line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// loadMMIOTest loads the kernel's test module of mmiotrace, on the display's memory.
func (l *lab) loadMMIOTest(params ...string) {
	l.t.Helper()
	if err := workload.Modprobe(l.ft, "testmmiotrace", append([]string{"mmio_address=0xfd000000"}, params...)); err != nil {
		l.t.Fatal(err)
	}
}

// The file of a real kernel has one marker.
func TestMmiotraceLikeTheOracle(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	l.write("current_tracer", "mmiotrace")
	l.write("trace_marker", "mark")
	got, want := l.read("trace"), oracle(t, "full/extra/mmiotrace.trace.txt")
	if got, want := times.ReplaceAllString(got, "S.US"), times.ReplaceAllString(want, "S.US"); got != want {
		t.Errorf("trace\n%s\nwant\n%s", got, want)
	}
}

// The test module's own test: each kind of access, as the module makes it.
func TestMmiotraceTestModule(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	l.write("current_tracer", "mmiotrace")
	l.loadMMIOTest()
	lines := mmioLines(l.read("trace"))
	const accesses = 256 + 2048 + 2816
	if len(lines) != 2*accesses+1+5+22 {
		t.Fatalf("%d lines", len(lines))
	}
	if ok, _ := regexp.MatchString(`^MARK S.US ioremap returned [0-9a-f]{16}\.\n$`, lines[1]); !ok {
		t.Errorf("%q", lines[1])
	}
	lines[1] = ""
	for n, want := range map[int]string{
		0:                  "MAP S.US 1 0xfd000000 0xffffc90000800000 0x800000 0x0 0\n",
		2:                  "MARK S.US Write test.\n",
		3:                  "W 1 S.US 1 0xfd000000 0x0 0x0 0\n",
		3 + 255:            "W 1 S.US 1 0xfd0000ff 0xff 0x0 0\n",
		3 + 256:            "W 2 S.US 1 0xfd000400 0x3007 0x0 0\n",
		3 + 256 + 2048:     "W 4 S.US 1 0xfd001400 0x40cf7c0d 0x0 0\n",
		3 + accesses:       "MARK S.US Read test.\n",
		4 + accesses:       "R 1 S.US 1 0xfd000000 0x0 0x0 0\n",
		4 + accesses + 256: "R 2 S.US 1 0xfd000400 0x3007 0x0 0\n",
		4 + 2*accesses:     "MARK S.US Read errors: 8-bit 0, 16-bit 0, 32-bit 0.\n",
		5 + 2*accesses:     "MARK S.US Read far test.\n",
		6 + 2*accesses:     "R 4 S.US 1 0xfd400100 0x0 0x0 0\n",
		7 + 2*accesses:     "UNMAP S.US 1 0x0 0\n",
		8 + 2*accesses:     "MAP S.US 2 0xfd000000 0xffffc90000800000 0x1000 0x0 0\n",
		27 + 2*accesses:    "UNMAP S.US 11 0x0 0\n",
	} {
		if lines[n] != want {
			t.Errorf("line %d: %q, want %q", n, lines[n], want)
		}
	}
}

// Where nothing answers all ones are read, and what is not mapped by 16 KiB is not read.
func TestMmiotraceNoMemory(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	l.write("current_tracer", "mmiotrace")
	if err := workload.Modprobe(l.ft, "testmmiotrace", []string{"mmio_address=0xe0000000", "read_far=0"}); err != nil {
		t.Fatal(err)
	}
	lines := mmioLines(l.read("trace"))
	if want := "MAP S.US 1 0xe0000000 0xffffc90000800000 0x4000 0x0 0\n"; lines[0] != want {
		t.Errorf("%q, want %q", lines[0], want)
	}
	// 0xff is what is expected of one byte.
	if !slices.Contains(lines, "MARK S.US Read errors: 8-bit 255, 16-bit 2048, 32-bit 2816.\n") {
		t.Error("memory where there is none")
	}
	if slices.Contains(lines, "MARK S.US Read far test.\n") {
		t.Error("it read beyond the mapping")
	}
	if err := workload.Modprobe(l.ft, "trace_printk", nil); err != nil {
		t.Fatal(err)
	}
	after := mmioLines(l.read("trace"))
	// Of trace_printk those calls show that keep the text.
	if n := len(after) - len(lines); n != 4 {
		t.Errorf("%d lines of trace_printk: %q", n, after[len(lines):])
	}
}

// Mappings from before are not traced, and an unmapping of one is of none.
func TestMmiotraceFromBefore(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	var virt uint64
	with := func(do func(c *machine.CPU)) {
		_ = l.ft.Do(func(m *machine.Machine) error { do(m.CPUs()[0]); return nil })
	}
	with(func(c *machine.CPU) { virt = c.IORemap(0xfd001234, 100) })
	l.write("current_tracer", "mmiotrace")
	with(func(c *machine.CPU) {
		c.IOWrite(virt, 4, 1)
		c.IOUnmap(virt)
		virt = c.IORemap(0xfd001234, 100)
		c.IORead(virt+4, 2)
		c.IORead(virt+100, 2) // not of the mapping's length
	})
	want := []string{
		"UNMAP S.US -1 0x0 0\n", "MAP S.US 1 0xfd001234 0xffffc90000800234 0x64 0x0 0\n", "R 2 S.US 1 0xfd001238 0x0 0x0 0\n",
	}
	if got := mmioLines(l.read("trace")); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	l.write("current_tracer", "nop")
	l.write("current_tracer", "mmiotrace")
	with(func(c *machine.CPU) { c.IORead(virt, 2) }) // forgotten with the tracer
	l.write("trace_marker", "end")
	if got := mmioLines(l.read("trace")); !slices.Equal(got, []string{"MARK S.US end\n"}) {
		t.Errorf("%q", got)
	}
}

// Tracing that is switched on again begins anew; what came while it was off was lost.
func TestMmiotraceOff(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	l.write("current_tracer", "mmiotrace")
	l.write("trace_marker", "gone")
	pipe := l.open("trace_pipe", tracefile.Read|tracefile.NonBlock)
	l.drain(pipe)
	l.write("tracing_on", "0")
	l.loadMMIOTest("read_far=0")
	if text, _ := l.drain(pipe); text != "MARK 0.000000 Lost 10262 events.\n" {
		t.Errorf("while it is off: %q", text)
	}
	l.write("tracing_on", "1")
	if lines := mmioLines(l.read("trace")); len(lines) != 0 {
		t.Errorf("%q", lines)
	}
}

// One CPU is left while it is current, and the others come back.
func TestMmiotraceCPUs(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 4}, tracer.Config{})
	online := func() (s string) {
		for _, c := range l.m.CPUs() {
			s += fmt.Sprintf("%t ", c.Online())
		}
		return s
	}
	if err := workload.Hotplug(l.ft, 2, false); err != nil {
		t.Fatal(err)
	}
	l.write("current_tracer", "mmiotrace")
	if got, want := online(), "true false false false "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	l.write("current_tracer", "nop")
	if got, want := online(), "true true false true "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// trace_pipe begins with the version and the devices, and tells of lost records.
func TestMmiotracePipe(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	l.write("buffer_size_kb", "8")
	l.write("current_tracer", "mmiotrace")
	pipe := l.open("trace_pipe", tracefile.Read|tracefile.NonBlock)
	text, _ := l.drain(pipe)
	head := "VERSION 20070824\n" +
		"PCIDEV 0000 80861237 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \n" +
		"PCIDEV 0008 80867000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \n" +
		"PCIDEV 0010 12341111 0 fd000008 0 febf0000 0 0 0 0 1000000 0 1000 0 0 0 0 \n" +
		"PCIDEV 0018 1af41001 b c001 febf1000 0 0 fe00000c 0 0 80 1000 0 0 4000 0 0 virtio-pci\n" +
		"PCIDEV 0020 1b36000c 18 0 0 0 0 0 0 0 0 0 0 0 0 0 0 pcieport\n"
	if text != head {
		t.Errorf("%s\nwant\n%s", text, head)
	}
	l.loadMMIOTest("read_far=0")
	text, _ = l.drain(pipe)
	first, rest, _ := strings.Cut(text, "\n")
	var lost int
	if _, err := fmt.Sscanf(first, "MARK 0.000000 Lost %d events.", &lost); err != nil {
		t.Fatalf("%q: %v", first, err)
	}
	if kept := len(mmioLines(rest)); lost+kept < 10266 || kept > 400 {
		t.Errorf("%d lost, %d lines", lost, kept)
	}
	if text, _ = l.drain(pipe); text != "" {
		t.Errorf("it tells again: %q", text)
	}
}

func TestMmiotraceDoesNotAllocate(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 1}, tracer.Config{})
	l.write("current_tracer", "mmiotrace")
	err := l.ft.Do(func(m *machine.Machine) error {
		c := m.CPUs()[0]
		virt := c.IORemap(0xfd000000, 4096)
		if n := testing.AllocsPerRun(1000, func() { c.IOWrite(virt, 4, c.IORead(virt+8, 4)) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n := strings.Count(l.read("trace"), "\nW 4 "); n < 1000 {
		t.Errorf("%d writes", n)
	}
}
