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

	"ftracelab/tracer/output"
	"ftracelab/workload/capture"
)

// folder is a capture folder with files added or replaced.
type folder struct {
	dir   string
	added map[string][]byte
}

// Folder is the capture folder of a text in the form that our programs read. That
// is the folder itself unless something has to be added that the oracle keeps in
// other places or that only the text tells; kernel is the folder with the static
// files of the capture's kernel.
func (t *Text) Folder(tb testing.TB, kernel string) string {
	tb.Helper()
	f := folder{filepath.Dir(t.File), map[string][]byte{}}
	err := errors.Join(f.moduleSymbols(), f.formats(), f.names(t.Content), f.moment(t, kernel))
	if err != nil {
		tb.Fatal(err)
	}
	if len(f.added) == 0 {
		return f.dir
	}
	dir, err := f.write(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return dir
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

// formats divides formats.txt, where a line "=== events/SYSTEM/NAME/format" stands
// before each.
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

// names adds saved_cmdlines of an instance: they are in the top one's file, which
// was not kept, but also in the text.
func (f *folder) names(text []byte) error {
	saved, err := os.ReadFile(filepath.Join(f.dir, "saved_cmdlines"))
	if len(bytes.TrimSpace(saved)) > 0 {
		return err
	}
	var list []byte
	for _, m := range taskColumn.FindAllSubmatch(text, -1) {
		if pid, comm := m[2], m[1]; string(pid) != "0" && string(comm) != "<...>" {
			list = fmt.Appendf(list, "%s %s\n", pid, comm)
		}
	}
	if list != nil {
		f.added["saved_cmdlines"] = list
	}
	return nil
}

var latencyHead = regexp.MustCompile(`# latency: .*, CPU#(\d+) \|`)

// moment adds to state.txt what a text of the latency format tells.
func (f *folder) moment(t *Text, kernel string) error {
	options, _ := os.ReadFile(filepath.Join(f.dir, "trace_options"))
	if !slices.Contains(append(slices.Clone(t.Options), strings.Fields(string(options))...), "latency-format") {
		return nil
	}
	c, err := capture.OpenTrace(f.dir, capture.Options{Kernel: kernel})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, word := range t.Options {
		if err := c.SetOption(word); err != nil {
			return err
		}
	}
	cfg := c.Config()
	if cfg.Options&output.LatencyFormat == 0 {
		return nil
	}
	m, err := c.Merge(t.CPU)
	if err != nil {
		return err
	}
	state, err := os.ReadFile(filepath.Join(f.dir, "state.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if m := latencyHead.FindSubmatch(t.Content); m != nil {
		state = fmt.Appendf(state, "\nlatency_cpu: %s\n", m[1])
	}
	f.added["state.txt"] = fmt.Appendf(state, "\ntime_start: %d\n", timeStart(m, cfg, t.Content))
	return nil
}

var (
	latencyTime = regexp.MustCompile(`^.{8}-\d+ +\d+.{5} +(\d+)(us.: |: )`)
	verboseTime = regexp.MustCompile(`^ *\S.* \[[0-9a-f]+\] (\d+)\.(\d\d\d)ms `)
)

// timeStart finds a time of the buffer's reset that is consistent with the times
// since then in a text of the latency format.
func timeStart(m *output.Merge, cfg output.Config, text []byte) uint64 {
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
			e, _, ok = m.Next() // of a call graph only stacks have this form
		}
		if !ok {
			break
		}
		if cfg.CounterClock {
			return e.Time - us
		}
		if e.Time < us*1000 {
			break
		}
		low, high = max(low, e.Time-min(e.Time, us*1000+499)), min(high, e.Time-us*1000+500)
	}
	if low > high {
		return low
	}
	return low + (high-low)/2
}

// ownEvents says whether formats.txt has the formats, which then are all there are.
func (f *folder) ownEvents() bool {
	for name := range f.added {
		if strings.HasPrefix(name, "events/") {
			return true
		}
	}
	return false
}

// write makes the folder in dir: what is not replaced is a link.
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
		if !replaced && (e.Name() != "events" || !f.ownEvents()) {
			if err := os.Symlink(filepath.Join(abs, e.Name()), filepath.Join(dir, e.Name())); err != nil {
				return "", err
			}
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
