package output_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ftracelab/tracer/output"
)

// settingOf reads the setting off a file's name: trace.txt, trace.percpu0.txt,
// trace.raw.txt, trace.noirq-info.txt, trace.proc+abstime.txt.
func settingOf(name string) (s setting, ok bool) {
	s = setting{options: map[string]bool{}, cpu: -1}
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".txt"), ".head")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "trace"), ".")
	if name == "" || name == "head2000" {
		return s, true
	}
	if n, found := strings.CutPrefix(name, "percpu"); found {
		cpu, err := strconv.Atoi(n)
		s.cpu = cpu
		return s, err == nil
	}
	for _, o := range strings.Split(name, "+") {
		value := true
		if known(o) == "" {
			o, value = strings.TrimPrefix(o, "no"), false
		}
		if o = known(o); o == "" {
			return s, false
		}
		s.options[o] = value
	}
	return s, true
}

// known is the full name of an option that this package implements.
func known(name string) string {
	switch {
	case output.OptionByName(name) != 0 || graphOption(name) != 0:
		return name
	case graphOption("funcgraph-"+name) != 0:
		return "funcgraph-" + name
	}
	return ""
}

var (
	latencyHead = regexp.MustCompile(`# latency: .*, CPU#(\d+) \|`)
	latencyTime = regexp.MustCompile(`^.{8}-\d+ +\d+.{5} +(\d+)(us.: |: )`)
	taskColumn  = regexp.MustCompile(`(?m)^ *(\S.*)-(\d+) +\[\d+\] `)
	verboseTime = regexp.MustCompile(`^ *\S.* \[[0-9a-f]+\] (\d+)\.(\d\d\d)ms `)
)

// learnTimeStart finds a time of the buffer's reset that is consistent with the
// times since then in a text of the latency format, which no file tells.
func (c *capture) learnTimeStart(want []byte, cfg output.Config, cpu int) uint64 {
	var times []uint64
	for _, line := range bytes.Split(want, []byte("\n")) {
		if m := latencyTime.FindSubmatch(line); m != nil {
			n, _ := strconv.ParseUint(string(m[1]), 10, 64)
			times = append(times, n)
		} else if m := verboseTime.FindSubmatch(line); m != nil {
			ms, _ := strconv.ParseUint(string(m[1]), 10, 64)
			us, _ := strconv.ParseUint(string(m[2]), 10, 64)
			times = append(times, ms*1000+us)
		}
	}
	m, err := c.merge(cpu)
	if err != nil {
		return 0
	}
	low, high := uint64(0), ^uint64(0)
	for _, t := range times {
		e, _, ok := m.Next()
		for ok && cfg.Tracer == "function_graph" && e.Data[0] != 4 {
			e, _, ok = m.Next() // of a call graph only stacks have this form
		}
		if !ok {
			break
		}
		if cfg.CounterClock {
			return e.Time - t
		}
		if e.Time < t*1000 {
			break
		}
		low, high = max(low, e.Time-min(e.Time, t*1000+499)), min(high, e.Time-t*1000+500)
	}
	if low > high {
		return low
	}
	return low + (high-low)/2
}

// Pointers are printed as marks and then replaced by what the kernel printed for
// them, because its hash has a secret key: 16 digits, or (____ptrval____) while
// there is no key. Each pointer must have been printed the same everywhere.
type pointers struct {
	asked []uint64
	index map[uint64]int
	text  map[int]string // by index
}

const pointerMark = "feed0000"

// hash is the Config.HashPtr that prints marks.
func (p *pointers) hash(ptr uint64) uint64 {
	i, ok := p.index[ptr]
	if !ok {
		i = len(p.asked)
		p.index[ptr] = i
		p.asked = append(p.asked, ptr)
	}
	return 0xfeed0000_00000000 | uint64(i)
}

var pointerText = regexp.MustCompile(`^([0-9a-f]{16}|\(____ptrval____\))`)

// replace puts into got, in place of each mark, the text of its pointer. That is
// what stands in the same columns of want where the pointer is first seen.
func (p *pointers) replace(got, want []byte) {
	for _, w := range bytes.Split(want, []byte("\n")) {
		end := bytes.IndexByte(got, '\n')
		if end < 0 {
			end = len(got)
		}
		line := got[:end]
		got = got[min(end+1, len(got)):]
		for at := 0; ; at += 16 {
			n := bytes.Index(line[min(at, len(line)):], []byte(pointerMark))
			if n < 0 {
				break
			}
			if at += n; at+16 > len(line) {
				break
			}
			id, err := strconv.ParseUint(string(line[at+8:at+16]), 16, 32)
			if err != nil || int(id) >= len(p.asked) {
				continue
			}
			if _, known := p.text[int(id)]; !known && at+16 <= len(w) {
				p.text[int(id)] = string(pointerText.Find(w[at : at+16]))
			}
			copy(line[at:at+16], p.text[int(id)])
		}
	}
}

