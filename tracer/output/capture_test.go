package output_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"ftracelab/fgraph"
	"ftracelab/tracer/event"
	"ftracelab/tracer/output"
)

// readFile reads path, or path.gz unpacked.
func readFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && !strings.HasSuffix(path, ".gz") {
		return b, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		b, err = os.ReadFile(path + ".gz")
	}
	if err != nil {
		return nil, err
	}
	zr, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zr)
}

// symbols is a kallsyms file.
type symbols struct {
	syms []symbol
}

type symbol struct {
	addr         uint64
	name, module string
}

func (k *symbols) add(text []byte) {
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 3 {
			continue
		}
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			continue
		}
		s := symbol{addr: addr, name: f[2]}
		if len(f) > 3 {
			s.module = strings.Trim(f[3], "[]")
		}
		k.syms = append(k.syms, s)
	}
	sort.SliceStable(k.syms, func(i, j int) bool { return k.syms[i].addr < k.syms[j].addr })
}

func (k *symbols) byName(name string) uint64 {
	for _, s := range k.syms {
		if s.name == name {
			return s.addr
		}
	}
	return 0
}

// modules begin here.
const moduleStart = 0xffffffffa0000000

// Lookup finds the first of the symbols at the highest address not above addr.
func (k *symbols) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	i := sort.Search(len(k.syms), func(i int) bool { return k.syms[i].addr > addr })
	if i == 0 || addr < 0xffffffff81000000 {
		return "", "", 0, 0, false
	}
	next := addr + 1
	if i < len(k.syms) {
		next = k.syms[i].addr
	}
	i--
	for i > 0 && k.syms[i-1].addr == k.syms[i].addr {
		i--
	}
	s := k.syms[i]
	if addr >= moduleStart && (s.module == "" || addr-s.addr > 0x1000) {
		return "", "", 0, 0, false // between modules, or in one's freed init section
	}
	return s.name, s.module, addr - s.addr, next - s.addr, true
}

// kernel is what all captures of one kernel share.
type kernel struct {
	syms  symbols
	types []*event.Type
	// release and model are for the header of the latency format.
	release, model string
}

func loadKernel(dir string) (*kernel, error) {
	k := &kernel{release: "6.12.117-oracle", model: "preempt"}
	if _, err := os.Stat(filepath.Join(dir, "debian")); err == nil || strings.Contains(dir, "debian") {
		k.release, k.model = "6.12.117+deb12-amd64", "desktop"
	}
	text, err := readFile(filepath.Join(dir, "static", "kallsyms.txt"))
	if err != nil {
		return nil, err
	}
	k.syms.add(text)
	formats, err := readFile(filepath.Join(dir, "static", "formats_all.txt"))
	if err != nil {
		return nil, err
	}
	k.types, err = parseFormats(formats, "==== ")
	return k, err
}

// parseFormats reads several format files, each after a line with rule and its path.
func parseFormats(text []byte, rule string) (types []*event.Type, err error) {
	for _, part := range bytes.Split(text, []byte(rule))[1:] {
		head, body, _ := bytes.Cut(part, []byte("\n"))
		path := strings.TrimSuffix(strings.TrimSuffix(string(head), "/"), "/format")
		t, err := event.ParseFormat(filepath.Base(filepath.Dir(path)), body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", head, err)
		}
		types = append(types, t)
	}
	return types, nil
}

// capture is one folder of the oracle.
type capture struct {
	dir     string
	k       *kernel
	syms    *symbols
	state   map[string]string
	options map[string]bool
	comms   map[int32]string
	tgids   map[int32]int32
	strings map[uint64]string
	types   *event.Table
	raw     [][]byte
	counts  output.Counts
	overrun bool
	// nameless: the capture has no names of tasks.
	nameless bool
	probed   map[string]string // eprobe's name → SYSTEM.EVENT
}

