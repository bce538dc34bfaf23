package event_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"ftracelab/tracer/event"
)

// records walks the sub-buffers of a cpuN.raw and returns the data of every
// event, in order; page is their size in bytes. Package ringbuf is not to be used below it, hence this walk.
func records(tb testing.TB, raw []byte, page int) [][]byte {
	tb.Helper()
	var recs [][]byte
	for ; len(raw) >= page; raw = raw[page:] {
		commit := int(binary.LittleEndian.Uint64(raw[8:]) & 0xfffff)
		if commit > page-16 {
			tb.Fatalf("page with a commit of %d", commit)
		}
		recs = append(recs, pageRecords(raw[16:16+commit])...)
	}
	return recs
}

func pageRecords(b []byte) (recs [][]byte) {
	for len(b) >= 4 {
		head := binary.LittleEndian.Uint32(b)
		typeLen, delta := head&31, head>>5
		switch typeLen {
		case 30, 31: // time extend, time stamp
			b = b[8:]
			continue
		case 29: // padding, or a discarded event
			if delta == 0 || len(b) < 8 {
				return recs
			}
			n := int(binary.LittleEndian.Uint32(b[4:])) + 4
			b = b[min(n, len(b)):]
			continue
		case 0:
			n := int(binary.LittleEndian.Uint32(b[4:]))
			recs = append(recs, b[8:4+n])
			b = b[4+n:]
			continue
		}
		n := int(4 * typeLen)
		recs = append(recs, b[4:4+n])
		b = b[4+n:]
	}
	return recs
}

// entry is one event of a trace text.
type entry struct {
	name, text string
	line       int
}

var lineRE = regexp.MustCompile(`^ *.{1,16}-\d+ +(?:\([ \d-]+\) )?\[(\d+)\] \S+ +[\d.]+: ([a-zA-Z_]\w*):(?: (.*))?$`)

// syscallRE matches the events of the syscalls system: the kernel prints them
// in a way of its own, not by their print fmt.
var syscallRE = regexp.MustCompile(`\d: sys_\w+(\(.*\)| -> 0x[0-9a-f]+)$`)

// entries gives the events of a trace text by CPU. A line that begins no event
// continues the one before.
func entries(text []byte) map[int][]entry {
	byCPU := make(map[int][]entry)
	cpu := -1
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		m := lineRE.FindStringSubmatch(line)
		if m == nil {
			if cpu >= 0 && !syscallRE.MatchString(line) && !strings.HasPrefix(line, " => ") && !strings.Contains(line, "<stack trace>") &&
				!strings.Contains(line, "<user stack trace>") && !strings.HasPrefix(line, "##### CPU") {
				last := &byCPU[cpu][len(byCPU[cpu])-1]
				last.text += "\n" + line
			}
			continue
		}
		cpu, _ = strconv.Atoi(m[1])
		byCPU[cpu] = append(byCPU[cpu], entry{m[2], m[3], i + 1})
	}
	return byCPU
}

// kallsyms is the symbol table of a /proc/kallsyms text.
type kallsyms struct {
	addrs   []uint64
	names   []string
	modules []string
	byName  map[string]uint64
}

func parseKallsyms(tb testing.TB, texts ...[]byte) *kallsyms {
	tb.Helper()
	type symbol struct {
		addr         uint64
		name, module string
	}
	var all []symbol
	for _, text := range texts {
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 3 {
				continue
			}
			addr, err := strconv.ParseUint(f[0], 16, 64)
			if err != nil || addr < 1<<63 {
				continue // per-CPU offsets are no addresses
			}
			s := symbol{addr: addr, name: f[2]}
			if len(f) > 3 {
				s.module = strings.Trim(f[3], "[]")
			}
			all = append(all, s)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].addr < all[j].addr })
	k := &kallsyms{byName: make(map[string]uint64)}
	for _, s := range all {
		k.byName[s.name] = s.addr
		if n := len(k.addrs); n > 0 && k.addrs[n-1] == s.addr {
			continue // of aliases the kernel takes the first
		}
		k.addrs = append(k.addrs, s.addr)
		k.names = append(k.names, s.name)
		k.modules = append(k.modules, s.module)
	}
	return k
}

