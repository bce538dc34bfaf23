package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ftracelab/capture"
	"ftracelab/internal/golden"
	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/output"
	"ftracelab/workload"
)

// tracedLab is a machine that has run under a tracer, with events, a marker and
// settings written before.
func tracedLab(t *testing.T, tracer string, set ...string) *lab {
	t.Helper()
	f := labFlags{cpus: 2, seed: 1, preset: "documented", console: io.Discard}
	f.set = append([]string{
		"buffer_size_kb=64", "current_tracer=" + tracer,
		"set_event=sched:sched_switch kmem:kmem_cache_alloc irq_vectors:* syscalls:sys_enter_read",
	}, set...)
	scenario := ""
	if tracer == "blk" {
		scenario = "disk"
	}
	l, err := f.build(scenario)
	if err != nil {
		t.Fatal(err)
	}
	switch tracer {
	case "blk":
		writeNode(t, l.blockDir(), workload.DiskName+"/trace/enable", "1\n")
	case "mmiotrace":
		if err := workload.Modprobe(l.ft, "testmmiotrace", []string{"mmio_address=0xfd000000"}); err != nil {
			t.Fatal(err)
		}
	}
	l.ft.Run(machine.Time(2e6))
	for _, name := range []string{"trace_marker", "trace_marker_raw"} {
		if err := tracefsfs.WriteFile(l.fs, name, "a marker\n"); err != nil && !slices.Contains(set, "trace_options=nomarkers") {
			t.Fatal(err)
		}
	}
	l.ft.Run(machine.Time(1e6))
	for n := 0; n < 20 && hasHeaderOnly(readLab(t, l, "trace")); n++ {
		l.ft.Run(machine.Time(50e6)) // a latency tracer may have to wait for its first
	}
	l.ft.Top().Stop()
	return l
}

// writeNode writes a file below a folder outside of the tracefs.
func writeNode(t *testing.T, dir *tracefile.Dir, name, text string) {
	t.Helper()
	if err := tracefsfs.WriteFile(tracefsfs.New(dir), name, text); err != nil {
		t.Fatal(err)
	}
}

func hasHeaderOnly(trace string) bool {
	for line := range strings.Lines(trace) {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

func readLab(t *testing.T, l *lab, name string) string {
	t.Helper()
	text, err := l.fs.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// toggled is the word that changes an option which trace_options shows as word.
func toggled(word string) string {
	if name, off := strings.CutPrefix(word, "no"); off {
		return name
	}
	return "no" + word
}

// printed says whether an option changes how trace reads, at any time.
func printed(word string) bool {
	name := strings.TrimPrefix(word, "no")
	return name != "display-graph" && output.OptionByName(name)|output.Options(output.GraphOptionByName(name)) != 0
}

// TestReportEveryOption compares, without any capture, what the pages of a run are
// rendered to by report with what the run's own trace shows: for every tracer there
// is, every option of trace_options, and both CPUs. Options that change what is
// recorded have a run of their own.
func TestReportEveryOption(t *testing.T) {
	any := tracedLab(t, "nop")
	tracers := strings.Fields(readLab(t, any, "available_tracers"))
	if len(tracers) < 3 {
		t.Fatalf("tracers %v", tracers)
	}
	if testing.Short() {
		tracers = []string{"nop", "function_graph"}
	}
	opt := capture.Options{Kernel: capturedTo(t, any), Cache: new(capture.Cache)}
	compared := 0
	for _, tracer := range tracers {
		t.Run(tracer, func(t *testing.T) {
			l := tracedLab(t, tracer)
			all := shown{cpu: -1, text: readLab(t, l, "trace")}
			if hasHeaderOnly(all.text) {
				t.Logf("nothing was recorded")
				switch tracer {
				case "nop", "function", "function_graph", "irqsoff", "preemptirqsoff", "wakeup", "blk", "mmiotrace":
					t.Fail()
				}
			}
			texts := []shown{
				all,
				{cpu: 0, text: readLab(t, l, "per_cpu/cpu0/trace")},
				{cpu: 1, text: readLab(t, l, "per_cpu/cpu1/trace")},
			}
			var recording []string
			for _, word := range strings.Fields(readLab(t, l, "trace_options")) {
				if !printed(word) {
					recording = append(recording, word)
					continue
				}
				setOption(t, l, toggled(word))
				texts = append(texts, shown{option: toggled(word), cpu: -1, text: readLab(t, l, "trace")})
				setOption(t, l, word)
			}
			dir := capturedTo(t, l)
			for _, s := range texts {
				s.compare(t, dir, opt)
			}
			want := golden.Text{Content: []byte(all.text)}
			if diff := want.Difference(reportText(t, dir)); diff != "" {
				t.Errorf("the command: %s", diff)
			}
			compared += len(texts)
			for _, word := range recording {
				if !worthARun(tracer, word) {
					continue
				}
				l := tracedLab(t, tracer, "trace_options="+toggled(word))
				s := shown{cpu: -1, text: readLab(t, l, "trace")}
				s.compare(t, capturedTo(t, l), opt)
				compared++
			}
		})
	}
	t.Logf("%d texts of %d tracers are identical", compared, len(tracers))
}

// worthARun says whether an option that is not printed might change the records of
// a tracer.
func worthARun(tracer, word string) bool {
	name := strings.TrimPrefix(word, "no")
	switch name {
	case "test_nop_refuse": // nothing sets it
		return false
	case "trace_printk_dest": // the top instance can only give it to another
		return false
	case "stacktrace", "function-trace", "display-graph":
		return tracer != "nop" || name == "stacktrace"
	case "block", "pause-on-trace", "disable_on_free", "event-fork", "function-fork", "markers", "record-cmd":
		return tracer == "nop"
	case "stackmap", "userstacktrace", "overwrite":
		return tracer == "nop" || tracer == "function"
	}
	return true // of the tracer itself
}

func setOption(t *testing.T, l *lab, word string) {
	t.Helper()
	if err := tracefsfs.WriteFile(l.fs, "trace_options", word+"\n"); err != nil {
		t.Fatal(err)
	}
}

// capturedTo saves what the lab holds as run --out does.
func capturedTo(t *testing.T, l *lab) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cap")
	out, err := createOutputDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.writeCapture(out, "a run\n"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shown is a text of trace, and how it was made.
type shown struct {
	option string // toggled before; "": none
	cpu    int    // -1: all
	text   string
}

// compare renders the pages of dir as the command does, with the kernel's files read
// once for all.
func (s shown) compare(t *testing.T, dir string, opt capture.Options) {
	t.Helper()
	opt.StackIDs = true
	c, err := capture.OpenTrace(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s.option != "" {
		if err := c.SetOption(s.option); err != nil {
			t.Fatal(err)
		}
	}
	var got bytes.Buffer
	if err := c.WriteText(context.Background(), &got, s.cpu); err != nil {
		t.Fatal(err)
	}
	want := golden.Text{Content: []byte(s.text)}
	if diff := want.Difference(got.Bytes()); diff != "" {
		t.Errorf("option %q, cpu %d: %s", s.option, s.cpu, diff)
	}
	if bytes.Contains(got.Bytes(), []byte("[unknown ")) {
		t.Errorf("option %q, cpu %d: it lacks something", s.option, s.cpu)
	}
}
