package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"ftracelab/budget"
	"ftracelab/internal/testutil"
)

// traceFS opens the capture cap of fsys.
func traceFS(tb testing.TB, fsys fstest.MapFS, opt Options) *Trace {
	tb.Helper()
	t, err := openTrace(location{fsys: &files{fsys, budget.New(budget.Default)}, name: "cap", shown: "cap"}, opt)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// inMemory is a capture of the oracle without compression, with its pages repeated n
// times.
func inMemory(tb testing.TB, name string, n int) fstest.MapFS {
	tb.Helper()
	l, err := locate(path.Join(testutil.Oracle(tb), name), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	m := fstest.MapFS{}
	for _, file := range []string{"cpu0.raw", "cpu1.raw", "state.txt", "trace_options", "saved_cmdlines", "stats.cpu0", "stats.cpu1"} {
		text, err := readAll(l.fsys, path.Join(l.name, file), file)
		if err != nil {
			text, err = readAll(l.fsys, path.Join(l.name, file+".gz"), file)
		}
		if err == nil {
			m["cap/"+file] = &fstest.MapFile{Data: text}
		}
		if strings.HasSuffix(file, ".raw") {
			m["cap/"+file].Data = bytes.Repeat(text, n)
		}
	}
	for _, file := range []string{"formats_all.txt", "kallsyms.txt"} {
		text, _, err := findKernel(l, l.name).read(file)
		if err != nil {
			tb.Fatal(err)
		}
		m["cap/"+file] = &fstest.MapFile{Data: text}
	}
	return m
}

// BenchmarkTrace measures the way from pages to text, without reading the kernel's
// files.
func BenchmarkTrace(b *testing.B) {
	for _, c := range []struct {
		name   string
		repeat int
	}{
		{"full/function/fn_wrap", 300},
		{"debian/callgraphs/big_mix", 1},
		{"debian/events/ev_all", 40},
		{"debian/stacks/kmem_stack", 1},
		{"debian/stacks/sched_stack", 1},
		{"debian/stacks/user_stack", 1},
	} {
		b.Run(path.Base(c.name), func(b *testing.B) {
			m := inMemory(b, c.name, c.repeat)
			b.ReportAllocs()
			var entries uint64
			for b.Loop() {
				b.StopTimer()
				t := traceFS(b, m, Options{})
				t.Config() // reads kallsyms
				entries = 0
				for _, s := range t.info.Stats {
					entries += s.Entries * uint64(c.repeat)
				}
				b.StartTimer()
				if err := t.WriteText(context.Background(), io.Discard, -1); err != nil {
					b.Fatal(err)
				}
				t.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
		})
	}
}

// BenchmarkOpenTrace measures what happens before the first line: formats and symbols
// are read.
func BenchmarkOpenTrace(b *testing.B) {
	m := inMemory(b, "debian/function/fn_default", 1)
	b.ReportAllocs()
	for b.Loop() {
		t := traceFS(b, m, Options{})
		t.Config() // reads kallsyms
		t.Close()
	}
}

// FuzzTrace makes text from pages of any content, with other files of any content
// beside them.
func FuzzTrace(f *testing.F) {
	clean := exampleFS(f)
	f.Add(clean["cap/cpu0.raw"].Data[:600], "current_tracer: function_graph\ntrace_clock: local [counter]\ntime_start: 5\n",
		"nosym-offset latency-format verbose", "0xffffffff81000000 : \"%s\\n\"\n", "e:x/kmem_cache_alloc kmem/kfree\n", "1 2\n")
	f.Fuzz(func(t *testing.T, data []byte, state, options, formats, dynamic, tgids string) {
		m := maps.Clone(clean)
		image := make([]byte, 2*defaultSubbuf)
		copy(image, data)
		delete(m, "cap/cpu1.raw")
		for name, text := range map[string]string{
			"cpu0.raw": string(image), "state.txt": state, "trace_options": options,
			"printk_formats": formats, "dynamic_events": dynamic, "saved_tgids": tgids,
		} {
			m["cap/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		for _, keep := range []bool{false, true} {
			c, err := openTrace(location{fsys: &files{m, budget.New(budget.Default)}, name: "cap", shown: "cap"}, Options{KeepGoing: keep})
			if err == nil {
				err = errors.Join(c.WriteText(context.Background(), io.Discard, -1), c.Close())
			}
			var at *Error
			if err != nil && !errors.As(err, &at) {
				t.Errorf("keep going %v: %v", keep, err)
			}
		}
	})
}

// FuzzTraceFormats makes text from a page with formats, symbols and names of any
// content.
func FuzzTraceFormats(f *testing.F) {
	clean := exampleFS(f)
	page := clean["cap/cpu0.raw"].Data[:defaultSubbuf]
	f.Add("name: lie\nID: 622\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"+
		"\tfield:__data_loc char[] name;\toffset:60000;\tsize:4;\tsigned:0;\n\nprint fmt: \"%s %d\", __get_str(name), gone(REC->x)\n",
		"ffffffff81000010 T b\nffffffff81000000 T a\nffffffff81000010 t c\t[m]\n0 A zero\n", "7 a\nb\n8 \n\n9 long name of a task\nx\n")
	f.Fuzz(func(t *testing.T, format, kallsyms, names string) {
		m := maps.Clone(clean)
		delete(m, "cap/cpu1.raw")
		for name, text := range map[string]string{
			"cpu0.raw": string(page), "events/kmem/lie/format": format, "kallsyms.txt": kallsyms, "saved_cmdlines": names,
		} {
			m["cap/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		c, err := openTrace(location{fsys: &files{m, budget.New(budget.Default)}, name: "cap", shown: "cap"}, Options{})
		if err == nil {
			err = errors.Join(c.WriteText(context.Background(), io.Discard, -1), c.Close())
		}
		var at *Error
		if err != nil && !errors.As(err, &at) {
			t.Error(err)
		}
	})
}

// TestNamesWithNewlines: a task's name may hold any character except 0. A name with a
// newline takes two lines of saved_cmdlines.
func TestNamesWithNewlines(t *testing.T) {
	m := exampleFS(t)
	m["cap/saved_cmdlines"] = &fstest.MapFile{Data: []byte("7 two\nlines\n8 \n9 fifteen letters\nno\n\n")}
	c := traceFS(t, m, Options{})
	defer c.Close()
	for pid, want := range map[int32]string{7: "two\nlines", 8: "", 9: "fifteen letters", 10: "<...>"} {
		if got := c.Config().Comm(pid); got != want {
			t.Errorf("%d is %q, want %q", pid, got, want)
		}
	}
}

// TestOnlineCPUs: the header's #P is the number of CPUs that were online, which
// state.txt may tell.
func TestOnlineCPUs(t *testing.T) {
	m := exampleFS(t)
	state := ""
	if f := m["cap/state.txt"]; f != nil {
		state = string(f.Data)
	}
	set := func(line string) { m["cap/state.txt"] = &fstest.MapFile{Data: []byte(state + "\n" + line)} }
	set("online_cpus: 1\n")
	c := traceFS(t, m, Options{})
	defer c.Close()
	if cfg := c.Config(); cfg.CPUs != 1 || cfg.PossibleCPUs != 2 {
		t.Errorf("%d of %d CPUs, want 1 of 2", cfg.CPUs, cfg.PossibleCPUs)
	}
	for _, text := range []string{"0", "many", "100000"} {
		set("online_cpus: " + text + "\n")
		c, err := openTrace(location{fsys: &files{m, budget.New(budget.Default)}, name: "cap", shown: "cap"}, Options{})
		if err == nil {
			c.Close()
			t.Errorf("online_cpus: %s is taken", text)
		}
	}
}

// TestTicks: the clocks that do not count nanoseconds are told, wherever the folder names them.
func TestTicks(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"trace_clock", "local global [counter] uptime perf mono mono_raw boot tai x86-tsc\n", "counter"},
		{"trace_clock", "x86-tsc", "x86-tsc"},
		{"state.txt", "current_tracer: nop\ntrace_clock: local [uptime] perf\n", "uptime"},
		{"state.txt", "trace_clock: [local] global counter uptime\n", ""},
		{"state.txt", "counter\n", ""},
		{"trace_clock", "[mono] counter\n", ""},
	} {
		m := exampleFS(t)
		delete(m, "cap/state.txt")
		m["cap/"+c.file] = &fstest.MapFile{Data: []byte(c.text)}
		in, err := open(location{fsys: &files{m, budget.New(budget.Default)}, name: "cap", shown: "cap"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(strings.Join(in.Caveats(), "\n"), "does not count nanoseconds")
		if got := in.Info().Ticks; got != c.want || told != (c.want != "") {
			t.Errorf("%s %q: %q, told %t, want %q", c.file, c.text, got, told, c.want)
		}
		in.Close()
	}
}