// compare prints the capture as the file's name says and returns the first
// difference, "" if there is none.
func (c *capture) compare(file string, s setting) (string, error) {
	want, err := readFile(file)
	if err != nil {
		return "", err
	}
	cfg := c.config(s)
	if cfg.Options&output.LatencyFormat != 0 {
		cfg.TimeStart = c.learnTimeStart(want, cfg, s.cpu)
	}
	if c.nameless { // an instance: the names are in the top one's file, which was not kept
		for _, m := range taskColumn.FindAllSubmatch(want, -1) {
			pid, _ := strconv.Atoi(string(m[2]))
			c.comms[int32(pid)] = string(m[1])
		}
	}
	if m := latencyHead.FindSubmatch(want); m != nil {
		cfg.Latency.CPU, _ = strconv.Atoi(string(m[1]))
	}
	if cfg.Options&output.BlkClassic != 0 {
		cfg.Options &^= output.ContextInfo
	}
	ptrs := &pointers{index: map[uint64]int{}, text: map[int]string{}}
	cfg.HashPtr = ptrs.hash
	got, err := c.print(cfg, s.cpu)
	if err != nil {
		return "", err
	}
	ptrs.replace(got, want)
	if strings.Contains(file, ".head") || len(want) > 20<<20 || bytes.Count(want, []byte("\n")) == 250000 {
		got = got[:min(len(got), len(want))] // only the beginning was kept
	}
	return firstDifference(got, want), nil
}

// files lists the texts of a capture that can be compared.
func (c *capture) files() []string {
	var list []string
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "trace.") || !strings.Contains(e.Name(), ".txt") {
			continue
		}
		list = append(list, filepath.Join(c.dir, e.Name()))
	}
	return list
}

// TestOracle compares the text of every capture, in every form the oracle has.
// testdata/different.txt lists those that are known to differ, with reasons;
// the list is exact.
func TestOracle(t *testing.T) {
	root := oracle(t)
	different := readDifferent(t)
	kernels := map[string]*kernel{}
	var same, differ, skipped int
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(d.Name(), "cpu0.raw") {
			return err
		}
		dir := filepath.Dir(path)
		rel, _ := filepath.Rel(root, dir)
		if only := os.Getenv("FTRACELAB_CAPTURE"); !strings.Contains(rel, only) {
			return nil
		}
		if strings.HasPrefix(rel, "full/latency") {
			return nil // text of the max buffer, raw pages of the live one
		}
		base := filepath.Join(root, strings.Split(rel, "/")[0])
		if strings.HasPrefix(rel, "stackmap") {
			base = filepath.Join(base, strings.Split(rel, "/")[1])
		}
		if kernels[base] == nil {
			if kernels[base], err = loadKernel(base); err != nil {
				return err
			}
		}
		c, err := loadCapture(dir, kernels[base])
		if err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		for _, file := range c.files() {
			name := rel + "/" + filepath.Base(file)
			s, ok := settingOf(filepath.Base(file))
			if !ok {
				skipped++
				t.Logf("skipped   %s", name)
				continue
			}
			diff, err := c.compare(file, s)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			reason, listed := different[name]
			delete(different, name)
			switch {
			case diff == "":
				same++
				if listed {
					t.Errorf("%s is listed as different (%s) but is identical", name, reason)
				}
			default:
				differ++
				if listed {
					t.Logf("different %s: %s", name, reason)
				} else {
					t.Errorf("different %s: %s", name, diff)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d identical, %d different, %d skipped", same, differ, skipped)
	if os.Getenv("FTRACELAB_CAPTURE") != "" {
		return
	}
	for name := range different {
		t.Errorf("%s is listed as different but was not compared", name)
	}
}

// readDifferent reads testdata/different.txt: lines "reason:" and, indented,
// the files.
func readDifferent(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/different.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	reason := ""
	for _, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t"):
			list[strings.TrimSpace(line)] = reason
		default:
			reason = strings.TrimSuffix(line, ":")
		}
	}
	return list
}

// selected is a capture of the selection in testdata.
func selected(t testing.TB, name string) *capture {
	t.Helper()
	dir := filepath.Join("testdata", name)
	k, err := loadKernel(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadCapture(dir, k)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSelection compares the captures in testdata, all forms that are there.
func TestSelection(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/state.txt")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no captures in testdata (%v)", err)
	}
	for _, state := range dirs {
		c := selected(t, filepath.Base(filepath.Dir(state)))
		for _, file := range c.files() {
			s, ok := settingOf(filepath.Base(file))
			if !ok {
				t.Errorf("%s: no such option", file)
				continue
			}
			diff, err := c.compare(file, s)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if diff != "" {
				t.Errorf("%s: %s", file, diff)
			}
		}
	}
}
