package capture

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"ftracelab/tracer/output"
)

// stateCost is how many bytes an entry of a map takes for each byte of the short line
// that it is made from.
const stateCost = 16

// loadState reads the files beside the pages. They tell the state of the kernel when
// its file trace was read, or could have been.
func (t *Trace) loadState(l location) error {
	t.state = map[string]string{"current_tracer": "nop"}
	t.options = map[string]bool{}
	t.tgids = map[int32]int32{}
	t.strings = map[uint64]string{}
	t.eprobes = map[string]string{}
	for _, f := range []struct {
		name string
		line func(line string)
	}{
		{"current_tracer", func(line string) { t.state["current_tracer"] = line }},
		{"trace_clock", func(line string) { t.state["trace_clock"] = line }},
		{"state.txt", t.stateLine},
		{"trace_options", t.optionsLine},
		{"saved_tgids", t.tgidLine},
		{"printk_formats", t.formatLine},
		{"dynamic_events", t.dynamicLine},
	} {
		text, err := readAll(l.fsys, path.Join(l.name, f.name), path.Join(l.shown, f.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := l.fsys.tables(text, stateCost, path.Join(l.shown, f.name)); err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			f.line(strings.TrimRight(string(line), "\r\n"))
		}
	}
	var err error
	if t.maps, err = readMaps(l); err != nil {
		return err
	}
	t.latency = output.Latency{Release: "unknown", Model: "preempt"}
	text, _, err := findKernel(l, l.name).read("uname.txt", "uname")
	if err == nil {
		t.latency.Release, t.latency.Model = release(string(text))
	}
	return t.readMoment(path.Join(l.shown, "state.txt"))
}

// stateLine reads "FILE: CONTENT".
func (t *Trace) stateLine(line string) {
	if name, value, ok := strings.Cut(line, ": "); ok {
		t.state[name] = strings.TrimSpace(value)
	}
}

// optionsLine reads the words NAME and noNAME.
func (t *Trace) optionsLine(line string) {
	for word := range strings.FieldsSeq(line) {
		name, clear := strings.CutPrefix(word, "no")
		t.options[name] = !clear
	}
}

// tgidLine reads "PID TGID".
func (t *Trace) tgidLine(line string) {
	a, b, _ := strings.Cut(line, " ")
	pid, err1 := strconv.ParseInt(a, 10, 32)
	tgid, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 32)
	if err1 == nil && err2 == nil && len(t.tgids) < maxComms {
		t.tgids[int32(pid)] = int32(tgid)
	}
}

// formatLine reads `0xADDRESS : "STRING"`.
//
// Kernel: t_show, kernel/trace/trace_printk.c.
//
// Departure: some events (dev:devres_log in 6.12) hold the address of a text in the kernel's
// memory that this file does not list. A kernel prints the text, we print the address.
func (t *Trace) formatLine(line string) {
	addr, quoted, ok := strings.Cut(line, " : ")
	n, known := parseHex([]byte(strings.TrimPrefix(addr, "0x")))
	if s, err := strconv.Unquote(quoted); ok && known && err == nil {
		t.strings[n] = s
	}
}

// dynamicLine reads "e:SYSTEM/NAME SYSTEM/EVENT …". Only eprobes need it: other probes
// are recognized by their formats.
func (t *Trace) dynamicLine(line string) {
	if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "e:") {
		t.eprobes[f[0][2:]] = strings.ReplaceAll(f[1], "/", ".")
	}
}

// countsOther reports whether a clock counts something other than nanoseconds. text is
// the content of trace_clock, which has the current clock in brackets.
//
// Kernel: trace_clocks, kernel/trace/trace.c.
func countsOther(text string) bool {
	switch chosen(text) {
	case "counter", "uptime", "x86-tsc":
		return true
	}
	return false
}

// chosen gives the word in brackets, if there is one.
func chosen(text string) string {
	if _, after, ok := strings.Cut(text, "["); ok {
		text, _, _ = strings.Cut(after, "]")
	}
	return text
}

// release reads "Linux HOST RELEASE #1 SMP PREEMPT …", which uname -a prints. It does
// not tell the mode in which a kernel with PREEMPT_DYNAMIC was started; Debian's is
// voluntary.
//
// Kernel: print_trace_header, kernel/trace/trace.c.
func release(uname string) (version, model string) {
	f := strings.Fields(uname)
	if len(f) < 3 {
		return "unknown", "preempt"
	}
	version, model = f[2], "server"
	for _, word := range f[3:] {
		switch word {
		case "PREEMPT_RT":
			model = "preempt_rt"
		case "PREEMPT_DYNAMIC":
			model = "desktop"
		case "PREEMPT":
			model = "preempt"
		}
	}
	return version, model
}