func (k *kallsyms) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	i := sort.Search(len(k.addrs), func(i int) bool { return k.addrs[i] > addr }) - 1
	if i < 0 || i+1 == len(k.addrs) {
		return "", "", 0, 0, false
	}
	return k.names[i], k.modules[i], addr - k.addrs[i], k.addrs[i+1] - k.addrs[i], true
}

func (k *kallsyms) Address(name string) (uint64, bool) {
	a, ok := k.byName[name]
	return a, ok
}

// hashMark stands for a hashed pointer until the kernel's text shows its value.
const hashMark = 0xfeedfacecafebeef

var hashText = []byte("feedfacecafebeef")

// matchHashed compares got with want, taking over the kernel's hashed pointers
// where got has the mark.
func matchHashed(got, want []byte) bool {
	if len(got) != len(want) {
		return false
	}
	for {
		i := bytes.Index(got, hashText)
		if i < 0 {
			return bytes.Equal(got, want)
		}
		if !bytes.Equal(got[:i], want[:i]) {
			return false
		}
		// Before its random generator is ready a kernel hides pointers altogether.
		w := string(want[i : i+16])
		if _, err := strconv.ParseUint(w, 16, 64); err != nil && w != "(____ptrval____)" {
			return false
		}
		got, want = got[i+16:], want[i+16:]
	}
}

// printkStrings reads a printk_formats file: address and quoted text.
func printkStrings(text []byte) map[uint64]string {
	m := make(map[uint64]string)
	for line := range strings.Lines(string(text)) {
		addr, quoted, ok := strings.Cut(strings.TrimSpace(line), " : ")
		if !ok {
			continue
		}
		a, err := strconv.ParseUint(strings.TrimPrefix(addr, "0x"), 16, 64)
		s, err2 := strconv.Unquote(quoted)
		if err == nil && err2 == nil {
			m[a] = s
		}
	}
	return m
}

// subbufSize is the size of the sub-buffers of a capture, in bytes; a page
// unless its state.txt says otherwise.
func subbufSize(dir string) int {
	state, _ := os.ReadFile(filepath.Join(dir, "state.txt"))
	if m := subbufRE.FindSubmatch(state); m != nil {
		kb, _ := strconv.Atoi(string(m[1]))
		return kb << 10
	}
	return 4096
}

var subbufRE = regexp.MustCompile(`(?m)^buffer_subbuf_size_kb: (\d+)`)

// renderer is AppendText or AppendFields.
type renderer func(t *event.Type, dst, data []byte, env *event.Env) []byte

