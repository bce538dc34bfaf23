package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ftracelab/budget"
	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
	"ftracelab/tracer/record"
)

// oracle is the folder of the captures of real kernels.
func oracle(t testing.TB, elem ...string) string {
	t.Helper()
	return filepath.Join(append([]string{testutil.Oracle(t)}, elem...)...)
}

// shared is the folder beside the oracle that holds captures of the kinds that users
// bring.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	return filepath.Join(append([]string{filepath.Dir(oracle(t)), "captures"}, elem...)...)
}

// census counts a capture as DEDUP_STATS.txt does.
type census struct {
	events, kernel, user, lost uint64
	eventBytes, stackBytes     uint64 // what the records take in the buffer
	frames                     uint64
	unique                     map[string]int
	byCPU                      map[int]uint64
}

// ringSize is what a record of n bytes takes in the buffer.
func ringSize(n int) uint64 {
	n = (n + 3) &^ 3
	if n > 112 {
		n += 4
	}
	return uint64(n + 4)
}

func count(t testing.TB, c *Capture) census {
	t.Helper()
	s, err := tally(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tally(c *Capture) (census, error) {
	s := census{unique: map[string]int{}, byCPU: map[int]uint64{}}
	var r record.Record
	var key []byte
	last := map[int]uint64{}
	for {
		switch err := c.Next(&r); {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return s, err
		}
		if r.Time < last[r.CPU] {
			return s, fmt.Errorf("cpu %d: time goes back from %d to %d", r.CPU, last[r.CPU], r.Time)
		}
		last[r.CPU] = r.Time
		s.byCPU[r.CPU]++
		switch r.Kind {
		case record.Lost:
			s.lost++
			continue
		case record.Event:
			s.events++
			if r.Type == nil || c.Types().ByID(int(r.Common.Type)) != r.Type {
				return s, fmt.Errorf("event %d: type %v is not in the table", s.events, r.Type)
			}
			s.eventBytes += ringSize(len(r.Data))
			continue
		case record.KernelStack:
			s.kernel++
			s.stackBytes += ringSize(16 + 8*len(r.Stack))
		case record.UserStack:
			s.user++
			s.stackBytes += ringSize(16 + 64)
		}
		s.frames += uint64(len(r.Stack))
		key = append(key[:0], byte(r.Kind))
		for _, addr := range r.Stack {
			var w [8]byte
			putWord(w[:], addr)
			key = append(key, w[:]...)
		}
		s.unique[string(key)]++
	}
}

func openTest(t testing.TB, path string, opt Options) *Capture {
	t.Helper()
	c, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// dedupStats are the lines of DEDUP_STATS.txt.
var dedupStats = []struct {
	name           string
	pages          int
	events, stacks uint64
	unique         int
}{
	{"kmem_stack", 2697, 66064, 66064, 266},
	{"sched_stack", 3489, 82701, 82701, 64},
	{"user_stack", 2999, 79437, 79437, 2991},
}

func TestFoldersAgreeWithDedupStats(t *testing.T) {
	for _, want := range dedupStats {
		t.Run(want.name, func(t *testing.T) {
			c := openTest(t, oracle(t, "debian/stacks", want.name), Options{})
			got := count(t, c)
			if got.events != want.events || got.kernel+got.user != want.stacks || len(got.unique) != want.unique || got.lost != 0 {
				t.Errorf("got %d events, %d stacks, %d unique, %d lost; want %+v", got.events, got.kernel+got.user, len(got.unique), got.lost, want)
			}
			pages := 0
			for _, s := range c.Info().Stats {
				n, entries := countPages(t, c, s.CPU)
				pages += n
				if entries != s.Entries || got.byCPU[s.CPU] != s.Entries {
					t.Errorf("cpu %d: %d entries on pages, %d records, stats say %d", s.CPU, entries, got.byCPU[s.CPU], s.Entries)
				}
			}
			if pages != want.pages {
				t.Errorf("%d pages, want %d", pages, want.pages)
			}
			if caveats := c.Caveats(); len(caveats) != 0 {
				t.Errorf("caveats of a complete capture: %q", caveats)
			}
		})
	}
}

// countPages reads the original images of a CPU.
func countPages(t *testing.T, c *Capture, cpu int) (pages int, entries uint64) {
	t.Helper()
	in := c.Pages(cpu)
	image := make([]byte, c.Info().SubbufSize)
	for {
		if _, err := io.ReadFull(in, image); errors.Is(err, io.EOF) {
			return pages, entries
		} else if err != nil {
			t.Fatal(err)
		}
		pages++
		page, err := ringbuf.ReadPageImage(image)
		if err != nil {
			t.Fatal(err)
		}
		for {
			e, ok := page.Next()
			if !ok {
				break
			}
			if e.IsData() {
				entries++
			}
		}
	}
}

func TestSavingsFolders(t *testing.T) {
	for name, want := range map[string]struct {
		events uint64
		unique int
	}{
		"kmem_stack": {34738, 231}, "sched_stack": {62951, 61}, "func_stack": {38492, 259},
	} {
		c := openTest(t, oracle(t, "stackmap/v2/savings/a_off", name), Options{})
		if got := count(t, c); got.events != want.events || got.kernel != want.events || len(got.unique) != want.unique {
			t.Errorf("%s: %d events, %d stacks, %d unique; want %+v", name, got.events, got.kernel, len(got.unique), want)
		}
	}
}

// TestTextSizes compares the sizes of records that were rebuilt from text with the
// kernel's own.
func TestTextSizes(t *testing.T) {
	for _, name := range []string{"kmem_stack", "sched_stack", "user_stack"} {
		t.Run(name, func(t *testing.T) {
			pages := openTest(t, oracle(t, "debian/stacks", name), Options{})
			text := openTest(t, oracle(t, "debian/stacks", name, "trace.head.txt.gz"), Options{})
			if f := text.Info().Format; f != FormatFtrace {
				t.Fatalf("detected as %s", f)
			}
			a, b, n := comparePrefix(t, pages, text)
			t.Logf("%d records: %d bytes on pages, %d from text", n, a, b)
			if diff := float64(a) - float64(b); n < 20000 || diff > 0.02*float64(a) || -diff > 0.02*float64(a) {
				t.Errorf("%d records: %d bytes on pages, %d from text: more than 2 %% apart", n, a, b)
			}
		})
	}
}

// comparePrefix reads both until the text ends and compares everything but names.
func comparePrefix(t *testing.T, pages, text *Capture) (pageBytes, textBytes, n uint64) {
	t.Helper()
	var p, x record.Record
	kernel, frames := map[uint64]uint64{}, 0
	for {
		switch err := text.Next(&x); {
		case errors.Is(err, io.EOF):
			if frames == 0 {
				t.Error("no frames")
			}
			return pageBytes, textBytes, n
		case err != nil:
			t.Fatal(err)
		}
		if err := pages.Next(&p); err != nil {
			t.Fatal(err)
		}
		if p.Kind != x.Kind || p.CPU != x.CPU || p.Common.PID != x.Common.PID || p.Common.Flags != x.Common.Flags ||
			p.Common.PreemptCount != x.Common.PreemptCount || p.Common.Type != x.Common.Type {
			t.Fatalf("record %d: pages %+v, text %+v", n, p, x)
		}
		if d := int64(p.Time) - int64(x.Time); d > 1000 || d < -1000 {
			t.Fatalf("record %d: time %d on the page, %d in text", n, p.Time, x.Time)
		}
		if len(p.Stack) != len(x.Stack) {
			var peek record.Record
			if !errors.Is(text.Next(&peek), io.EOF) {
				t.Fatalf("record %d: %d frames on the page, %d in text", n, len(p.Stack), len(x.Stack))
			}
			return pageBytes, textBytes, n // "head" has cut off the last stack
		}
		for i := range p.Stack {
			frames++
			if old, ok := kernel[p.Stack[i]]; ok && old != x.Stack[i] && p.Kind == record.KernelStack {
				t.Fatalf("record %d: address %#x has two pseudo addresses", n, p.Stack[i])
			}
			kernel[p.Stack[i]] = x.Stack[i]
		}
		if p.Kind == record.Event {
			pageBytes += ringSize(len(p.Data))
			textBytes += ringSize(len(x.Data))
		} else {
			pageBytes += ringSize(len(p.Data))
			if x.Kind == record.KernelStack {
				textBytes += ringSize(16 + 8*len(x.Stack))
			} else {
				textBytes += ringSize(16 + 64)
			}
		}
		n++
	}
}

func TestPerfText(t *testing.T) {
	for name, want := range map[string]struct{ samples, frames uint64 }{
		"perf-script-go-build.txt.gz": {10809, 151539},
		"perf-script-tools.txt.gz":    {8472, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := shared(t, name)
			c := openTest(t, path, Options{})
			got := count(t, c)
			lines, stacks, frames := countPerf(t, path)
			if got.events != lines || got.frames != frames || want.samples != 0 && want.samples != got.events || want.frames != 0 && want.frames != got.frames {
				t.Errorf("%d samples, %d frames; the text has %d and %d", got.events, got.frames, lines, frames)
			}
			if n := uniqueSamples(t, path); n != stacks {
				t.Errorf("%d different call chains, the text has %d", n, stacks)
			}
			t.Logf("%d samples, %d kernel stacks, %d user stacks, %d unique (text: %d)", got.events, got.kernel, got.user, len(got.unique), stacks)
			folded := fold(t, path)
			f, err := OpenReader(bytes.NewReader(folded), "folded", Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.Info().Format != FormatFolded {
				t.Fatalf("detected as %s", f.Info().Format)
			}
			fc := count(t, f)
			if uniq := bytes.Count(folded, []byte("\n")); fc.events != foldedWeight(folded) || len(fc.unique) != uniq {
				t.Errorf("folded: %d samples, %d unique; want %d, %d", fc.events, len(fc.unique), foldedWeight(folded), uniq)
			}
		})
	}
}

// uniqueSamples counts different pairs of kernel and user stack.
func uniqueSamples(t *testing.T, path string) int {
	t.Helper()
	c := openTest(t, path, Options{})
	seen := map[string]bool{}
	var r record.Record
	var key []byte
	for {
		err := c.Next(&r)
		if (err != nil || r.Kind == record.Event) && len(key) > 0 {
			seen[string(key)] = true
			key = key[:0]
		}
		if errors.Is(err, io.EOF) {
			return len(seen)
		} else if err != nil {
			t.Fatal(err)
		}
		for _, addr := range r.Stack {
			key = fmt.Appendf(key, "%x ", addr)
		}
	}
}

// countPerf counts samples, different stacks and frames of perf text the slow way.
func countPerf(t *testing.T, path string) (samples uint64, stacks int, frames uint64) {
	t.Helper()
	seen := map[string]bool{}
	for _, sample := range bytes.Split(readGzip(t, path), []byte("\n\n")) {
		_, stack, ok := bytes.Cut(bytes.TrimLeft(sample, "\n"), []byte("\n"))
		if len(bytes.TrimSpace(sample)) == 0 {
			continue
		}
		samples++
		if ok {
			frames += uint64(bytes.Count(stack, []byte("\n")) + 1)
			seen[string(stack)] = true
		}
	}
	return samples, len(seen), frames
}

// fold collapses perf text like stackcollapse-perf.pl: comm;outermost;…;innermost count.
func fold(t *testing.T, path string) []byte {
	t.Helper()
	counts := map[string]int{}
	for _, sample := range bytes.Split(readGzip(t, path), []byte("\n\n")) {
		lines := bytes.Split(bytes.Trim(sample, "\n"), []byte("\n"))
		comm, _, ok := bytes.Cut(lines[0], []byte(" "))
		if !ok || len(lines) == 1 {
			continue
		}
		names := []string{string(comm)}
		for _, frame := range slices.Backward(lines[1:]) {
			_, symbol, _ := bytes.Cut(bytes.TrimLeft(frame, "\t "), []byte(" "))
			symbol = symbol[:bytes.LastIndex(symbol, []byte(" ("))]
			if i := bytes.LastIndex(symbol, []byte("+0x")); i >= 0 {
				symbol = symbol[:i]
			}
			names = append(names, string(bytes.ReplaceAll(symbol, []byte(";"), []byte(":"))))
		}
		var line []byte
		for i, n := range names {
			if i > 0 {
				line = append(line, ';')
			}
			line = append(line, n...)
		}
		counts[string(line)]++
	}
	var out []byte
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		out = fmt.Appendf(out, "%s %d\n", k, counts[k])
	}
	return out
}

func foldedWeight(folded []byte) (n uint64) {
	for line := range bytes.Lines(folded) {
		_, w, _ := splitFolded(bytes.TrimRight(line, "\n"))
		n += w
	}
	return n
}

func readGzip(t *testing.T, path string) []byte {
	t.Helper()
	text, err := readAll(&files{os.DirFS(filepath.Dir(path)), budget.New(budget.Default)}, filepath.Base(path), path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTextOfEvents compares the sizes of rebuilt records of all kinds of events with
// those on the pages. The formats are the kernel's.
func TestTextOfEvents(t *testing.T) {
	for _, kernel := range []string{"debian", "full"} {
		names, err := filepath.Glob(oracle(t, kernel, "events/ev_*/trace.txt*"))
		if err != nil || len(names) < 10 {
			t.Fatal(names, err)
		}
		var pages, text uint64
		for _, name := range names {
			a := count(t, openTest(t, filepath.Dir(name), Options{}))
			if a.events == 0 {
				continue // nothing in an empty trace tells its format
			}
			b := count(t, openTest(t, name, Options{}))
			if a.events != b.events || a.kernel != b.kernel || a.user != b.user {
				t.Errorf("%s: pages have %d events and %d+%d stacks, text %d and %d+%d", name, a.events, a.kernel, a.user, b.events, b.kernel, b.user)
			}
			pages += a.eventBytes
			text += b.eventBytes
		}
		if diff := float64(pages) - float64(text); diff > 0.005*float64(pages) || -diff > 0.005*float64(pages) {
			t.Errorf("%s: %d bytes on pages, %d from text", kernel, pages, text)
		}
		t.Logf("%s: %d bytes on pages, %d from text", kernel, pages, text)
	}
}

// TestAllFolders reads every capture folder of the oracle that has its formats.
func TestAllFolders(t *testing.T) {
	withoutFormats := map[string]bool{ // types made at run time, not kept with the capture
		"full/dynamic_hist_misc/fprobes": true, "full/events/trace_events_sample": true,
	}
	root, n := oracle(t), 0
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		base := filepath.Base(name)
		if err != nil || base != "cpu0.raw" && base != "cpu0.raw.gz" {
			return err
		}
		dir := filepath.Dir(name)
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		c, err := Open(dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", rel, err)
			return nil
		}
		defer c.Close()
		if _, err := tally(c); err != nil && !withoutFormats[filepath.ToSlash(rel)] {
			t.Errorf("%s: %v", rel, err)
		}
		n++
		return nil
	})
	if err != nil || n < 100 {
		t.Errorf("%d folders, %v", n, err)
	}
}

// TestLossyPipe reads trace_pipe text with lost events.
func TestLossyPipe(t *testing.T) {
	for _, kernel := range []string{"debian", "full"} {
		c := openTest(t, oracle(t, kernel, "events/trace_pipe_lossy.txt.gz"), Options{})
		got := count(t, c)
		if got.lost == 0 || c.Info().Lost == 0 || got.events < 100 {
			t.Errorf("%s: %d events, %d gaps, %d lost", kernel, got.events, got.lost, c.Info().Lost)
		}
	}
}
