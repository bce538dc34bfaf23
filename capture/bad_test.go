package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"ftracelab/budget"
	"ftracelab/tracer/record"
)

// outcome reads a capture to its end.
func outcome(c *Capture, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	defer c.Close()
	var r record.Record
	for {
		if err := c.Next(&r); errors.Is(err, io.EOF) {
			return c.Info(), nil
		} else if err != nil {
			if again := c.Next(&r); again != err {
				return c.Info(), fmt.Errorf("first %w, then %v", err, again)
			}
			return c.Info(), err
		}
	}
}

const (
	goodFtrace = "   wl-1     [000] .....     0.000006: f: a=1\n   wl-1     [000] .....     0.000007: <stack trace>\n => a\n => b\n"
	goodPerf   = "a 1 [001] 1.0: e: \n\t 1000 f (/bin/a)\n\t 2000 g (/bin/a)\n\n"
)

// TestBadText checks what the error says, and what is left with KeepGoing.
func TestBadText(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for name, tt := range map[string]struct {
		text, want string
		events     uint64 // with KeepGoing
	}{
		"ftrace: cut in a frame":      {goodFtrace + strings.TrimSuffix(goodFtrace, "b\n"), "line 8: the text ends inside a stack", 2},
		"ftrace: cut behind a frame":  {strings.TrimSuffix(goodFtrace, "\n"), "line 4: the text ends inside a stack", 1},
		"ftrace: cut before frames":   {strings.TrimSuffix(goodFtrace, " => a\n => b\n"), "line 2: the text ends inside a stack", 1},
		"ftrace: garbage":             {goodFtrace + "garbage here\n" + goodFtrace, "line 5: not a line of trace", 2},
		"ftrace: frame without stack": {goodFtrace[:45] + " => a\n" + goodFtrace, "line 2: a frame without a stack", 2},
		"ftrace: bad time":            {goodFtrace + "   wl-1     [000] .....     x.000006: f: a=1\n", "line 5: not a line of trace: no TIMESTAMP", 1},
		"ftrace: bad cpu":             {goodFtrace + "   wl-1     [99999] .....     0.000006: f: a=1\n", "line 5: an impossible CPU", 1},
		"ftrace: long line":           {goodFtrace + long + "\n" + goodFtrace, "line 5: a line longer than 1 MiB", 2},
		"ftrace: long last line":      {goodFtrace + long, "line 5: a line longer than 1 MiB", 1},
		"perf: cut in a stack":        {goodPerf + strings.TrimSuffix(goodPerf, "\n\n"), "line 7: the text ends inside a stack", 1},
		"perf: no blank line":         {strings.TrimSuffix(goodPerf, "\n"), "line 3: the text ends inside a stack", 0},
		"perf: cut in a header":       {goodPerf + "a 1 [00", "line 5: the text ends inside a line", 1},
		"perf: garbage":               {goodPerf + "garbage\n\n" + goodPerf, "line 5: not a sample of perf script", 2},
		"perf: bad frame":             {goodPerf + "a 1 [001] 1.0: e: \n\t 1000 f (/bin/a)\nxx\n\n" + goodPerf, "line 7: not a frame", 2},
		"perf: long line":             {goodPerf + long + "\n\n" + goodPerf, "longer than 1 MiB", 2},
		"folded: no count":            {"a;b;c 2\na;b;c\na;b 1\n", "line 2: not a folded stack", 3},
		"folded: cut":                 {"a;b;c 2\na;b", "line 2: the text ends inside a line", 2},
		"folded: long line":           {"a;b;c 2\n" + long + " 1\na;b 1\n", "line 2: a line longer than 1 MiB", 3},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := outcome(OpenReader(strings.NewReader(tt.text), "text", Options{}))
			var at *Error
			if !errors.As(err, &at) || at.File != "text" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want …%s…", err, tt.want)
			}
			info, err := outcome(OpenReader(strings.NewReader(tt.text), "text", Options{KeepGoing: true}))
			if err != nil || info.Events != tt.events || info.FirstSkipped == nil || info.SkippedEvents == 0 && info.SkippedBytes == 0 {
				t.Errorf("keep going: %d events, want %d; %+v, %v", info.Events, tt.events, info, err)
			}
		})
	}
}