// compareCapture renders every record of a capture folder and compares it with the
// kernel's text. It returns how many it compared, by event.
func compareCapture(t *testing.T, table *event.Table, symbols event.Symbols, dir, textFile string, render renderer) map[string]int {
	t.Helper()
	text := entries(readFile(t, filepath.Join(dir, textFile)))
	strs := map[uint64]string{}
	if names, _ := filepath.Glob(filepath.Join(dir, "printk_formats*")); len(names) > 0 {
		strs = printkStrings(readFile(t, names[0]))
	}
	env := &event.Env{
		Symbols: symbols,
		HashPtr: func(uint64) uint64 { return hashMark },
		Strings: func(a uint64) (string, bool) { s, ok := strs[a]; return s, ok },
	}
	byFmt := make(map[string]bool)
	for _, typ := range table.All() {
		byFmt[typ.Name] = typ.System != "ftrace" && typ.System != "syscalls"
	}
	page := subbufSize(dir)
	counts := make(map[string]int)
	failed := make(map[string]int)
	for cpu := range 2 {
		// Only events of the kernel's own table: not the ftrace system's, probes and
		// synthetic events, whose text has printers of its own, nor a module's.
		want := slices.DeleteFunc(text[cpu], func(e entry) bool { return !byFmt[e.name] })
		names, _ := filepath.Glob(filepath.Join(dir, "cpu"+strconv.Itoa(cpu)+".raw*"))
		if len(names) == 0 {
			continue
		}
		var buf []byte
		for _, data := range records(t, readFile(t, names[0]), page) {
			typ := table.ByID(int(event.ParseCommon(data).Type))
			if typ == nil || typ.System == "ftrace" || typ.System == "syscalls" {
				continue
			}
			if len(want) == 0 {
				t.Errorf("%s: cpu %d: records behind the last line of text", dir, cpu)
				break
			}
			w := want[0]
			want = want[1:]
			if w.name != typ.Name {
				t.Fatalf("%s: cpu %d line %d: text has %s, the record is a %s", dir, cpu, w.line, w.name, typ.Name)
			}
			counts[typ.String()]++
			buf = render(typ, buf[:0], data, env)
			// Without a vmemmap a struct page's address is in the kernel's tables only.
			got := bytes.ReplaceAll(buf, []byte("[unknown __section_mem_map_addr]"), hashText)
			if got = bytes.TrimSuffix(got, []byte("\n")); !matchHashed(got, []byte(w.text)) {
				if failed[typ.String()]++; failed[typ.String()] <= 2 {
					t.Errorf("%s line %d: %s\n got %q\nwant %q", dir, w.line, typ, buf, w.text)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("%s: cpu %d line %d: no record for %s", dir, cpu, want[0].line, want[0].name)
		}
	}
	return counts
}

// A small capture is checked in: its text, and its text with the option fields.
func TestTextCapture(t *testing.T) {
	table := new(event.Table)
	for _, f := range splitFormats(t, readFile(t, "testdata/formats.txt")) {
		typ, err := event.ParseFormat(f.system, f.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Add(typ); err != nil {
			t.Fatal(err)
		}
	}
	fields := func(t *event.Type, dst, data []byte, env *event.Env) []byte {
		return bytes.TrimPrefix(t.AppendFields(dst, data, env), []byte(" "))
	}
	for textFile, render := range map[string]renderer{"trace.txt": (*event.Type).AppendText, "trace.fields.txt": fields} {
		n := 0
		for _, c := range compareCapture(t, table, nil, "testdata/ev_sched", textFile, render) {
			n += c
		}
		if n < 500 {
			t.Errorf("%s: only %d records compared", textFile, n)
		}
	}
}

// The text of every captured event is what the kernel made of the same record.
func TestTextOracle(t *testing.T) {
	oracle := oracleDir(t)
	total, kinds := 0, make(map[string]bool)
	for _, kernel := range []string{"debian", "full"} {
		table := kernelTypes(t, kernel)
		core := readFile(t, filepath.Join(oracle, kernel, "static/kallsyms.txt"))
		if kernel == "debian" {
			core = withoutModules(core)
		}
		dirs, err := filepath.Glob(filepath.Join(oracle, kernel, "*/*/trace.txt*"))
		if err != nil || len(dirs) == 0 {
			t.Fatalf("no captures of %s: %v", kernel, err)
		}
		for _, name := range dirs {
			dir := filepath.Dir(name)
			if bytes.Contains(readFile(t, filepath.Join(dir, "trace.txt")), []byte("tracer: function_graph\n")) {
				continue // events are comments there, without the columns of entries
			}
			texts := [][]byte{core}
			for _, m := range []string{dir, filepath.Dir(dir)} {
				if names, _ := filepath.Glob(filepath.Join(m, "kallsyms.modules.txt*")); len(names) > 0 {
					texts = append(texts, readFile(t, names[0]))
					break
				}
			}
			for n, c := range compareCapture(t, table, parseKallsyms(t, texts...), dir, "trace.txt", (*event.Type).AppendText) {
				total += c
				kinds[n] = true
			}
		}
	}
	t.Logf("%d records of %d event types compared", total, len(kinds))
	if total < 10000 || len(kinds) < 100 {
		t.Errorf("only %d records of %d event types compared", total, len(kinds))
	}
}

// withoutModules drops the symbols of modules, which move from boot to boot.
func withoutModules(text []byte) []byte {
	var b []byte
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte("\t[")) {
			b = append(b, line...)
		}
	}
	return b
}
