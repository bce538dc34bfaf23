package tracer_test

import (
	"strings"
	"testing"

	"ftracelab/tracefsfs"
	"ftracelab/tracer"
)

// A program in C that writes sizeof("global") bytes writes the NUL as well, as rasdaemon
// does to trace_clock. The kernel sees a string that ends there, and takes away the blanks
// around it.
//
// Kernel: tracing_clock_write, tracing_set_trace_write, trace_set_options, hwlat_mode_write,
// osnoise_options_write, enabled_monitors_write, monitor_reactors_write, bitmap_parse.
func TestWritesEndAtNUL(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for _, c := range []struct{ file, text, shown, part string }{
		{"trace_clock", "global\x00", "trace_clock", "[global]"},
		{"trace_clock", " mono \n\x00xyz", "trace_clock", "[mono]"},
		{"trace_clock", "\xa0boot\xa0", "trace_clock", "[boot]"},
		{"current_tracer", "function\x00", "current_tracer", "function\n"},
		{"current_tracer", "nop\n\x00", "current_tracer", "nop\n"},
		{"tracing_cpumask", "1\x00x", "tracing_cpumask", "1\n"},
		{"tracing_cpumask", "3\x00", "tracing_cpumask", "3\n"},
		{"trace_options", "stacktrace\x00", "options/stacktrace", "1\n"},
		{"trace_options", "nostacktrace \x00\x00", "options/stacktrace", "0\n"},
		{"hwlat_detector/mode", "per-cpu\x00", "hwlat_detector/mode", "[per-cpu]"},
		{"osnoise/options", "PANIC_ON_STOP\n\x00", "osnoise/options", " PANIC_ON_STOP"},
		{"osnoise/options", "NO_PANIC_ON_STOP\x00", "osnoise/options", " NO_PANIC_ON_STOP"},
		{"rv/enabled_monitors", "wwnr\x00", "rv/enabled_monitors", "wwnr\n"},
		{"rv/monitors/wwnr/reactors", "nop\x00", "rv/monitors/wwnr/reactors", "[nop]\n"},
	} {
		if err := tracefsfs.WriteFile(l.fs, c.file, c.text); err != nil {
			t.Errorf("write %q to %s: %v", c.text, c.file, err)
		}
		if text := l.read(c.shown); !strings.Contains(text, c.part) {
			t.Errorf("after %q to %s, %s reads %q", c.text, c.file, c.shown, text)
		}
	}
}