func loadCapture(dir string, k *kernel) (*capture, error) {
	c := &capture{
		dir: dir, k: k, syms: &k.syms,
		state: map[string]string{}, options: map[string]bool{},
		comms: map[int32]string{}, tgids: map[int32]int32{}, strings: map[uint64]string{},
	}
	c.loadState()
	c.loadTasks()
	c.loadSymbols()
	if err := c.loadTypes(); err != nil {
		return nil, err
	}
	if len(c.options) == 0 {
		for i, o := range output.OptionNames() {
			c.options[o] = output.DefaultOptions>>i&1 != 0
		}
	}
	for cpu := 0; ; cpu++ {
		raw, err := readFile(filepath.Join(dir, fmt.Sprintf("cpu%d.raw", cpu)))
		if err != nil {
			break
		}
		c.raw = append(c.raw, raw)
		stats, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("stats.cpu%d", cpu)))
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(stats), "\n") {
			name, value, _ := strings.Cut(line, ":")
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			switch name {
			case "entries":
				c.counts.Entries += n
				c.counts.Written += n
			case "overrun":
				c.counts.Written += n
				c.overrun = c.overrun || n > 0
			}
		}
	}
	if len(c.raw) == 0 {
		return nil, fs.ErrNotExist
	}
	return c, nil
}

func (c *capture) loadState() {
	text, _ := os.ReadFile(filepath.Join(c.dir, "state.txt"))
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			c.state[name] = strings.TrimSpace(value)
		}
	}
	if c.state["current_tracer"] == "" {
		c.state["current_tracer"] = "nop"
	}
	text, _ = os.ReadFile(filepath.Join(c.dir, "trace_options"))
	for _, o := range strings.Fields(string(text)) {
		c.options[strings.TrimPrefix(o, "no")] = !strings.HasPrefix(o, "no")
	}
}

func (c *capture) loadTasks() {
	text, _ := os.ReadFile(filepath.Join(c.dir, "saved_cmdlines"))
	for _, line := range strings.Split(string(text), "\n") {
		if pid, comm, ok := strings.Cut(line, " "); ok {
			n, _ := strconv.Atoi(pid)
			c.comms[int32(n)] = comm
		}
	}
	c.nameless = len(c.comms) == 0
	c.probed = map[string]string{}
	text, _ = os.ReadFile(filepath.Join(c.dir, "dynamic_events"))
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "e:") {
			c.probed[filepath.Base(f[0])] = strings.ReplaceAll(f[1], "/", ".")
		}
	}
	text, _ = os.ReadFile(filepath.Join(c.dir, "saved_tgids"))
	for _, line := range strings.Split(string(text), "\n") {
		if pid, tgid, ok := strings.Cut(line, " "); ok {
			n, _ := strconv.Atoi(pid)
			m, _ := strconv.Atoi(strings.TrimSpace(tgid))
			c.tgids[int32(n)] = int32(m)
		}
	}
	text, _ = os.ReadFile(filepath.Join(c.dir, "printk_formats"))
	for _, line := range strings.Split(string(text), "\n") {
		addr, s, ok := strings.Cut(line, " : ")
		n, err := strconv.ParseUint(strings.TrimPrefix(addr, "0x"), 16, 64)
		if ok && err == nil {
			if s, err = strconv.Unquote(s); err == nil {
				c.strings[n] = s
			}
		}
	}
}

// loadSymbols replaces the modules of the kernel's kallsyms by those of the boot.
func (c *capture) loadSymbols() {
	for _, dir := range []string{c.dir, filepath.Dir(c.dir)} {
		for _, name := range []string{"kallsyms.modules.txt", "kallsyms.module", "kallsyms.deepst.txt"} {
			text, err := readFile(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			own := &symbols{}
			for _, s := range c.k.syms.syms {
				if s.module == "" {
					own.syms = append(own.syms, s)
				}
			}
			own.add(text)
			c.syms = own
			return
		}
	}
}

// loadTypes adds the capture's own events to the kernel's.
func (c *capture) loadTypes() error {
	var own []*event.Type
	taken := map[int]bool{}
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || (d.Name() != "format" && !strings.HasSuffix(d.Name(), ".format")) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		system := filepath.Base(filepath.Dir(filepath.Dir(path)))
		t, err := event.ParseFormat(system, text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		own = append(own, t)
		return nil
	})
	if err != nil {
		return err
	}
	if text, err := os.ReadFile(filepath.Join(c.dir, "formats.txt")); err == nil {
		more, err := parseFormats(bytes.ReplaceAll(text, []byte("==== "), []byte("== ")), "== ")
		if err != nil {
			return err
		}
		own = append(own, more...)
	}
	all := own
	own = nil
	for _, t := range all {
		if !taken[t.ID] { // some are in both places
			own = append(own, t)
			taken[t.ID] = true
		}
	}
	for _, t := range c.k.types {
		if !taken[t.ID] {
			own = append(own, t)
		}
	}
	c.types, err = event.NewTable(own...)
	return err
}