// endless is a line without an end.
type endless struct{ left int64 }

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), e.left)
	for i := range b[:n] {
		b[i] = 'x'
	}
	e.left -= n
	return int(n), nil
}

// TestHugeLine reads a line of 1 GiB in bounded memory.
func TestHugeLine(t *testing.T) {
	for _, good := range []string{goodFtrace, goodPerf} {
		for _, keep := range []bool{false, true} {
			in := io.MultiReader(strings.NewReader(good), &endless{left: 1 << 30})
			_, err := outcome(OpenReader(in, "text", Options{KeepGoing: keep}))
			if (err == nil) != keep {
				t.Errorf("keep going %v: %v", keep, err)
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.Sys > 256<<20 {
		t.Errorf("%d MiB of memory", m.Sys>>20)
	}
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

func zstded(text string) []byte {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		panic(err)
	}
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// TestCompression reads compressed text, whole and cut off. What comes before the
// damage is the same each time.
func TestCompression(t *testing.T) {
	var text strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&text, "   wl-1     [000] .....     0.%06d: f: a=%d\n", i, i*i)
	}
	for name, packed := range map[string][]byte{"gzip": gzipped(text.String()), "zstd": zstded(text.String())} {
		info, err := outcome(OpenReader(bytes.NewReader(packed), "x", Options{}))
		if err != nil || info.Events != 50000 {
			t.Errorf("%s: %d events, %v", name, info.Events, err)
		}
		cut := packed[:len(packed)/2]
		first, err := outcome(OpenReader(bytes.NewReader(cut), "x", Options{}))
		var at *Error
		if !errors.As(err, &at) || at.Offset <= 0 || first.Events == 0 {
			t.Errorf("%s, cut: %d events, %v", name, first.Events, err)
		}
		for range 5 {
			if again, _ := outcome(OpenReader(bytes.NewReader(cut), "x", Options{})); again.Events != first.Events {
				t.Errorf("%s, cut: %d events, then %d", name, first.Events, again.Events)
			}
		}
		info, err = outcome(OpenReader(bytes.NewReader(cut), "x", Options{KeepGoing: true}))
		if err != nil || info.Events < first.Events || info.FirstSkipped == nil {
			t.Errorf("%s, cut, keep going: %+v, %v", name, info, err)
		}
	}
}

// exampleFS is a copy of the example that may be damaged.
func exampleFS(t testing.TB) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	err := fs.WalkDir(Example(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(Example(), name)
		m[path.Join("cap", name)] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range []string{"cpu0", "cpu1"} {
		raw, err := readAll(&files{m, budget.New(budget.Default)}, "cap/"+cpu+".raw.gz", cpu)
		if err != nil {
			t.Fatal(err)
		}
		delete(m, "cap/"+cpu+".raw.gz")
		m["cap/"+cpu+".raw"] = &fstest.MapFile{Data: raw[:20*defaultSubbuf]}
	}
	return m
}

func TestBadFolder(t *testing.T) {
	for name, tt := range map[string]struct {
		damage func(m fstest.MapFS)
		want   string
	}{
		"no formats":     {func(m fstest.MapFS) { delete(m, "cap/formats_all.txt") }, "cap: no formats_all.txt"},
		"no pages":       {func(m fstest.MapFS) { delete(m, "cap/cpu0.raw"); delete(m, "cap/cpu1.raw") }, "cap: a folder without cpuN.raw"},
		"twice":          {func(m fstest.MapFS) { m["cap/cpu1.raw.gz"] = m["cap/cpu1.raw"] }, "twice"},
		"impossible cpu": {func(m fstest.MapFS) { m["cap/cpu99999.raw"] = m["cap/cpu1.raw"] }, "no such CPU"},
		"cut page":       {func(m fstest.MapFS) { f := m["cap/cpu1.raw"]; f.Data = f.Data[:5000] }, "cap/cpu1.raw: offset 4096: bad page: the file ends 904 bytes"},
		"commit word":    {func(m fstest.MapFS) { m["cap/cpu0.raw"].Data[4096+9] = 0xff }, "cap/cpu0.raw: offset 4096: bad page"},
		"unknown event":  {func(m fstest.MapFS) { m["cap/cpu0.raw"].Data[16+5] = 0x7f }, "no format has the event id"},
		"some formats": {func(m fstest.MapFS) {
			m["cap/events/kmem/mm_page_free/format"] = &fstest.MapFile{Data: []byte("name: mm_page_free\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\nprint fmt: \"\"\n")}
			delete(m, "cap/formats_all.txt")
		}, "--kernel DIR names the folder of its kernel"},
		"stats":       {func(m fstest.MapFS) { m["cap/stats.cpu0"].Data = []byte("entries: x\n") }, "cap/stats.cpu0: line 1"},
		"subbuf size": {func(m fstest.MapFS) { m["cap/state.txt"].Data = []byte("buffer_subbuf_size_kb: 99999999\n") }, "cap/state.txt"},
		"formats":     {func(m fstest.MapFS) { m["cap/formats_all.txt"].Data = []byte("nonsense\n") }, "cap/formats_all.txt: line 1"},
		"gzip":        {func(m fstest.MapFS) { m["cap/cpu0.raw"].Data = gzipped(string(m["cap/cpu0.raw"].Data))[:900] }, "ends early"},
	} {
		t.Run(name, func(t *testing.T) {
			m := exampleFS(t)
			m["cap/cpu0.raw"].Data = slices.Clone(m["cap/cpu0.raw"].Data)
			tt.damage(m)
			_, err := outcome(OpenFS(m, "cap", Options{}))
			var at *Error
			if !errors.As(err, &at) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want …%s…", err, tt.want)
			}
		})
	}
}

// TestFlippedBits reads pages with flipped bits. Nothing panics, and with KeepGoing the
// rest is read.
func TestFlippedBits(t *testing.T) {
	clean := exampleFS(t)
	whole, err := outcome(OpenFS(clean, "cap", Options{}))
	if err != nil {
		t.Fatal(err)
	}
	data := clean["cap/cpu0.raw"].Data
	for i := 0; i < len(data)*8; i += 4999 {
		flipped := slices.Clone(data)
		flipped[i/8] ^= 1 << (i % 8)
		clean["cap/cpu0.raw"].Data = flipped
		if _, err := outcome(OpenFS(clean, "cap", Options{})); err != nil {
			var at *Error
			if !errors.As(err, &at) {
				t.Fatalf("bit %d: %v", i, err)
			}
		}
		info, err := outcome(OpenFS(clean, "cap", Options{KeepGoing: true}))
		if err != nil || info.Entries() < whole.Entries()*9/10 {
			t.Fatalf("bit %d: %d of %d entries, %v", i, info.Entries(), whole.Entries(), err)
		}
	}
}

// TestCloseEarly closes captures that are not read to the end.
func TestCloseEarly(t *testing.T) {
	before := runtime.NumGoroutine()
	text := strings.Repeat(goodPerf, 200000)
	for _, in := range [][]byte{[]byte(text), gzipped(text)} {
		for _, n := range []int{0, 1, 1000} {
			c, err := OpenReader(bytes.NewReader(in), "text", Options{})
			if err != nil {
				t.Fatal(err)
			}
			var r record.Record
			for range n {
				if err := c.Next(&r); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := c.Next(&r); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Next of a closed capture: %v", err)
			}
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before+1 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}
