package report

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// Type ids of the kernels the captures are from.
const (
	rawKernelStack = 4
	rawUserStack   = 12
	rawStackID     = 20
)

// capture is the raw pages of one oracle capture, read whole.
type capture struct {
	dir string
	cpu [][]byte
}

func openCapture(t testing.TB, dir string) *capture {
	t.Helper()
	c := &capture{dir: dir}
	for cpu := 0; ; cpu++ {
		f, err := os.Open(filepath.Join(dir, fmt.Sprintf("cpu%d.raw.gz", cpu)))
		if os.IsNotExist(err) && cpu > 0 {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		c.cpu = append(c.cpu, pages)
	}
}

// pages gives the pages of a CPU for Options.Pages.
func (c *capture) pages(cpu int) io.Reader { return bytes.NewReader(c.cpu[cpu]) }

// source reads the records of one CPU after the other.
func (c *capture) source() *rawSource { return &rawSource{capture: c} }

type rawSource struct {
	*capture
	at    int // cpu
	off   int
	page  *ringbuf.PageReader
	stack []uint64
}

func (s *rawSource) Next(r *record.Record) error {
	for {
		if s.page == nil {
			if s.at == len(s.cpu) {
				return io.EOF
			}
			if s.off >= len(s.cpu[s.at]) {
				s.at, s.off = s.at+1, 0
				continue
			}
			var err error
			if s.page, err = ringbuf.ReadPageImage(s.cpu[s.at][s.off : s.off+4096]); err != nil {
				return err
			}
			s.off += 4096
		}
		e, ok := s.page.Next()
		if !ok {
			if err := s.page.Err(); err != nil {
				return err
			}
			s.page = nil
			continue
		}
		if !e.IsData() {
			continue
		}
		*r = record.Record{CPU: s.at, Time: e.Time, Data: e.Data, Common: event.ParseCommon(e.Data)}
		switch r.Common.Type {
		case rawKernelStack:
			r.Kind = record.KernelStack
			s.stack = appendWords(s.stack[:0], e.Data[16:])
			r.Stack = s.stack
		case rawUserStack:
			r.Kind = record.UserStack
			s.stack = appendWords(s.stack[:0], e.Data[16:])
			for len(s.stack) > 0 && s.stack[len(s.stack)-1] == 0 {
				s.stack = s.stack[:len(s.stack)-1]
			}
			r.Stack = s.stack
		}
		return nil
	}
}

func appendWords(dst []uint64, b []byte) []uint64 {
	for ; len(b) >= 8; b = b[8:] {
		var v uint64
		for i := range 8 {
			v |= uint64(b[i]) << (8 * i)
		}
		dst = append(dst, v)
	}
	return dst
}

// oracle is the folder of the real kernels' captures.
func oracle(t testing.TB) string {
	t.Helper()
	return testutil.Oracle(t)
}

// rawTypes names the ids of the captures' kernels.
func rawTypes(t testing.TB) *event.Table {
	t.Helper()
	table, err := event.NewTable(
		&event.Type{System: "ftrace", Name: "kernel_stack", ID: rawKernelStack},
		&event.Type{System: "ftrace", Name: "user_stack", ID: rawUserStack},
		&event.Type{System: "ftrace", Name: "stack_id", ID: rawStackID},
	)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// statsOf reads per_cpu/cpuN/stats.
func statsOf(t testing.TB, dir string, cpu int) (entries, bytes uint64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("stats.cpu%d", cpu)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		switch name {
		case "entries":
			entries = n
		case "bytes":
			bytes = n
		}
	}
	return entries, bytes
}

// TestSomeKernelPages does with the first pages of four captures what
// TestKernelPages does with whole ones. Their origin: debian/stacks of the oracle,
// func_stack from stackmap/v2/savings/a_off.
func TestSomeKernelPages(t *testing.T) {
	for _, name := range []string{"kmem_stack", "sched_stack", "user_stack", "func_stack"} {
		r := estimateDir(t, filepath.Join("testdata/pages", name), Options{})
		if v := r.Verification; v.PagesIdentical != 24 {
			t.Errorf("%s: %d of 24 pages re-created: %s", name, v.PagesIdentical, v.FirstDifference)
		}
	}
}

// TestKernelPages writes real captures through the emulated buffer and finds the
// kernel's own pages, and the kernel's own statistics.
func TestKernelPages(t *testing.T) {
	root := oracle(t)
	for _, name := range []string{"kmem_stack", "sched_stack", "user_stack"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, "debian/stacks", name)
			c := openCapture(t, dir)
			r, err := Estimate(t.Context(), c.source(), Options{Types: rawTypes(t), Pages: c.pages})
			if err != nil {
				t.Fatal(err)
			}
			v := &r.Verification
			pages := uint64(len(c.cpu[0])+len(c.cpu[1])) / 4096
			if v.PagesCompared != pages || v.PagesIdentical != pages || v.PagesUnmatched != 0 {
				t.Errorf("%d of %d pages re-created (%d compared, %d unmatched): %s",
					v.PagesIdentical, pages, v.PagesCompared, v.PagesUnmatched, v.FirstDifference)
			}
			for _, cpu := range v.CPUs {
				entries, bytes := statsOf(t, dir, cpu.CPU)
				if cpu.Entries != entries || cpu.Bytes != bytes {
					t.Errorf("cpu %d: %d entries, %d bytes; the kernel's stats have %d, %d", cpu.CPU, cpu.Entries, cpu.Bytes, entries, bytes)
				}
			}
		})
	}
}