// graphOption finds an option of the call graph by name.
func graphOption(name string) fgraph.Options {
	switch name {
	case "funcgraph-overrun":
		return fgraph.Overrun
	case "funcgraph-cpu":
		return fgraph.ShowCPU
	case "funcgraph-overhead":
		return fgraph.Overhead
	case "funcgraph-proc":
		return fgraph.Proc
	case "funcgraph-duration":
		return fgraph.Duration
	case "funcgraph-abstime":
		return fgraph.AbsTime
	case "funcgraph-irqs":
		return fgraph.IRQs
	case "funcgraph-tail":
		return fgraph.Tail
	case "funcgraph-retval":
		return fgraph.Retval
	case "funcgraph-retval-hex":
		return fgraph.RetvalHex
	}
	return 0
}

// setting is one rendering of a capture.
type setting struct {
	options map[string]bool // differences from trace_options
	cpu     int             // -1: all
}

// config makes the printer's configuration for a setting.
func (c *capture) config(s setting) output.Config {
	cfg := output.Config{
		Tracer: c.state["current_tracer"], Types: c.types, Symbols: c.syms,
		Comm: func(pid int32) string { return c.comms[pid] },
		TGID: func(pid int32) int32 { return c.tgids[pid] },
		String: func(addr uint64) (string, bool) {
			s, ok := c.strings[addr]
			return s, ok
		},
		ProbedEvent: func(t *event.Type) string { return c.probed[t.Name] },
		CPUs:        2, Overrun: c.overrun,
		Latency:  output.Latency{Release: c.k.release, Model: c.k.model},
		IRQStart: c.k.syms.byName("__irqentry_text_start"),
		IRQEnd:   c.k.syms.byName("__irqentry_text_end"),
	}
	on := map[string]bool{}
	for o, v := range c.options {
		on[o] = v
	}
	for o, v := range s.options {
		on[o] = v
	}
	graph := false
	for o, v := range on {
		graph = graph || graphOption(o) != 0
		if v {
			cfg.Options |= output.OptionByName(o)
			cfg.Graph |= graphOption(o)
		}
	}
	if !graph {
		cfg.Graph = fgraph.DefaultOptions
	}
	clocks := c.state["trace_clock"]
	if i := strings.IndexByte(clocks, '['); i >= 0 {
		clock, _, _ := strings.Cut(clocks[i+1:], "]")
		cfg.CounterClock = slices.Contains([]string{"counter", "uptime", "x86-tsc"}, clock)
	}
	return cfg
}

// inPlace reads pages as the trace file does: it does not consume, so the losses
// that trace_pipe_raw has noted on the first page are none.
type inPlace struct{ *output.Pages }

func (r inPlace) Next() (output.Entry, bool) {
	e, ok := r.Pages.Next()
	e.Lost = 0
	return e, ok
}

func (c *capture) merge(cpu int) (*output.Merge, error) {
	kb, err := strconv.Atoi(c.state["buffer_subbuf_size_kb"])
	if err != nil {
		kb = 4
	}
	var readers []output.Reader
	for i, raw := range c.raw {
		if cpu >= 0 && i != cpu {
			continue
		}
		p, err := output.NewPages(i, raw, kb*1024)
		if err != nil {
			return nil, err
		}
		readers = append(readers, inPlace{p})
	}
	return output.NewMerge(readers...), nil
}

// print renders the capture; at most limit lines, 0 for all.
func (c *capture) print(cfg output.Config, cpu int) ([]byte, error) {
	p, err := output.New(cfg)
	if err != nil {
		return nil, err
	}
	m, err := c.merge(cpu)
	if err != nil {
		return nil, err
	}
	dst := p.AppendHeader(nil, m, c.counts)
	for more := true; more; {
		dst, more = p.AppendNext(dst, m)
	}
	return dst, nil
}

// firstDifference describes the first line in which got and want differ.
func firstDifference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := 0; i < len(g) || i < len(w); i++ {
		var a, b []byte
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if !bytes.Equal(a, b) || i >= len(g) || i >= len(w) {
			return fmt.Sprintf("line %d of %d/%d:\n  got  %.200q\n  want %.200q", i+1, len(g), len(w), a, b)
		}
	}
	return ""
}

// oracle is the folder of the whole oracle; without it the test is skipped.
func oracle(t *testing.T) string {
	dir := os.Getenv("FTRACELAB_ORACLE")
	if dir == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("FTRACELAB_ORACLE is not set")
		}
		t.Skip("FTRACELAB_ORACLE is not set: only the selection in testdata is compared")
	}
	return dir
}
