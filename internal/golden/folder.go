package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ftracelab/capture"
	"ftracelab/tracer/output"
)

// folder is a capture folder with files added or replaced.
type folder struct {
	dir   string
	added map[string][]byte
	links map[string]string // the path of the file that has this name; "": there is no such file
}

// Folder gives the capture folder of a text in the form that our programs read. That is
// the folder itself, unless something has to be added that the oracle keeps in other
// places or that only the text tells. kernel is the folder with the static files of the
// capture's kernel.
func (t *Text) Folder(tb testing.TB, kernel string) string {
	tb.Helper()
	dir, err := t.prepare(capture.Options{Kernel: kernel}, tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// prepare makes the folder for a text in scratch, if the capture's is not enough.
func (t *Text) prepare(opt capture.Options, scratch string) (string, error) {
	f := folder{filepath.Dir(t.File), map[string][]byte{}, map[string]string{}}
	err := errors.Join(f.pages(t), f.moduleSymbols(), f.formats(), f.names(t), f.key(t), f.moment(t, opt))
	if err != nil {
		return "", err
	}
	if t.hasFiles() {
		if _, err := os.Stat(filepath.Join(f.dir, "trace_options")); err != nil {
			t.Options = append(t.Options, "sym-userobj")
			t.Facts = append(t.Facts, "that sym-userobj was set")
		}
	} else if len(f.added)+len(f.links) == 0 {
		return f.dir, nil
	}
	return f.write(scratch)
}

// pages takes the pages of a text that shows another buffer than the folder's own.
// Everything that the folder tells about its own buffer is left out.
func (f *folder) pages(t *Text) error {
	if t.Pages == "" {
		return nil
	}
	entries, err := os.ReadDir(f.dir)
	for _, e := range entries {
		switch name, of := strings.CutPrefix(e.Name(), t.Pages); {
		case of && strings.HasSuffix(name, ".raw"):
			f.links[name] = e.Name()
		case strings.HasPrefix(e.Name(), "stats."):
			f.links[e.Name()] = ""
		}
	}
	for cpu := range max(0, t.CPU) { // the text of a CPU was read, then its pages, then those of the next CPU
		delete(f.links, fmt.Sprintf("stats.cpu%d", cpu))
		f.added[fmt.Sprintf("stats.cpu%d", cpu)] = []byte("entries: 0\noverrun: 0\n")
		t.Facts = append(t.Facts, fmt.Sprintf("CPU %d had been read before", cpu))
	}
	return err
}

// moduleSymbols finds the symbols of modules that were loaded for a capture.
func (f *folder) moduleSymbols() error {
	for _, dir := range []string{f.dir, filepath.Dir(f.dir)} {
		for _, name := range []string{"kallsyms.module", "kallsyms.deepst.txt"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				f.added["kallsyms.modules.txt"] = text
			}
			if err == nil || !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

var formatHead = regexp.MustCompile(`(?m)^=+ (events/.*)\n`)

// formats splits formats.txt, in which a line "=== events/SYSTEM/NAME/format" stands
// before each format.
func (f *folder) formats() error {
	text, err := os.ReadFile(filepath.Join(f.dir, "formats.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	heads := formatHead.FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		name := strings.TrimSuffix(strings.TrimSuffix(string(text[h[2]:h[3]]), "/"), "/format")
		f.added[name+"/format"] = text[h[1]:end]
	}
	return err
}

var taskColumn = regexp.MustCompile(`(?m)^ *(\S.*)-(\d+) +\[\d+\] `)

// names adds saved_cmdlines if it was not kept, as for an instance, whose names are in
// the file of the top one.
func (f *folder) names(t *Text) error {
	saved, err := os.ReadFile(filepath.Join(f.dir, "saved_cmdlines"))
	if len(bytes.TrimSpace(saved)) > 0 {
		return err
	}
	var list []byte
	for _, m := range taskColumn.FindAllSubmatch(t.Content, -1) {
		if pid, comm := m[2], m[1]; string(pid) != "0" && string(comm) != "<...>" {
			list = fmt.Appendf(list, "%s %s\n", pid, comm)
		}
	}
	if list != nil {
		f.added["saved_cmdlines"] = list
		t.Facts = append(t.Facts, "task names")
	}
	return nil
}

// key notes that the kernel had no key for the hash of pointers yet.
func (f *folder) key(t *Text) error {
	if !bytes.Contains(t.Content, []byte("(____ptrval____)")) {
		return nil
	}
	t.Facts = append(t.Facts, "no key for %p yet")
	return f.state("ptr_key: none")
}

// state adds a line to state.txt.
func (f *folder) state(line string) error {
	const name = "state.txt"
	state, ok := f.added[name]
	if !ok {
		var err error
		state, err = os.ReadFile(filepath.Join(f.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f.added[name] = fmt.Appendf(state, "\n%s\n", line)
	return nil
}

var latencyHead = regexp.MustCompile(`# latency: .*, CPU#(\d+) \|`)

// moment adds to state.txt what a text of the latency format tells, unless it is there
// already.
func (f *folder) moment(t *Text, opt capture.Options) error {
	if state, err := os.ReadFile(filepath.Join(f.dir, "state.txt")); err == nil && bytes.Contains(state, []byte("\ntime_start: ")) {
		return nil
	}
	options, _ := os.ReadFile(filepath.Join(f.dir, "trace_options"))
	if !slices.Contains(append(slices.Clone(t.Options), strings.Fields(string(options))...), "latency-format") {
		return nil
	}
	c, err := t.open(f.dir, opt)
	if err != nil {
		return err
	}
	defer c.Close()
	cfg := c.Config()
	if cfg.Options&output.LatencyFormat == 0 {
		return nil
	}
	m, err := c.Merge(t.CPU)
	if err != nil {
		return err
	}
	if m := latencyHead.FindSubmatch(t.Content); m != nil && string(m[1]) != "0" {
		t.Facts = append(t.Facts, "the CPU in the header")
		if err := f.state("latency_cpu: " + string(m[1])); err != nil {
			return err
		}
	}
	start, ok := timeStart(m, cfg, t.Content)
	if !ok {
		return nil
	}
	t.Facts = append(t.Facts, "when the buffer was reset")
	return f.state(fmt.Sprintf("time_start: %d", start))
}

var (
	latencyTime = regexp.MustCompile(`^.{8}-\d+ +\d+.{5} +(\d+)(us.: |: )`)
	verboseTime = regexp.MustCompile(`^ *\S.* \[[0-9a-f]+\] (\d+)\.(\d\d\d)ms `)
)

// timeStart finds a time for the buffer's reset that agrees with the times in a text of
// the latency format, which count from the reset; ok is false if the text has no times.
func timeStart(m *output.Merge, cfg output.Config, text []byte) (start uint64, ok bool) {
	const stack = 4 // the id of kernel_stack
	low, high := uint64(0), ^uint64(0)
	for line := range bytes.Lines(text) {
		var us uint64
		if m := latencyTime.FindSubmatch(line); m != nil {
			us, _ = strconv.ParseUint(string(m[1]), 10, 64)
		} else if m := verboseTime.FindSubmatch(line); m != nil {
			us, _ = strconv.ParseUint(string(m[1])+string(m[2]), 10, 64)
		} else {
			continue
		}
		e, _, ok := m.Next()
		for ok && cfg.Tracer == "function_graph" && e.Data[0] != stack {
			e, _, ok = m.Next() // in a call graph, only stacks have this form
		}
		if !ok {
			break
		}
		if cfg.CounterClock {
			return e.Time - us, true
		}
		if e.Time < us*1000 {
			break
		}
		low, high = max(low, e.Time-min(e.Time, us*1000+499)), min(high, e.Time-us*1000+500)
	}
	if high == ^uint64(0) {
		return 0, false
	}
	return low + (max(low, high)-low)/2, true
}

// ownEvents reports whether the formats are in formats.txt. It then has all of them.
func (f *folder) ownEvents() bool {
	for name := range f.added {
		if strings.HasPrefix(name, "events/") {
			return true
		}
	}
	return false
}

// write makes the folder in dir. Files that are not replaced become links.
func (f *folder) write(dir string) (string, error) {
	abs, err := filepath.Abs(f.dir)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		_, replaced := f.added[e.Name()]
		if _, linked := f.links[e.Name()]; linked {
			replaced = true
		}
		if !replaced && (e.Name() != "events" || !f.ownEvents()) {
			if err := os.Symlink(filepath.Join(abs, e.Name()), filepath.Join(dir, e.Name())); err != nil {
				return "", err
			}
		}
	}
	for name, target := range f.links {
		if target == "" {
			continue
		}
		if err := os.Symlink(filepath.Join(abs, target), filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	if near := filepath.Join(filepath.Dir(abs), "kallsyms.modules.txt"); f.added["kallsyms.modules.txt"] == nil {
		if text, err := os.ReadFile(near); err == nil {
			f.added["kallsyms.modules.txt"] = text
		}
	}
	for name, text := range f.added {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			return "", err
		}
	}
	return dir, nil
}
