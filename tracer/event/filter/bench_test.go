package filter_test

import (
	"strings"
	"testing"

	"ftracelab/tracer/event/filter"
)

// Filters of each kind that look at all their predicates.
var benchFilters = []struct{ name, text string }{
	{"number", "prev_pid == 7"},
	{"text", `prev_comm == "bash"`},
	{"glob", `prev_comm ~ "b*s?"`},
	{"comm", `comm == "bash"`},
	{"cpus", "cpu & CPUS{0-3}"},
	{"mixed", `prev_pid > 0 && !(next_comm ~ "kworker*" || next_pid == 2) && cpu & CPUS{0-3}`},
	{"deep", strings.Repeat("(prev_pid == 8 || ", 50) + "prev_pid == 7" + strings.Repeat(")", 50)},
}

func benchRecord(tb testing.TB) []byte {
	return record(tb, kernelType(tb, "sched", "sched_switch"), map[string]any{
		"prev_comm": "bash", "prev_pid": 7, "next_comm": "sshd", "next_pid": 9,
	})
}

var benchContext = filter.Context{CPU: 1, Comm: "bash"}

func TestMatchAllocatesNothing(t *testing.T) {
	data := benchRecord(t)
	for _, c := range benchFilters {
		f := parse(t, kernelType(t, "sched", "sched_switch"), c.text)
		if !f.Match(data, benchContext) {
			t.Errorf("%s does not match", c.text)
		}
		if n := testing.AllocsPerRun(100, func() { f.Match(data, benchContext) }); n != 0 {
			t.Errorf("%s: %v allocations", c.text, n)
		}
	}
	typ := mixed(t)
	data = record(t, typ, map[string]any{"dyn": "abc\x00", "mask": "\x03\x00", "str": uint64(0xffffffff82000000)})
	ctx := filter.Context{UserStrings: func(uint64) (string, bool) { return "user", true }}
	for _, text := range []string{`dyn ~ "a?c"`, "mask == CPUS{0-1}", `str ~ "*text"`, `str.ustring == "user"`, "ip.function != vfs_read"} {
		f := parse(t, typ, text)
		if n := testing.AllocsPerRun(100, func() { f.Match(data, ctx) }); n != 0 || !f.Match(data, ctx) {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	data := benchRecord(b)
	for _, c := range benchFilters {
		b.Run(c.name, func(b *testing.B) {
			f := parse(b, kernelType(b, "sched", "sched_switch"), c.text)
			b.ReportAllocs()
			for b.Loop() {
				f.Match(data, benchContext)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	typ := kernelType(b, "sched", "sched_switch")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := filter.Parse(typ, benchFilters[5].text, testEnv()); err != nil {
			b.Fatal(err)
		}
	}
}