// TestMeasuredSavings predicts from a capture without stackmap what a patched
// kernel measured with it on the same workload.
func TestMeasuredSavings(t *testing.T) {
	root := filepath.Join(oracle(t), "stackmap/v2/savings")
	for _, c := range []struct {
		name    string
		full    float64 // bytes per event, measured off
		mapped  float64 // and on
		unique  uint64  // in the capture that is read
		b       [2]float64
		uniqueB uint64
	}{
		{"kmem_stack", 166.0, 76.0, 231, [2]float64{12660, 27329}, 219},
		{"sched_stack", 168.5, 84.0, 61, [2]float64{11267, 24701}, 18},
		{"func_stack", 118.3, 44.0, 259, [2]float64{17700, 47645}, 254},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := estimateDir(t, filepath.Join(root, "a_off", c.name), Options{BufferSizeKB: 90000})
			near(t, "bytes per event, full", a.Designs[0].BytesPerEvent, c.full, 0.005)
			near(t, "bytes per event, mapped", a.Designs[1].BytesPerEvent, c.mapped, 0.005)
			if a.Input.UniqueStacks != c.unique {
				t.Errorf("%d unique stacks, want %d", a.Input.UniqueStacks, c.unique)
			}
			b := estimateDir(t, filepath.Join(root, "b_off", c.name), Options{BufferSizeKB: 1024})
			near(t, "pairs kept, full", float64(b.Designs[0].RetainedEvents), c.b[0], 0.03)
			near(t, "pairs kept, mapped", float64(b.Designs[1].RetainedEvents), c.b[1], 0.03)
			if b.Input.UniqueStacks != c.uniqueB {
				t.Errorf("(b) %d unique stacks, want %d", b.Input.UniqueStacks, c.uniqueB)
			}
			t.Logf("a: %.2f -> %.2f B/event; b: %d (%s) -> %d (%s)", a.Designs[0].BytesPerEvent, a.Designs[1].BytesPerEvent,
				b.Designs[0].RetainedEvents, b.Designs[0].RetainedBasis, b.Designs[1].RetainedEvents, b.Designs[1].RetainedBasis)
		})
	}
}

func estimateDir(t *testing.T, dir string, opt Options) *Report {
	t.Helper()
	c := openCapture(t, dir)
	opt.Types, opt.Pages = rawTypes(t), c.pages
	r, err := Estimate(t.Context(), c.source(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Verification; v.PagesIdentical != v.PagesCompared || v.PagesUnmatched != 0 {
		t.Errorf("%s: %d of %d pages re-created, %d unmatched: %s", dir, v.PagesIdentical, v.PagesCompared, v.PagesUnmatched, v.FirstDifference)
	}
	return r
}

// near fails unless got is within a part of want.
func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if d := got/want - 1; d > part || d < -part {
		t.Errorf("%s: %.2f, measured %.2f (%+.2f %%)", what, got, want, 100*d)
	}
}
